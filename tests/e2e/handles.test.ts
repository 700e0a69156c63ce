/** The gateway with few file handles: more connections than handles, more servers than handles, and everything works again afterwards. */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EXECUTABLE, emptyPlace, fixture, post, start, startHttp, WINDOWS } from './program.ts';

const TOKENS = [{ name: 'ci', token: 'ci-secret' }];
const HEADERS = { authorization: 'Bearer ci-secret' };
const few = test.skipIf(WINDOWS);

async function gateway(handles: number, servers: object) {
  const place = emptyPlace();
  const config = { mcpServers: servers, audit: { file: './audit.jsonl' }, http: { auth: { tokens: TOKENS } } };
  const command = ['/bin/sh', '-c', `ulimit -n ${handles} && exec "$0" "$@"`, EXECUTABLE];
  const running = start(['serve', place.file('mcp.json', config), '--http', '--port', '0'], place, command);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const exec = async (server: string, tool: string, args: object = {}): Promise<string> => {
    const params = { name: 'exec', arguments: { server_name: server, tool_name: tool, arguments: args } };
    const { result } = await post(`${url}/mcp`, 'tools/call', params, HEADERS);
    return result.content[0].text;
  };
  /** Several calls as one, eight at a time; what was said of all of them. */
  const batch = async (calls: object[]): Promise<string> => {
    const params = { name: 'exec', arguments: { calls, parallel: true } };
    return JSON.stringify(await post(`${url}/mcp`, 'tools/call', params, HEADERS));
  };
  return { ...running, place, port: Number(new URL(url).port), exec, batch };
}

/** Connections that say nothing; resolves when each is connected or closed. */
async function flood(port: number, count: number): Promise<Socket[]> {
  const dial = () => {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    return new Promise<Socket>((resolve) => {
      socket.once('connect', () => resolve(socket));
      socket.once('close', () => resolve(socket));
    });
  };
  const sockets: Socket[] = [];
  // A few at a time: a listener has a queue of its own.
  while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 32 }, dial))));
  return sockets;
}

const TINY = { command: process.execPath, args: [fixture('tiny.mjs')] };
const FULL = 'too many open files';

few.each([64, 256, 1024])(
  'with %i handles, clients without a token keep nobody with one from calling',
  async (handles) => {
    const { port, exec, child } = await gateway(handles, { a: TINY, each: { ...TINY, share: 'call' } });
    const sockets = await flood(port, 2 * handles);
    expect(await exec('a', 'echo', { n: 1 })).toBe('{"n":1}');
    expect(await exec('each', 'echo', { n: 2 })).toBe('{"n":2}');
    for (const socket of sockets) socket.destroy();
    expect(await exec('each', 'echo', { n: 3 })).toBe('{"n":3}');
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  },
);

few('more servers than handles: those that fit are served, the others say why, and nothing ends', async () => {
  const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
  const { exec, child, said } = await gateway(64, Object.fromEntries(names.map((name) => [name, TINY])));
  const answers: string[] = [];
  for (const name of names) answers.push(await exec(name, 'echo', { n: 1 }));
  const served = answers.filter((text) => text === '{"n":1}');
  const full = answers.filter((text) => text.includes(FULL));
  expect(served.length).toBeGreaterThan(0);
  expect(full.length).toBeGreaterThan(0);
  expect([served.length + full.length, said.stdout]).toEqual([20, '']);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

few('more children at once than handles: calls that do not fit say why, and later ones are answered', async () => {
  const each = { command: process.execPath, args: [fixture('stdio.mjs')], share: 'call' };
  const { place, exec, child } = await gateway(64, { each });
  expect(await exec('each', 'sleep', { ms: 1 })).toBe('slept');
  const file = join(place.cwd, 'gate');
  const calls = Array.from({ length: 12 }, () => exec('each', 'wait-for', { file }));
  // The children that have started wait until the first call did not fit.
  expect(await Promise.race(calls)).toContain(FULL);
  place.file('gate', '');
  const storm = await Promise.all(calls);
  const full = storm.filter((text) => text.includes(FULL));
  expect(storm.filter((text) => text === 'waited').length).toBe(12 - full.length);
  expect(full.length).toBeLessThan(12);
  // The children of the others may still be ending.
  await expect.poll(() => exec('each', 'sleep', { ms: 1 }), { timeout: 20_000 }).toBe('slept');
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

few('more connections to a server over HTTP than handles: its session goes on', async () => {
  const { port } = await startHttp();
  const { exec, batch, child } = await gateway(64, { web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } });
  expect(await exec('web', 'echo', { n: 1 })).toBe('{"n":1}');
  const sleep = { server_name: 'web', tool_name: 'sleep', arguments: { ms: 1000 } };
  const said = await Promise.all([1, 2, 3, 4, 5, 6].map(() => batch(Array.from({ length: 20 }, () => sleep))));
  expect(said.join()).toContain('EMFILE');
  expect(said.join()).toContain('ulimit -n');
  expect(await exec('web', 'greetings')).toBe('1');
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});
