import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Launch } from '../../../src/config/env.ts';
import { staticAuthorization } from '../../../src/upstream/http/authorization.ts';
import { openProcess } from '../../../src/upstream/process/process.ts';
import { createRedactor } from '../../../src/upstream/secret-redactor.ts';
import type { LaunchOf, Transport } from '../../../src/upstream/transports/transport.ts';
import type { Message } from '../../../src/wire/message.ts';
import { cleanup, fixture, isRunning, recorder, runningInGroup, until } from '../world.ts';

const SERVER = fixture('stdio.mjs');
const env = { PATH: process.env.PATH ?? '' };

/** A started process, with what it said. */
function open(command: string, args: string[], more: Partial<LaunchOf<'stdio'>> = {}, secrets: string[] = []) {
  const launch: Launch & { type: 'stdio' } = {
    type: 'stdio',
    command,
    args,
    env,
    cwd: undefined,
    framing: 'newline',
    ...more,
  };
  const { log, lines } = recorder();
  const transport = openProcess(launch, {
    ...{ name: 'x', maxBytes: 1024 * 1024, log },
    ...{ redactor: createRedactor(secrets), authorization: staticAuthorization({}, 'x') },
  });
  cleanup(() => transport.close({ eof: 0, term: 0 }));
  const messages: Message[] = [];
  const closed = new Promise<Error | undefined>((resolve) => {
    transport.start({ message: (message) => messages.push(message), invalid: () => {}, closed: resolve });
  });
  return { transport, messages, closed, lines };
}

const server = (...flags: string[]) => open(process.execPath, [SERVER, ...flags]);

/** Asks for something and waits for the answer, so that the process is known to be up. */
async function up({ transport, messages }: { transport: Transport; messages: Message[] }): Promise<void> {
  transport.send({ jsonrpc: '2.0', id: 0, method: 'ping' });
  await until(() => messages.length > 0);
}

/** Longer than a test may take: who waits for that never comes to an end. */
const NEVER = 600_000;

describe('the end of a process', () => {
  test('comes at once when it behaves', async () => {
    const child = server();
    await up(child);
    await child.transport.close({ eof: NEVER, term: NEVER });
    expect(isRunning(child.transport.pid ?? 0)).toBe(false);
  });

  test('comes by force when it ignores everything else, not before its time', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-process-')), 'log');
    const child = server('stubborn', `log=${log}`);
    await up(child);
    const heard = () => [...readFileSync(log, 'utf8').matchAll(/"heard":"(\w+)"/g)].map(([, what]) => what);
    const ending = child.transport.close({ eof: NEVER, term: NEVER });
    await until(() => heard().length > 0);
    expect(heard()).toEqual(['end']);
    void child.transport.close({ eof: 0, term: NEVER });
    await until(() => heard().length > 1);
    expect([heard(), isRunning(child.transport.pid ?? 0)]).toEqual([['end', 'SIGTERM'], true]);
    void child.transport.close({ eof: 0, term: 0 });
    await ending;
    expect(isRunning(child.transport.pid ?? 0)).toBe(false);
  });

  test('can be hurried', async () => {
    const child = server('stubborn');
    await up(child);
    const slow = child.transport.close({ eof: NEVER, term: NEVER });
    await child.transport.close({ eof: 50, term: 50 });
    await slow;
    expect(isRunning(child.transport.pid ?? 0)).toBe(false);
  });

  test('includes grandchildren that ignore SIGTERM', async () => {
    const stubborn = 'trap "" TERM HUP; while :; do sleep 0.1; done';
    const child = open('sh', [
      '-c',
      `sh -c '${stubborn}' & echo "grandchild $!" >&2; exec "$0" "$1"`,
      process.execPath,
      SERVER,
    ]);
    await up(child);
    await until(() => (child.transport.stderr?.() ?? []).length > 0);
    const grandchild = Number(/grandchild (\d+)/.exec(child.transport.stderr?.()[0] ?? '')?.[1]);
    expect(isRunning(grandchild)).toBe(true);
    await child.transport.close({ eof: 100, term: 200 });
    expect(isRunning(grandchild)).toBe(false);
    expect(runningInGroup(child.transport.pid ?? 0)).toEqual([]);
  });

  test('includes grandchildren when the process between is already gone', async () => {
    const child = server();
    child.transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'linger' } });
    expect(await child.closed).toMatchObject({
      message: expect.stringMatching(/^server "x" exited with code 3 \(stderr: lingering \d+\)$/),
    });
    const grandchild = Number(/\d+/.exec(child.transport.stderr?.()[0] ?? '')?.[0]);
    expect(isRunning(grandchild)).toBe(true);
    await child.transport.close({ eof: 0, term: 500 });
    expect(isRunning(grandchild)).toBe(false);
  });

  test('is synchronous on the way out of a dying process', async () => {
    const child = server('stubborn');
    await up(child);
    child.transport.killNow?.();
    expect(await child.closed).toMatchObject({ message: 'server "x" was ended by SIGKILL' });
    expect(isRunning(child.transport.pid ?? 0)).toBe(false);
    child.transport.killNow?.();
  });

  test('is told with exit code and last words', async () => {
    const child = server('exit=4');
    expect(await child.closed).toMatchObject({
      code: 'unreachable',
      message: 'server "x" exited with code 4 (stderr: no such luck)',
    });
    expect(() => child.transport.send({ jsonrpc: '2.0', method: 'n' })).toThrow(
      expect.objectContaining({ code: 'unreachable' }),
    );
    await child.transport.close();
  });

  test('is told when only its stdout is closed', async () => {
    const child = server();
    child.transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'close-stdout' } });
    expect(await child.closed).toMatchObject({ message: 'server "x" closed its pipes' });
  });
});

