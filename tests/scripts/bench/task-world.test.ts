/** The tasks of `npm run bench:tasks` are possible: every call fits its tool, and refers only to what came before it. */
import { describe, expect, it } from 'vitest';
import { neededBy, readServers, readTasks } from '../../../scripts/bench/task-world.mjs';
import { createArgumentChecker } from '../../../src/router/arguments.ts';

const tasks = readTasks();
const tools = new Map<string, ReturnType<typeof readServers>[number]['tools'][number]>(
  readServers().flatMap(({ name, tools }) => tools.map((tool) => [`${name}.${tool.name}`, tool] as const)),
);

describe('the tasks of npm run bench:tasks', () => {
  it('are at least twenty, a third of them in Chinese', () => {
    const chinese = tasks.filter(({ say }) => /\p{Script=Han}/u.test(say));
    expect(tasks.length).toBeGreaterThanOrEqual(20);
    expect(chinese.length * 3).toBeGreaterThanOrEqual(tasks.length);
  });

  it.each(tasks)('$id can be done with the recorded servers', async ({ calls }) => {
    for (const [index, call] of calls.entries()) {
      const tool = tools.get(call.tool);
      expect(tool, call.tool).toBeDefined();
      const { check } = createArgumentChecker();
      expect(await check(tool!, call.arguments), call.tool).toEqual({ ok: true, args: call.arguments, notes: [] });
      expect(neededBy(call).filter((needed) => !(needed < index))).toEqual([]);
      if (tool!.outputSchema === undefined || typeof call.answer === 'string') continue;
      expect(await check({ inputSchema: tool!.outputSchema }, call.answer), call.tool).toMatchObject({ ok: true });
    }
  });
});
