/** Request ids, the access log, events and metrics of the HTTP listener. */
import { afterEach, expect, test } from 'vitest';
import { McpxError } from '../../../src/errors.ts';
import { parseMetrics } from '../../observe/prometheus.ts';
import { until } from '../../setup/until.ts';
import { BOTH, call, closeAll, connect, gate, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const lines = (logged: string[]) => logged.filter((line) => /^\S+Z mcpx info: [A-Z]+ \//.test(line));

/** The line is written when the answer has left, which the client may see first. */
const settled = until;

test('every request has one line and an id that its answer carries', async () => {
  const { url, logged, happenings } = await stage({}, { tokens: [token('ci', 'secret-1')] });
  const headers = { authorization: 'Bearer secret-1' };
  const answer = await send(`${url}?key=hidden`, { body: rpc('ping'), headers });
  await answer.json();
  await settled(() => lines(logged).length === 1);
  const id = answer.headers['x-request-id'];
  expect(lines(logged)[0]).toMatch(
    new RegExp(`^\\S+Z mcpx info: POST /mcp 200 request=${id} ms=[\\d.]+ token=ci from=127\\.0\\.0\\.1\\n$`),
  );
  const [told] = happenings;
  expect(told).toMatchObject({
    type: 'exchange',
    exchange: { request: id, route: '/mcp', status: 200, principal: 'ci', sent: expect.any(Number) },
  });
  expect(logged.join('')).not.toMatch(/hidden|secret-1/);
});

test.each([
  ['abc-123', 'abc-123'],
  ['a'.repeat(129), undefined],
  ['two words', undefined],
  ['<script>', undefined],
])('an id that the client gives is kept when it is sane: %s', async (given, kept) => {
  const { url } = await stage();
  const answer = await send(url, { body: rpc('ping'), headers: { 'x-request-id': given } });
  const id = String(answer.headers['x-request-id']);
  if (kept === undefined) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-z]+$/);
  else expect(id).toBe(kept);
});

test('ids differ, and an error carries its own: refusals, unknown routes, failures in and outside of sessions', async () => {
  const { url } = await stage({
    broken: () => {
      throw new McpxError('failed', 'no luck');
    },
  });
  const refused = await send(url, { body: '{', headers: {} });
  expect((await refused.json()).error.data.requestId).toBe(refused.headers['x-request-id']);
  const lost = await send(`${url.replace(/\/mcp$/, '')}/nowhere`, { method: 'GET' });
  expect(await lost.json()).toMatchObject({
    error: 'no such route: /nowhere',
    requestId: lost.headers['x-request-id'],
  });
  expect(lost.headers['x-request-id']).not.toBe(refused.headers['x-request-id']);
});

test('a client that leaves before its answer is 499 in the log', async () => {
  const entered = gate();
  const left = gate();
  const { url, logged } = await stage({
    wait: async (_, { signal }) => {
      entered.open();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      left.open();
      return {};
    },
  });
  const controller = new AbortController();
  const answer = fetch(url, {
    method: 'POST',
    body: JSON.stringify(call('wait')),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    signal: controller.signal,
  }).catch(() => undefined);
  await entered.promise;
  controller.abort();
  await answer;
  await left.promise;
  await settled(() => lines(logged).some((line) => line.includes(' 499 ')));
});

test('a profile that a token may not use is missing, and only who keeps the record knows better', async () => {
  const tokens = [token('ci', 'c', { profiles: ['default'] })];
  const { listener, happenings } = await stage({}, { tokens });
  const headers = { authorization: 'Bearer c' };
  const said = async (path: string, method: string) => {
    const answer = await send(`${listener.url}${path}`, { method, headers, ...(method === 'POST' && { body: {} }) });
    return [answer.status, (await answer.text()).replaceAll(/other|none|"requestId":"[^"]*"/g, '')];
  };
  expect(await said('/mcp/other', 'POST')).toEqual(await said('/mcp/none', 'POST'));
  expect(await said('/api/other/tools', 'GET')).toEqual(await said('/api/none/tools', 'GET'));
  await expect.poll(() => happenings.length).toBe(4);
  expect(happenings.map((one) => one.type === 'exchange' && [one.exchange.status, one.exchange.hidden])).toEqual([
    ...[
      [404, true],
      [404, undefined],
    ],
    ...[
      [404, true],
      [404, undefined],
    ],
  ]);
});

test('a line cannot be forged by a path, and a long path is cut', async () => {
  const { url, logged } = await stage();
  const base = url.replace(/\/mcp$/, '');
  await (await send(`${base}/a%0Ab`, { method: 'GET' })).text();
  await (await send(`${base}/${'x'.repeat(5000)}`, { method: 'GET' })).text();
  await settled(() => lines(logged).length === 2);
  for (const line of lines(logged)) expect(line.length).toBeLessThan(400);
});

test('events come with the status first, and end with the listener', async () => {
  const { url, watchers, listener } = await stage();
  const stream = await send(url.replace(/mcp$/, 'api/events'), { method: 'GET', headers: BOTH });
  expect(stream.headers['content-type']).toBe('text/event-stream');
  expect(await stream.next()).toMatchObject({ event: 'status', data: { name: 'mcpx' } });
  for (const hear of watchers) hear({ type: 'state', profile: 'p', server: 's', state: 'ready' });
  expect(await stream.next()).toEqual({ event: 'state', data: { profile: 'p', server: 's', state: 'ready' } });
  const closing = listener.close();
  expect(await stream.next()).toBeUndefined();
  await closing;
  expect(watchers.size).toBe(0);
});

test('event streams of one token are bounded, and others get theirs', async () => {
  const { url } = await stage({}, { tokens: [token('a', 'ka'), token('b', 'kb')] });
  const events = url.replace(/mcp$/, 'api/events');
  const listen = (secret: string) => send(events, { method: 'GET', headers: { authorization: `Bearer ${secret}` } });
  const open = await Promise.all(Array.from({ length: 20 }, () => listen('ka')));
  const full = await listen('ka');
  expect([full.status, (await full.json()).error]).toEqual([429, 'token "a" has too many event streams']);
  const other = await listen('kb');
  expect(other.status).toBe(200);
  for (const stream of [...open, other]) stream.leave();
});

test('event streams are bounded in number, and one that leaves makes room', async () => {
  const { url, watchers } = await stage();
  const events = url.replace(/mcp$/, 'api/events');
  const open = await Promise.all(Array.from({ length: 100 }, () => send(events, { method: 'GET' })));
  const full = await send(events, { method: 'GET' });
  expect([full.status, full.headers['retry-after']]).toEqual([503, '30']);
  open[0]?.leave();
  await settled(() => watchers.size === 99);
  const next = await send(events, { method: 'GET' });
  expect(next.status).toBe(200);
  for (const stream of [...open, next]) stream.leave();
});

test('metrics need a token where there are any, count sessions, and can be switched off', async () => {
  const secured = await stage({}, { tokens: [token('ci', 'secret')] });
  const address = secured.url.replace(/mcp$/, 'metrics');
  expect((await send(address, { method: 'GET' })).status).toBe(401);
  const headers = { authorization: 'Bearer secret' };
  await connect(secured.url, { headers });
  const scraped = await send(address, { method: 'GET', headers });
  expect(scraped.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(parseMetrics(await scraped.text()).get('mcpx_sessions')?.samples).toMatchObject([{ value: 1 }]);
  const off = await stage({}, { http: { metrics: false } });
  expect((await send(off.url.replace(/mcp$/, 'metrics'), { method: 'GET' })).status).toBe(404);
});
