/** Names that several servers want, where the config says that this is an error. */
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { type Config, DEFAULTS, type Settings } from '../../src/config/config.ts';
import { createLog } from '../../src/observe/log.ts';
import { specOf } from '../world.ts';

type Naming = Partial<Settings['naming']>;

function stage(naming: Naming, deny: string[] = []) {
  const warned: string[] = [];
  const time = (name: string) => specOf(name, { builtin: 'time', ...(name === 'two' && { tools: { deny } }) } as never);
  const config: Config = {
    files: [],
    settings: {
      ...DEFAULTS,
      front: { ...DEFAULTS.front, kind: 'aggregate' },
      naming: { ...DEFAULTS.naming, ...naming },
    },
    profiles: [
      { name: 'default', enabled: true, servers: [time('one'), time('two')], tools: {}, resources: {}, prompts: {} },
    ],
    warnings: [],
  };
  const app = createApp(config, { log: createLog({ level: 'warn', write: (line) => warned.push(line) }) });
  onTestFinished(() => app.stop());
  const { front } = app.open({ profile: 'default', downstream: { key: 'k', notify: () => undefined } });
  const list = async () => {
    const { signal } = new AbortController();
    const { tools } = (await front.request({ method: 'tools/list' }, { signal })) as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  };
  return { app, list, warned };
}

const ERROR: Naming = { style: 'plain', onConflict: 'error' };

test('none of them is exposed, a warning says so once, and the status shows it', async () => {
  const { app, list, warned } = stage(ERROR);
  expect(await list()).toEqual([]);
  await list();
  const about = warned.filter((line) => line.includes('the tool "now" of "one" and "two" is not exposed'));
  expect(about).toHaveLength(1);
  expect(about[0]).toContain('set "naming.style" to "prefix", or filter all but one of them');
  const [profile] = app.status().profiles;
  expect(profile?.conflicts).toContainEqual({ kind: 'tool', name: 'now', servers: ['one', 'two'] });
});

test('what is filtered conflicts with nothing', async () => {
  const { app, list, warned } = stage(ERROR, ['*']);
  expect(await list()).toContain('now');
  expect(warned).toEqual([]);
  expect(app.status().profiles[0]).not.toHaveProperty('conflicts');
});

test.each<[Naming, string]>([
  [{ style: 'plain' }, 'now'],
  [{ style: 'collision', onConflict: 'error' }, 'two__now'],
  [{ onConflict: 'error' }, 'two__now'],
])('with %j there is nothing to tell', async (naming, name) => {
  const { list, warned } = stage(naming);
  expect(await list()).toContain(name);
  expect(warned).toEqual([]);
});
