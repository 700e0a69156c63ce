/** The gateway against clients that mean harm: strange hosts and bytes, names that are none, floods, and clients that never read. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect as openSession, type Sent, send } from '../listen/harness.ts';
import { parseMetrics } from '../observe/prometheus.ts';
import { emptyPlace, fixture, start } from './program.ts';

const stdio = { command: process.execPath, args: [fixture('stdio.mjs')] };
const TOKENS = [
  { name: 'ci', token: 'ci-secret', tools: { deny: ['a.env'] }, profiles: ['default'] },
  { name: 'boss', token: 'boss-secret', admin: true },
];

async function gateway(more: object = {}) {
  const place = emptyPlace();
  const config = {
    ...{ mcpServers: { a: stdio, math: { type: 'builtin' } }, profiles: { default: {}, other: { servers: ['a'] } } },
    ...{ audit: { file: './audit.jsonl' }, log: { level: 'debug' } },
    ...{ http: { auth: { tokens: TOKENS }, cors: { origins: ['https://app.example'] } }, ...more },
  };
  const running = start(['serve', place.file('mcp.json', config), '--http', '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const ask = (path: string, { headers = {}, ...sent }: Sent & { secret?: string } = {}) => {
    const { secret = 'ci-secret', ...rest } = sent;
    return send(`${url}${path}`, { ...rest, headers: { authorization: `Bearer ${secret}`, ...headers } });
  };
  const audit = () =>
    readFileSync(join(place.cwd, 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { ...running, url, port: Number(new URL(url).port), ask, audit };
}

/** Sends bytes and returns the response; on request the client reads nothing. */
function dial(port: number, bytes: string, { deaf = false } = {}) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  if (deaf) socket.pause();
  else
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
  socket.on('error', () => undefined);
  socket.write(bytes);
  return new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
}

test('pages of others, rebound names and wrong tokens get nothing, on any route', async () => {
  const { ask } = await gateway();
  const tries: [status: number, headers: Record<string, string>][] = [
    [403, { host: 'evil.example' }],
    [403, { host: '127.0.0.1.evil.example' }],
    [403, { host: 'localhost.' }],
    [400, { host: 'localhost@evil.example' }],
    [400, { host: '[::1].evil.example' }],
    [403, { host: '[::ffff:1.2.3.4]' }],
    [403, { origin: 'null' }],
    [403, { origin: 'https://app.example.evil.example' }],
    [403, { origin: 'http://localhost:1' }],
    [403, { 'x-forwarded-host': 'localhost', host: 'evil.example' }],
    [401, { authorization: 'Bearer' }],
    [401, { authorization: 'Bearer ci-secre' }],
    [401, { authorization: `Bearer ${'x'.repeat(9000)}` }],
    [401, { authorization: 'Basic Y2k6Y2ktc2VjcmV0' }],
    [200, { host: 'LOCALHOST' }],
    [200, { host: '[::1]:80' }],
    [200, { origin: 'https://app.example' }],
  ];
  for (const path of ['/api/status', '/api/default/tools', '/metrics', '/api/openapi.json'])
    for (const [status, headers] of tries) {
      const answer = await ask(path, { method: 'GET', headers });
      const read = answer.headers['access-control-allow-origin'];
      expect([path, headers, answer.status, read]).toEqual([
        ...[path, headers, status, status === 200 ? headers.origin : undefined],
      ]);
    }
  const query = await ask('/api/status?token=ci-secret&access_token=ci-secret', { method: 'GET', secret: 'none' });
  expect(query.status).toBe(401);
});

test('a session is of no use to another token, nor in another profile', async () => {
  const { url, ask } = await gateway();
  const own = await openSession(`${url}/mcp`, { headers: { authorization: 'Bearer boss-secret' } });
  const headers = { 'mcp-session-id': own.id };
  for (const method of ['GET', 'DELETE', 'POST']) {
    const body = method === 'POST' ? { body: { jsonrpc: '2.0', id: 1, method: 'ping' } } : {};
    expect((await ask('/mcp', { method, headers, ...body })).status).toBe(404);
    expect((await ask('/mcp/other', { method, headers, ...body, secret: 'boss-secret' })).status).toBe(404);
  }
  expect((await own.post({ jsonrpc: '2.0', id: 2, method: 'ping' })).status).toBe(200);
});

