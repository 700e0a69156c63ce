/** However mcpx ends, nothing of its process tree is left. Read from /proc. How long it takes is measured by `npm run bench:stop`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../setup/until.ts';
import { allGone, leftOf, type Process, treeOf } from './processes.ts';
import {
  BUNDLE,
  emptyPlace,
  fixture,
  openSession,
  type Place,
  post,
  type Session,
  serverScript,
  start,
} from './program.ts';

const node = process.execPath;

/** Servers as people have them. */
const KINDS = {
  /** Ends when its stdin does. */
  plain: { command: node, args: [fixture('stdio.mjs')] },
  real: { command: node, args: [serverScript('server-memory')] },
  /** A shell that waits for its server, as npx and uvx do. */
  wrapped: { command: 'sh', args: ['-c', `"${node}" "${fixture('stdio.mjs')}"; true`] },
  /** A grandchild that nobody waits for and that holds no pipe. */
  helper: {
    command: 'sh',
    args: ['-c', `sleep 60 > /dev/null 2>&1 < /dev/null & exec "${node}" "${fixture('stdio.mjs')}"`],
  },
  /** Ignores the end of its input and every signal that can be ignored, and so does its child. */
  stubborn: {
    command: 'sh',
    args: ['-c', `trap '' TERM INT HUP; sleep 60 & "${node}" "${fixture('stdio.mjs')}" stubborn`],
  },
};

type Kind = keyof typeof KINDS;

/** A session with these servers running, and the processes below it. A failed test must not leave them either. */
async function running(
  place: Place,
  kinds: Kind[],
  { more = {}, command }: { more?: object; command?: string[] } = {},
) {
  const mcpServers = { ...Object.fromEntries(kinds.map((kind) => [kind, KINDS[kind]])), ...more };
  const session = await openSession(place, { mcpServers, connect: { mode: 'eager', firstListWait: '60s' } }, command);
  const tree = treeOf(session.pid);
  onTestFinished(() => endByForce(tree));
  // Every server leads a group of its own.
  expect(new Set(tree.map(({ group }) => group)).size).toBe(Object.keys(mcpServers).length);
  return { session, tree };
}

function endByForce(tree: Process[]): void {
  for (const { pid } of leftOf(tree)) process.kill(pid, 'SIGKILL');
}

/** Resolves with the exit code when mcpx is gone with its whole tree. */
async function ending(session: Session, tree: Process[]): Promise<number | null> {
  const { code } = await session.finished;
  await allGone(tree);
  return code;
}

const WAYS = {
  'its input ends': { end: ({ child }: Session) => void child.stdin?.end(), code: 0 },
  SIGTERM: { end: ({ child }: Session) => void child.kill('SIGTERM'), code: 0 },
  SIGINT: { end: ({ child }: Session) => void child.kill('SIGINT'), code: 130 },
  SIGHUP: { end: ({ child }: Session) => void child.kill('SIGHUP'), code: 0 },
} as const;

