/** Every error of a route for scripts has the same four fields, whoever refuses; on routes of MCP it is JSON-RPC. */
import { afterEach, expect, test } from 'vitest';
import { closeAll, type Sent, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const TOKENS = [token('ci', 'c'), token('boss', 'b', { admin: true })];
const CI = { authorization: 'Bearer c' };
const BOSS = { authorization: 'Bearer b' };
const FOREIGN = { ...CI, origin: 'http://elsewhere.example' };

async function ask(path: string, sent: Sent, http = {}) {
  const { listener } = await stage({}, { tokens: TOKENS, http });
  const answer = await send(`${listener.url}${path}`, sent);
  return { status: answer.status, id: answer.headers['x-request-id'], body: await answer.json() };
}

test.each<[status: number, code: string, hint: RegExp, path: string, sent: Sent]>([
  [401, 'auth', /Authorization: Bearer/, '/api/status', { method: 'GET' }],
  [403, 'refused', /http\.hosts/, '/api/status', { method: 'GET', headers: { ...CI, host: 'evil.example' } }],
  [403, 'refused', /http\.cors\.origins/, '/api/status', { method: 'GET', headers: FOREIGN }],
  [403, 'refused', /http\.auth\.tokens/, '/api/reload', { headers: CI }],
  [404, 'not_found', /openapi\.json/, '/nowhere', { method: 'GET', headers: CI }],
  [404, 'not_found', /api\/status/, '/api/none/tools', { method: 'GET', headers: CI }],
  [405, 'usage', /use GET/, '/api/status', { method: 'PUT', headers: CI }],
  [409, 'usage', /mcpx serve/, '/api/reload', { headers: BOSS }],
  [414, 'usage', /shorter/, `/api/status?${'x'.repeat(9000)}`, { method: 'GET', headers: CI }],
  [500, 'failed', /log of mcpx/, '/api/default/tools', { method: 'GET', headers: CI }],
])('%d is "%s" with a hint', async (status, code, hint, path, sent) => {
  const answer = await ask(path, sent);
  expect(answer.status).toBe(status);
  expect(Object.keys(answer.body)).toEqual(expect.arrayContaining(['error', 'code', 'hint', 'requestId']));
  expect(answer.body).toMatchObject({ code, hint: expect.stringMatching(hint), requestId: answer.id });
});

test('too fast is told in the form of its route', async () => {
  const { listener } = await stage({}, { http: { rate: 1 } });
  const post = async (path: string) => (await send(`${listener.url}${path}`, { body: {} })).json();
  await post('/api/reload');
  expect(await post('/api/reload')).toEqual({
    error: 'too many requests: try again in 1 s',
    code: 'overloaded',
    hint: expect.stringContaining('Retry-After'),
    requestId: expect.any(String),
  });
  for (const path of ['/mcp', '/mcp?front=compact', '/api/default/mcp', '/api/default/mcp?x'])
    expect(await post(path)).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } });
});

test.each(['/mcp', '/mcp/other', '/mcp?x', '/api/default/mcp', '/sse', '/messages?sessionId=1'])(
  'a refusal on %s is JSON-RPC',
  async (path) => {
    const { status, body } = await ask(path, { body: {} }, { legacySse: true });
    expect([status, body.jsonrpc, body.error.message]).toEqual([401, '2.0', expect.stringMatching(/^Unauthorized: /)]);
  },
);

test('what a client calls something cannot break the line of an error', async () => {
  const { body } = await ask('/api/a%0Ab%1B%5B31mc/tools', { method: 'GET', headers: CI });
  expect(body.error).toBe('no profile is called "a bc"');
});
