/** How much of the budget for bodies a request has, and for how long. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import { createEndedSessions } from '../../../src/listen/mcp/ended-sessions.ts';
import { createHeldCalls } from '../../../src/listen/mcp/held-calls.ts';
import { servePost } from '../../../src/listen/mcp/mcp.ts';
import type { McpDeps } from '../../../src/listen/mcp/mcp-request.ts';
import { createRequestStateCodec } from '../../../src/listen/mcp/request-state.ts';
import { createSessionIds } from '../../../src/listen/mcp/session-id.ts';
import { createSessions } from '../../../src/listen/mcp/sessions.ts';
import { createParking } from '../../../src/listen/mcp/sse-stream.ts';
import { createLog } from '../../../src/observe/log.ts';
import { NO_RATE } from '../../../src/policy/rate-limit.ts';
import { createShares } from '../../../src/policy/shares.ts';
import { BOTH, call, gate, rpc, send } from '../harness.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const MAX_BODY = 100_000;

/** MCP without guards, a tool that answers when it may, and how much of the budget is taken. */
async function stage() {
  const [begun, answered] = [gate(), gate()];
  const bodies = createShares(100 * MAX_BODY);
  const request = async ({ method }: { method: string }) => {
    if (method === 'initialize') return { capabilities: { tools: { listChanged: true } } };
    begun.open();
    await answered.promise;
    return { content: [] };
  };
  const sessions: McpDeps['sessions'] = createSessions(DEFAULTS.http);
  const deps: McpDeps = {
    gateway: {
      open: () => ({ front: { request, notification: () => undefined } as any, close: () => undefined }),
      canResume: () => true,
    },
    ...{ ids: createSessionIds(), ended: createEndedSessions(), resuming: new Map(), fingerprint: () => '' },
    ...{
      maxBody: MAX_BODY,
      rate: NO_RATE,
      bodies,
      sessions,
      heldCalls: createHeldCalls(),
      stateCodec: createRequestStateCodec(),
    },
    ...{ parking: createParking(), log: createLog({ level: 'debug', write: () => undefined }) },
  };
  const server = createServer((request, response) => servePost({ request, response, profile: 'default' }, deps));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, begun: begun.promise, answer: answered.open, taken: () => bodies.limit - bodies.left };
}

const CHUNKED = { 'transfer-encoding': 'chunked' };

test.each<[string, Record<string, string>, number, number]>([
  ['a small one of unknown size', CHUNKED, 10, 0],
  ['a small one', {}, 10, 0],
  ['a large one of unknown size', CHUNKED, 50_000, 50_094],
  ['a large one', {}, 50_000, 50_094],
])('%s has what it needs until its call is answered', async (_, headers, pad, expected) => {
  const { url, begun, answer, taken } = await stage();
  const body = JSON.stringify(call('wait', { pad: 'x'.repeat(pad) }));
  const answered = send(url, { body, headers });
  await begun;
  expect(taken()).toBe(expected);
  answer();
  expect((await answered).status).toBe(200);
  await expect.poll(taken).toBe(0);
});

test('a stream that stays open has nothing, however it was asked for', async () => {
  const { url, taken } = await stage();
  const meta = 'io.modelcontextprotocol/';
  const _meta = { [`${meta}protocolVersion`]: '2026-07-28', [`${meta}clientCapabilities`]: {} };
  const params = { _meta, notifications: { toolsListChanged: true }, pad: 'x'.repeat(50_000) };
  const headers = { ...BOTH, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  const stream = await send(url, { body: rpc('subscriptions/listen', params), headers });
  expect((await stream.next())?.data.method).toBe('notifications/subscriptions/acknowledged');
  expect(taken()).toBe(0);
  stream.leave();
});
