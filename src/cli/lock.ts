/** `mcpx lock`: records the definition of every tool, shows changes since then, and accepts them. */
import { completed } from '../catalog/pins/enforce.ts';
import { accept, type Change, createAcceptance } from '../catalog/pins/lock-comparison.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Invocation } from './command.ts';
import { sourceFlags } from './command-app.ts';
import { type Compared, compareWithLock, EXIT_DIFFERENT, type Locking } from './lock-state.ts';
import { print, printJson, table } from './output.ts';
import { status } from './status-lines.ts';

export function run(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  return compareWithLock(invocation, { asked: flags.value('accept'), repairs: true, work: (locking) => work(locking) });

  async function work(locking: Locking): Promise<number> {
    const { servers } = locking;
    const accepting = flags.has('accept');
    await settle(locking, accepting);
    for (const { name, uncovered } of servers) if (uncovered.length > 0) status.warn(completed(name, uncovered));
    const left = accepting ? [] : servers.filter(({ isNew, changes }) => !isNew && changes.length > 0);
    if (flags.has('json')) await printJson(servers.map((server) => describe(server, accepting)));
    else if (servers.length > 0) await print(table(servers.map((server) => row(server, accepting))));
    if (left.length === 0) return 0;
    status.info(
      `\nmcpx diff ${sourceFlags(flags)}shows the changes, mcpx lock ${sourceFlags(flags)}--accept accepts them`,
    );
    return EXIT_DIFFERENT;
  }
}

/** Locks new and accepted tools, and fields that an older lock file did not cover. */
async function settle({ file, servers, target }: Locking, accepting: boolean): Promise<void> {
  const accepts = ({ changes }: Compared) => accepting && changes.length > 0;
  const open = servers.filter((server) => server.isNew || server.isPartial || accepts(server));
  if (open.length === 0) return;
  const acceptance = createAcceptance();
  const write = file.change((state) => {
    for (const server of open) {
      const { key, name, version, live } = server;
      const known = state.get(key) ?? { name, version, tools: new Map(), waiting: new Map() };
      if (server.isNew) accept(known, live);
      else if (accepts(server)) accept(known, live, target?.tool);
      acceptance.complete(known, live);
      state.set(key, { ...known, name, version });
    }
  });
  await write.catch((cause: unknown) => {
    if (cause instanceof McpxError) throw cause;
    throw new McpxError('failed', `"${file.path}" could not be written: ${messageOf(cause)}`, {
      hint: 'set MCPX_HOME to a writable folder',
      cause,
    });
  });
}

function row(server: Compared, accepting: boolean): string[] {
  const { name, usable } = server;
  return [name, usable === 1 ? '1 tool' : `${usable} tools`, said(server, accepting)];
}

function said({ isNew, changes }: Compared, accepting: boolean): string {
  if (isNew) return 'locked';
  if (changes.length === 0) return 'unchanged';
  return `${accepting ? 'accepted: ' : ''}${counted(changes)}`;
}

function counted(changes: Change[]): string {
  const kinds = ['changed', 'new', 'gone'] as const;
  const counts = kinds.map((kind) => [changes.filter((change) => change.kind === kind).length, kind] as const);
  return counts
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${count} ${kind}`)
    .join(', ');
}

function describe({ name, usable, isNew, changes }: Compared, accepting: boolean): unknown {
  const state = isNew ? 'locked' : changes.length === 0 ? 'unchanged' : accepting ? 'accepted' : 'changed';
  return { server: name, tools: usable, state, changes: changes.map(({ tool, kind }) => ({ tool, kind })) };
}
