/** One client that takes all it can get: it uses up its own share, and other clients and servers do not notice. With the executable. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { emptyPlace, fixture, start } from './program.ts';

const stdio = { command: process.execPath, args: [fixture('stdio.mjs')] };
const SECRETS = { hog: 'secret-of-the-hog', calm: 'secret-of-the-calm' };
type Who = keyof typeof SECRETS;
interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: any;
}

/** A gateway with two tokens, and how they post to it. */
async function serve(config: object) {
  const place = emptyPlace();
  const tokens = Object.entries(SECRETS).map(([name, token]) => ({ name, token }));
  const file = place.file('mcp.json', { http: { auth: { tokens } }, front: { kind: 'aggregate' }, ...config });
  const running = start(['serve', file, '--http', '--port', '0'], place);
  const [, port = ''] = (await running.wrote('stderr', /listening on http:\/\/127\.0\.0\.1:(\d+)/)) as RegExpExecArray;
  const post = (secret: string, body: unknown, { path = '/mcp', headers = {} } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const own = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', accept, ...headers };
      const sent = request({ host: '127.0.0.1', port, method: 'POST', path, agent: false, headers: own }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => {
          const json = /^data: (.+)$/m.exec(text)?.[1] ?? text;
          const body = json === '' ? undefined : JSON.parse(json);
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
        });
        answer.on('error', reject);
      });
      sent.on('error', reject);
      onTestFinished(() => void sent.destroy());
      sent.end(JSON.stringify(body));
    });
  const call = async (who: Who, name: string, args: object = {}, headers = {}) => {
    const { body } = await post(SECRETS[who], tool(name, args), { headers });
    return body.result?.content[0].text ?? body.error;
  };
  /** Calls until a number of them are under way; refused ones end. */
  const flood = (who: Who, name: string) => {
    const batch = Array.from({ length: 100 }, (_, id) => tool(name, {}, id));
    const headers = { 'mcp-protocol-version': '2025-03-26' };
    for (let n = 0; n < 2; n += 1) post(SECRETS[who], batch, { headers }).catch(() => undefined);
  };
  return { place, port: Number(port), post, call, flood };
}

const tool = (name: string, args: object = {}, id = 1) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } },
});

/** The children of mcpx are reaped by it as soon as they have ended. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('calls that a server never answers use up a share of their client and of that server only', async () => {
  const mcpServers = { a: stdio, b: stdio, c: stdio, math: { type: 'builtin' } };
  const { call, flood, post } = await serve({ mcpServers, limits: { concurrentCalls: 100 } });
  const add = (who: Who) => call(who, 'math__calculate', { expression: '1+1' });
  expect(await call('calm', 'a__echo', { x: 1 })).toBe('{"x":1}');
  flood('hog', 'a__never');
  // One more is refused once the share is used up; until then it waits as the others do.
  const refused = (server: string) =>
    Promise.race([call('hog', `${server}__never`), new Promise((resolve) => setTimeout(resolve, 200))]);
  await expect
    .poll(() => refused('a'), { timeout: 20_000 })
    .toMatchObject({
      code: -32000,
      message: expect.stringMatching(/^\d+ calls to server "a" are under way already, which is its share$/),
      data: { exhausted: 'server' },
    });
  expect([await add('hog'), await add('calm')]).toEqual(['{"result":2}', '{"result":2}']);
  expect(await call('calm', 'a__echo', { x: 2 })).toBe('{"x":2}');
  flood('hog', 'b__never');
  flood('hog', 'c__never');
  const message = expect.stringMatching(/^token "hog" has \d+ calls under way already, which is its share$/);
  await expect.poll(() => refused('c'), { timeout: 20_000 }).toMatchObject({ message, data: { exhausted: 'client' } });
  const own = await post(SECRETS.hog, { expression: '1+1' }, { path: '/api/default/tools/math/calculate' });
  expect([own.status, own.headers['retry-after'], own.body.error]).toEqual([429, '1', message]);
  expect(await add('calm')).toBe('{"result":2}');
});

test('sessions of one token run a bounded number of processes, and those of others are started all the same', async () => {
  const own = { ...stdio, share: 'session' };
  const mcpServers = { a: own, b: own };
  const { call, post } = await serve({ mcpServers, limits: { children: 8 } });
  const begin = async (who: Who) => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const hello = await post(SECRETS[who], { jsonrpc: '2.0', id: 0, method: 'initialize', params });
    return { 'mcp-session-id': String(hello.headers['mcp-session-id']) };
  };
  const pids: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    const session = await begin('hog');
    for (const server of ['a', 'b']) pids.push(Number(await call('hog', `${server}__pid`, {}, session)));
  }
  expect(new Set(pids).size).toBe(12);
  const left = pids.filter(isRunning);
  expect(left.length).toBeLessThanOrEqual(6);
  const other = Number(await call('calm', 'a__pid', {}, await begin('calm')));
  expect([isRunning(other), left.filter(isRunning)]).toEqual([true, left]);
});

test('large bodies that one token is slow to send leave room for those of others', async () => {
  const { port, call, post } = await serve({ mcpServers: { math: { type: 'builtin' } } });
  const slow: Socket[] = [];
  onTestFinished(() => {
    for (const socket of slow) socket.destroy();
  });
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${SECRETS.hog}`,
    'Content-Type: application/json',
    `Content-Length: ${4 * 1024 * 1024}`,
  ];
  for (let n = 0; n < 64; n += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    slow.push(socket);
    socket.write(`${head.join('\r\n')}\r\n\r\n{`);
  }
  const large = (who: Who) =>
    post(SECRETS[who], { jsonrpc: '2.0', id: 1, method: 'ping', params: { x: 'x'.repeat(20_000) } });
  await expect.poll(async () => (await large('hog')).status, { timeout: 20_000 }).toBe(429);
  expect((await large('calm')).status).toBe(200);
  expect(await call('hog', 'math__calculate', { expression: '1+1' })).toBe('{"result":2}');
});

test('wrong tokens are braked and written down, and right ones pass', async () => {
  const { place, post, call } = await serve({
    mcpServers: { math: { type: 'builtin' } },
    audit: { file: './audit.jsonl' },
  });
  const statuses = [];
  for (let n = 0; n < 25; n += 1) statuses.push((await post(`guess-${n}`, tool('x'))).status);
  expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)]);
  expect(await call('calm', 'math__calculate', { expression: '1+1' })).toBe('{"result":2}');
  const refused = () =>
    readFileSync(`${place.cwd}/audit.jsonl`, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"status":429'));
  await expect.poll(refused).toHaveLength(5);
});