test('names that are none make no numbers, no lines of their own, and no difference to what is denied', async () => {
  const { ask, said, audit } = await gateway();
  const call = async (path: string) => {
    const answer = await ask(`/api/default/tools/${path}`, { body: {} });
    return [answer.status, String((await answer.json()).error).replaceAll(/"[^"]*"/g, '""')];
  };
  expect((await call('a/echo'))[0]).toBe(200);
  const missing = await call('a/nowhere');
  for (const odd of ['a/__proto__', 'a/..%2F..%2Fenv', 'a/echo%00', 'a/%FF', 'constructor/echo', 'A/echo'])
    expect((await call(odd))[0]).toBe(404);
  expect(await call('a/env')).toEqual(missing);
  await call('a/x%22%0Amcpx%20error:%20forged%1B%5B2J');
  for (let index = 0; index < 300; index += 1) await call(`a/none${index}`);
  const metrics = parseMetrics(await (await ask('/metrics', { method: 'GET', secret: 'boss-secret' })).text());
  expect(metrics.get('mcpx_calls_total')?.samples.map(({ labels }) => labels.tool)).toEqual(['echo']);
  expect(metrics.get('mcpx_calls_denied_total')?.samples[0]?.value).toBe(1);
  expect(said.stderr).not.toMatch(/^(?:\S+Z )?mcpx error: forged|[\0\x1b]/m);
  expect(audit().filter(({ decision }) => decision === 'denied')).toMatchObject([{ name: 'env', token: 'ci' }]);
});

test('bytes that are no request are answered in words, and nobody else notices', async () => {
  const { port, ask } = await gateway();
  const head = 'Host: localhost\r\nAuthorization: Bearer ci-secret\r\nContent-Type: application/json\r\n';
  const tries: [status: number, bytes: string][] = [
    [400, '\x16\x03\x01\x02\x00garbage\r\n\r\n'],
    [400, `POST /mcp HTTP/1.1\r\n${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    [400, `POST /mcp HTTP/1.1\r\n${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    [400, `POST /mcp HTTP/1.1\r\n${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    [431, `GET /mcp HTTP/1.1\r\n${head}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    [400, 'GET /mcp HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
    [400, 'GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n'],
    [400, 'GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [413, `POST /mcp HTTP/1.1\r\n${head}Content-Length: 99999999\r\n\r\n{`],
    [415, `POST /mcp HTTP/1.1\r\n${head}Content-Encoding: gzip\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`],
  ];
  for (const [status, bytes] of tries) {
    const answer = await dial(port, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\\{.*"requestId":"[^"]+"`));
  }
  const probe = `GET /healthz HTTP/1.1\r\n${head}`;
  const many = await dial(port, [`${probe}\r\n`.repeat(999), probe, 'Connection: close\r\n\r\n'].join(''));
  expect(many.split('HTTP/1.1 200').length - 1).toBe(1000);
  expect((await ask('/api/default/tools/a/echo', { body: {} })).status).toBe(200);
});

test('a client that asks for much and reads nothing is cut, and the others are served', async () => {
  const { port, ask, wrote } = await gateway();
  const body = JSON.stringify({ bytes: 3_000_000 });
  const head = 'Host: localhost\r\nAuthorization: Bearer ci-secret\r\nContent-Type: application/json\r\n';
  const request = `POST /api/default/tools/a/big HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  void dial(port, request.repeat(100), { deaf: true });
  await wrote('stderr', /connections are closed: their clients did not read the responses client=ci/);
  expect((await ask('/api/default/tools/math/calculate', { body: { expression: '6*7' } })).status).toBe(200);
});

test('sessions, streams and calls that are over leave nothing behind', async () => {
  const { url, ask } = await gateway();
  const headers = { authorization: 'Bearer boss-secret' };
  const round = async () => {
    const client = await openSession(`${url}/mcp`, { headers });
    const stream = await client.get();
    const events = await ask('/api/events', { method: 'GET', secret: 'boss-secret' });
    const called = await ask('/api/default/tools/a/echo', { body: {} });
    expect([stream.status, events.status, called.status]).toEqual([200, 200, 200]);
    events.leave();
    await called.text();
    await (await client.delete()).text();
    await stream.text();
  };
  const numbers = async () => {
    const families = parseMetrics(await (await ask('/metrics', { method: 'GET', secret: 'boss-secret' })).text());
    const value = (name: string) => families.get(name)?.samples[0]?.value ?? 0;
    return {
      left: ['mcpx_sessions', 'mcpx_event_streams', 'mcpx_calls_in_flight'].map(value),
      files: value('process_open_fds'),
      heap: value('nodejs_heap_size_used_bytes') / 1024 / 1024,
    };
  };
  for (let index = 0; index < 50; index += 1) await round();
  const before = await numbers();
  for (let index = 0; index < 400; index += 1) await round();
  await expect.poll(async () => (await numbers()).left).toEqual([0, 0, 0]);
  const after = await numbers();
  expect(after.files - before.files).toBeLessThan(10);
  expect(after.heap - before.heap).toBeLessThan(40);
});
