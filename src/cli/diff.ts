/** `mcpx diff`: how tools differ from what is locked, line by line. Exit code 1 where they do. */
import { canonical } from '../catalog/digest.ts';
import type { Tool } from '../catalog/list.ts';
import type { Change } from '../catalog/lock.ts';
import { compareLines } from '../upstream/toolbox/diff.ts';
import type { Invocation } from './command.ts';
import { compareWithLock, EXIT_DIFFERENT, type Locking } from './locked.ts';
import { note, paint, paintAnswer, print, printJson } from './output.ts';
import { sourceFlags } from './session.ts';

/** Lines around a change. */
const CONTEXT = 2;

export function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  return compareWithLock(invocation, { asked: args[0], repairs: false, work });

  async function work({ servers }: Locking): Promise<number> {
    const all = servers.flatMap(({ name, changes }) => changes.map((change) => ({ server: name, ...change })));
    for (const { name, isNew } of servers)
      if (isNew) note(`${paint('yellow', 'warning:')} nothing of server "${name}" is locked; mcpx lock does that`);
    for (const { name, ignored, uncovered } of servers) {
      for (const what of ignored) note(`${name}.${what} differs, which is ignored`);
      for (const what of uncovered) note(`${name}.${what} is in no lock yet; mcpx lock adds it`);
    }
    if (flags.has('json')) await printJson(all.map(({ kind: change, ...rest }) => ({ ...rest, change })));
    else if (all.length > 0) await print(all.map(render).join('\n\n'));
    if (all.length === 0) {
      if (servers.some(({ isNew }) => !isNew)) note('nothing differs from what is locked');
      return 0;
    }
    note(`\nmcpx lock ${sourceFlags(flags)}--accept [server[.tool]] accepts it`);
    return EXIT_DIFFERENT;
  }
}

function render({ server, tool, kind, before, after }: Change & { server: string }): string {
  const head = paintAnswer('bold', `${server}.${tool}: ${kind}`);
  const { diff } = compareLines(linesOf(before), linesOf(after), CONTEXT);
  const lines = diff.split('\n').filter((line) => !line.startsWith('@@'));
  return [head, ...lines.map(coloured)].join('\n');
}

function coloured(line: string): string {
  if (line.startsWith('+')) return paintAnswer('green', line);
  return line.startsWith('-') ? paintAnswer('red', line) : line;
}

/** Descriptions line by line, everything else as indented JSON with sorted keys. */
function linesOf(definition: Tool | undefined): string[] {
  if (definition === undefined) return [];
  const { description = '', name: _, ...rest } = definition;
  const text = JSON.stringify(JSON.parse(canonical(rest)), null, 2)
    .split('\n')
    .slice(1, -1);
  return [...description.split('\n').filter((line) => line !== ''), ...text];
}
