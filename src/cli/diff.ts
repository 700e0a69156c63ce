/** `mcpx diff`: prints the differences between tools and the lock file, line by line. The exit code is 1 if there are any. */

import type { Tool } from '../catalog/listing.ts';
import { canonical } from '../catalog/pins/digest.ts';
import type { Change } from '../catalog/pins/lock-comparison.ts';
import type { Invocation } from './command.ts';
import { sourceFlags } from './command-app.ts';
import { compareLines } from './line-diff.ts';
import { compareWithLock, EXIT_DIFFERENT, type Locking } from './lock-state.ts';
import { paintAnswer, print, printJson } from './output.ts';
import { status } from './status-lines.ts';

/** The number of unchanged lines around a change. */
const CONTEXT = 2;

export function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  return compareWithLock(invocation, { asked: args[0], repairs: false, work });

  async function work({ servers }: Locking): Promise<number> {
    const all = servers.flatMap(({ name, changes }) => changes.map((change) => ({ server: name, ...change })));
    for (const { name, isNew } of servers)
      if (isNew) status.warn(`server "${name}" is not in the lock file; mcpx lock adds it`);
    for (const { name, ignored, uncovered } of servers) {
      for (const what of ignored) status.info(`ignored difference: ${name}.${what}`);
      for (const what of uncovered) status.info(`${name}.${what} is not in the lock file yet; mcpx lock adds it`);
    }
    if (flags.has('json')) await printJson(all.map(({ kind: change, ...rest }) => ({ ...rest, change })));
    else if (all.length > 0) await print(all.map(render).join('\n\n'));
    if (all.length === 0) {
      if (servers.some(({ isNew }) => !isNew)) status.info('no differences from the lock file');
      return 0;
    }
    status.info(`\nmcpx lock ${sourceFlags(flags)}--accept [server[.tool]] accepts the changes`);
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

/** Returns the lines of a definition: descriptions as text, all other fields as indented JSON with sorted keys. */
function linesOf(definition: Tool | undefined): string[] {
  if (definition === undefined) return [];
  const { description = '', name: _, ...rest } = definition;
  const text = JSON.stringify(JSON.parse(canonical(rest)), null, 2)
    .split('\n')
    .slice(1, -1);
  return [...description.split('\n').filter((line) => line !== ''), ...text];
}
