/** Other settings and tokens for a listener that runs. */
import { afterEach, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { call, closeAll, connect, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

test('a token that is the same keeps its sessions; one that is gone loses them, its streams and its way in', async () => {
  const [keep, drop] = [token('keep', 'k'), token('drop', 'd')];
  const before = createAuthenticator([keep, drop]);
  const { url, listener } = await stage({ hi: () => ({ content: [] }) }, { auth: before });
  const [kept, dropped] = await Promise.all(['k', 'd'].map((secret) => connect(url, { headers: bearer(secret) })));
  const stream = await dropped?.get();
  const events = await send(url.replace(/mcp$/, 'api/events'), { method: 'GET', headers: bearer('d') });
  expect((await events.next())?.event).toBe('status');
  listener.update({ ...DEFAULTS.http, port: 0 }, createAuthenticator([keep], { before }));
  expect((await kept?.post(call('hi')))?.status).toBe(200);
  expect((await dropped?.post(call('hi')))?.status).toBe(401);
  expect(await stream?.next()).toBeUndefined();
  expect(await events.next()).toBeUndefined();
});

test('a token with other rights is another token: its sessions begin anew', async () => {
  const before = createAuthenticator([token('ci', 'c')]);
  const { url, listener } = await stage({ hi: () => ({ content: [] }) }, { auth: before });
  const client = await connect(url, { headers: bearer('c') });
  const narrowed = createAuthenticator([token('ci', 'c', { tools: { deny: ['x'] } })], { before });
  listener.update({ ...DEFAULTS.http, port: 0 }, narrowed);
  expect((await client.post(call('hi'))).status).toBe(404);
});

test('where tokens come in, sessions without one end', async () => {
  const { url, listener, open } = await stage();
  await connect(url);
  expect(open.size).toBe(1);
  listener.update({ ...DEFAULTS.http, port: 0 }, createAuthenticator([token('ci', 'c')]));
  expect(open.size).toBe(0);
  expect((await send(url, { body: rpc('ping') })).status).toBe(401);
});

test('limits and switches hold for the next request', async () => {
  const { url, listener } = await stage();
  expect((await send(url, { body: rpc('ping') })).status).toBe(200);
  listener.update({ ...DEFAULTS.http, port: 0, maxBody: 10, metrics: false }, createAuthenticator([]));
  expect((await send(url, { body: rpc('ping') })).status).toBe(413);
  expect((await send(url.replace(/mcp$/, 'metrics'), { method: 'GET' })).status).toBe(404);
});