describe('a process that cannot be started', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-process-'));
  const file = (name: string, text: string, mode: number) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };
  const plain = file('plain', 'hello', 0o644);
  const orphan = file('orphan', '#!/no/such/interpreter\n', 0o755);
  const cases: [title: string, command: string, more: Partial<LaunchOf<'stdio'>>, why: string][] = [
    ['a bare command that is nowhere', 'no-such-command', {}, 'command "no-such-command" was not found'],
    ['a path that is nowhere', '/no/such/command', {}, 'command "/no/such/command" was not found'],
    ['a file that may not be run', plain, {}, `command "${plain}" may not be executed`],
    [
      'a script without its interpreter',
      orphan,
      {},
      `the interpreter that "${orphan}" names in its first line was not found`,
    ],
    [
      'a folder that is nowhere',
      process.execPath,
      { cwd: '/no/such/folder' },
      'its folder "/no/such/folder" does not exist',
    ],
    ['a command with a NUL in it', 'a\0b', {}, 'ERR_INVALID_ARG_VALUE'],
  ];
  test.each(cases)('says why: %s', async (_, command, more, why) => {
    const failure = await (async () => open(command, [], more).closed)().catch((error) => error);
    expect(failure).toMatchObject({ code: 'unreachable', message: `server "x" could not be started: ${why}` });
  });

  test('is no trouble to stop', async () => {
    const child = open('no-such-command', []);
    await child.closed;
    child.transport.killNow?.();
    await child.transport.close({ eof: NEVER, term: NEVER });
  });
});

describe('what a process gets and says', () => {
  test('is the environment of its launch and nothing else', async () => {
    const child = open(process.execPath, [SERVER], { env: { ONLY: 'this' } });
    child.transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'env' } });
    await until(() => child.messages.length > 0);
    const { result } = child.messages[0] as { result: { content: { text: string }[] } };
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual({ ONLY: 'this' });
  });

  test('is kept within bounds, cleaned, without secrets, and logged', async () => {
    const script = `
      for (let n = 0; n < 300; n++) console.error('line ' + n);
      process.stderr.write('x'.repeat(100000) + '\\n\\u001b[31mred\\u001b[0m\\u0007 ' + process.env.API_TOKEN + ' ' + process.argv[2] + '\\n\\nlast');`;
    const more = { env: { API_TOKEN: 'sesame-open', LOG_LEVEL: 'debug' } };
    const child = open(process.execPath, ['-e', script, '--', '--token', 'hunter-hunter'], more, [
      'sesame-open',
      'hunter-hunter',
    ]);
    await child.closed;
    const lines = child.transport.stderr?.() ?? [];
    expect(lines).toHaveLength(100);
    expect(lines.at(-1)).toBe('last');
    expect(lines.at(-2)).toBe('red *** ***');
    expect(lines.at(-3)).toHaveLength(1000);
    expect(child.lines).toContain('debug: line 7');
    expect(JSON.stringify(child.lines)).not.toContain('sesame');
  });

  test('is quoted in part', async () => {
    const child = open(process.execPath, [
      '-e',
      `console.error(('long '.repeat(60) + '\\n').repeat(9)); process.exit(1)`,
    ]);
    const failure = await child.closed;
    expect(failure?.message).toMatch(/^server "x" exited with code 1 \(stderr: ….+ \| .+\)$/);
    expect(failure?.message.length).toBeLessThan(700);
  });
});

describe('a process that does not read', () => {
  test('costs a bounded queue, then a fast error', async () => {
    const child = server();
    child.transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'deaf' } });
    await until(() => child.messages.length > 0);
    const long = 'x'.repeat(100_000);
    const flood = async () => {
      for (let n = 0; n < 100; n++) {
        child.transport.send({ jsonrpc: '2.0', method: 'n', params: { long } });
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await expect(flood()).rejects.toMatchObject({ code: 'overloaded' });
    await child.transport.close({ eof: 50, term: NEVER });
  });
});