describe.skipIf(process.platform !== 'linux')('nothing is left running on Linux', () => {
  test.each(Object.entries(WAYS))('after %s: of servers that behave', async (_, { end, code }) => {
    const { session, tree } = await running(emptyPlace(), ['plain', 'real', 'wrapped']);
    end(session);
    expect(await ending(session, tree)).toBe(code);
  });

  test('of grandchildren and of servers that ignore every signal, after each of these', async () => {
    const ways = Object.values(WAYS);
    const all = await Promise.all(ways.map(() => running(emptyPlace(), ['plain', 'helper', 'stubborn'])));
    const codes = all.map(({ session, tree }, index) => {
      ways[index]?.end(session);
      return ending(session, tree);
    });
    expect(await Promise.all(codes)).toEqual(ways.map(({ code }) => code));
  });

  test('when its output is closed', async () => {
    const { session, tree } = await running(emptyPlace(), ['plain', 'wrapped']);
    session.child.stdout?.destroy();
    session.child.stdin?.write('{"jsonrpc":"2.0","id":"last","method":"ping"}\n');
    await ending(session, tree);
  });

  test('over HTTP, with a call under way', async () => {
    const place = emptyPlace();
    const log = join(place.cwd, 'log');
    const plain = { command: node, args: [fixture('stdio.mjs'), `log=${log}`] };
    const config = place.file('mcp.json', { mcpServers: { plain, helper: KINDS.helper } });
    const gateway = start(['serve', config, '--port', '0'], place);
    const [, url = ''] = (await gateway.wrote('stderr', /listening on (\S+)/)) as RegExpExecArray;
    const exec = (server: string, tool: string) =>
      post(url, 'tools/call', { name: 'exec', arguments: { server_name: server, tool_name: tool } });
    await Promise.all([exec('plain', 'echo'), exec('helper', 'echo')]);
    const tree = treeOf(gateway.child.pid ?? 0);
    onTestFinished(() => endByForce(tree));
    expect(tree.length).toBeGreaterThanOrEqual(3);
    const cut = exec('plain', 'never').then(
      () => 'answered',
      () => 'cut',
    );
    await until(() => readFileSync(log, 'utf8').includes('"never"'));
    gateway.child.kill('SIGTERM');
    expect((await gateway.finished).code).toBe(0);
    await allGone(tree);
    expect(['answered', 'cut']).toContain(await cut);
  });

  describe('with a call under way', () => {
    test('that takes a moment, its answer still comes', async () => {
      const { session, tree } = await running(emptyPlace(), ['plain']);
      const answer = session.exec('plain', 'sleep', { ms: 300 });
      session.child.stdin?.end();
      expect(await answer).toMatchObject({ text: 'slept', isError: false });
      expect(await ending(session, tree)).toBe(0);
    });

    test('that never ends, on a server that ignores everything', async () => {
      const { session, tree } = await running(emptyPlace(), ['stubborn']);
      const call = session.exec('stubborn', 'never').catch(() => undefined);
      // The server takes one after the other.
      await session.exec('stubborn', 'echo');
      session.child.stdin?.end();
      await ending(session, tree);
      await call;
    });

    test.each([
      ['a second signal', ({ child }: Session) => void child.kill('SIGTERM')],
      ['SIGTERM after the end of its input', ({ child }: Session) => void child.stdin?.end()],
    ])('%s leaves a server the time to save its work', async (_, first) => {
      const place = emptyPlace();
      const log = join(place.cwd, 'log');
      const saving = { command: node, args: [fixture('stdio.mjs'), `log=${log}`, 'slow-end=100'] };
      const { session, tree } = await running(place, ['stubborn'], { more: { saving } });
      const call = session.exec('stubborn', 'never').catch(() => undefined);
      await session.exec('stubborn', 'echo');
      first(session);
      await delay(500);
      session.child.kill('SIGTERM');
      await ending(session, tree);
      await call;
      expect(readFileSync(log, 'utf8')).toContain('{"ended":true}');
    });
  });

  test('after a crash', async () => {
    const place = emptyPlace();
    const bomb = place.file('bomb.cjs', `process.on('SIGUSR2', () => { throw new Error('boom'); });`);
    const { session, tree } = await running(place, ['plain', 'wrapped', 'helper', 'stubborn'], {
      command: [node, '--require', bomb, BUNDLE],
    });
    session.child.kill('SIGUSR2');
    expect(await ending(session, tree)).toBe(1);
    expect((await session.finished).stderr).toContain('boom');
  });

  test('after SIGKILL: who holds a pipe ends by itself, and the next start ends the rest', async () => {
    const place = emptyPlace();
    const { session, tree } = await running(place, ['plain', 'real', 'wrapped', 'stubborn']);
    session.child.kill('SIGKILL');
    await session.finished;
    const commands = () => leftOf(tree).map(({ command }) => command);
    const rest = (command: string) => command.startsWith('sleep') || command.includes('stubborn');
    await until(
      () => commands().every(rest),
      () => commands().join('; '),
    );
    expect(commands().length).toBeGreaterThan(0);

    const next = await openSession(place, { mcpServers: { plain: KINDS.plain } });
    await allGone(tree);
    expect((await next.exec('plain', 'echo', { still: 'here' })).text).toContain('here');
    next.child.stdin?.end();
    expect((await next.finished).code).toBe(0);
  });
});
