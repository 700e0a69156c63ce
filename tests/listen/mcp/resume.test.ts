/** Sessions over HTTP after a restart, and on another replica: who may go on, and what begins anew. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSecretKey } from '../../../src/listen/mcp/secret-key.ts';
import { createSessionIds, LIFETIME } from '../../../src/listen/mcp/session-id.ts';
import { stopClock } from '../../setup/clock.ts';
import { BOTH, type Client, call, closeAll, connect, gate, rpc, send, stage, token } from '../harness.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mcpx-resume-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
  rmSync(home, { recursive: true, force: true });
});

type Acts = Parameters<typeof stage>[0];
type More = NonNullable<Parameters<typeof stage>[1]>;

/** One gateway of the home; each call is another process. */
const gateway = (more: More = {}, acts: Acts = { hi: () => ({ content: [] }) }) =>
  stage(acts, {
    secretKey: createSecretKey({ file: join(home, 'secret.key') }),
    endedFolder: join(home, 'ended'),
    ...more,
  });
/** The same client, at another address. */
const at = (url: string, { headers }: Client, body: unknown = rpc('ping', {}, 7), more: Record<string, string> = {}) =>
  send(url, { body, headers: { ...headers, ...more } });

describe('a session goes on', () => {
  test('after a restart, with what its client said of itself', async () => {
    const before = await gateway();
    const client = await connect(before.url);
    await before.listener.close();
    const after = await gateway();
    const [ping, hi] = await Promise.all([at(after.url, client), at(after.url, client, call('hi', {}, 8))]);
    expect([ping.status, await ping.json()]).toEqual([200, { jsonrpc: '2.0', id: 7, result: {} }]);
    expect(await hi.json()).toMatchObject({ id: 8, result: { content: [] } });
    // Two requests at once take up one session.
    expect([...after.open].map(({ heard, options }) => [heard, typeof options.issued])).toEqual([
      [['notifications/initialized'], 'number'],
    ]);
    expect(after.logged.join()).toContain('resumed a session of another process');
  });

  test('on another replica, whose stream and calls are its own', async () => {
    const [one, two] = [await gateway(), await gateway()];
    const client = await connect(one.url);
    const stream = await send(two.url, { method: 'GET', headers: { ...client.headers, 'last-event-id': '0-5' } });
    expect(stream.status).toBe(200);
    [...two.open][0]?.downstream.notify('notifications/tools/list_changed');
    expect((await stream.next())?.data.method).toBe('notifications/tools/list_changed');
    const lost = await send(two.url, { method: 'GET', headers: { ...client.headers, 'last-event-id': '1-1' } });
    expect(lost.status).toBe(400);
    for (const { url } of [one, two]) expect((await at(url, client)).status).toBe(200);
    stream.leave();
  });

  test('with the front of the URL at which it began', async () => {
    const before = await gateway();
    const client = await connect(`${before.url}?front=aggregate`);
    const after = await gateway();
    await at(after.url, client);
    expect([...after.open].map(({ options }) => options.front)).toEqual(['aggregate']);
  });
});

describe('a session does not go on', () => {
  test('with another key, and the error carries the id of the request', async () => {
    const client = await connect((await gateway()).url);
    const other = await stage();
    const refused = await at(other.url, client);
    expect([refused.status, (await refused.json()).id]).toEqual([404, 7]);
  });

  test('when it was deleted, before the restart or on another replica', async () => {
    const [one, two] = [await gateway(), await gateway()];
    const [here, there, never] = [await connect(one.url), await connect(one.url), await connect(one.url)];
    expect((await at(two.url, there)).status).toBe(200);
    expect((await here.delete()).status).toBe(200);
    expect((await at(two.url, here)).status).toBe(404);
    expect((await send(two.url, { method: 'DELETE', headers: there.headers })).status).toBe(200);
    await expect.poll(async () => (await at(one.url, there)).status).toBe(404);
    // A session of another process is deleted without being taken up.
    const three = await gateway();
    expect((await send(three.url, { method: 'DELETE', headers: never.headers })).status).toBe(200);
    expect(three.open.size).toBe(0);
    const restarted = await gateway();
    for (const client of [here, there, never]) {
      expect((await at(restarted.url, client)).status).toBe(404);
      expect((await send(restarted.url, { method: 'GET', headers: client.headers })).status).toBe(404);
      expect((await send(restarted.url, { method: 'DELETE', headers: client.headers })).status).toBe(404);
    }
    const [file = ''] = readdirSync(join(home, 'ended'));
    if (process.platform !== 'win32') expect(statSync(join(home, 'ended', file)).mode & 0o777).toBe(0o600);
  });

  test('for another token, for the same name with another secret or other rights, or on another profile', async () => {
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    const before = await gateway({ tokens: [token('a', 'ka')] });
    const client = await connect(before.url, { headers: bearer('ka') });
    const after = await gateway({ tokens: [token('a', 'ka'), token('b', 'kb'), token('a', 'kc')] });
    for (const secret of ['kb', 'kc'])
      expect((await at(after.url, client, rpc('ping'), bearer(secret))).status).toBe(404);
    expect((await at(`${after.url}/other`, client)).status).toBe(404);
    expect((await at(after.url, client)).status).toBe(200);
    const narrowed = await gateway({ tokens: [token('a', 'ka', { tools: { deny: ['x'] } })] });
    expect((await at(narrowed.url, client)).status).toBe(404);
    const revoked = await gateway({ tokens: [token('b', 'kb')] });
    expect((await at(revoked.url, client)).status).toBe(401);
    const open = await gateway();
    expect((await at(open.url, client)).status).toBe(404);
  });

  test('when it would be one too many', async () => {
    const before = await gateway();
    const [one, two] = [await connect(before.url), await connect(before.url)];
    const after = await gateway({ http: { maxSessions: 1 } });
    const stream = await send(after.url, { method: 'GET', headers: { ...one.headers, accept: 'text/event-stream' } });
    expect(stream.status).toBe(200);
    const refused = await at(after.url, two);
    expect([refused.status, (await refused.json()).id]).toEqual([503, 7]);
    stream.leave();
  });

  test('when its id has expired', async () => {
    stopClock();
    const ids = createSessionIds();
    const about = { token: '', profile: 'default', hello: { protocolVersion: '2025-11-25' } };
    const { id, claims } = ids.issue(about);
    expect(ids.read(id)).toEqual(claims);
    vi.setSystemTime(Date.now() + LIFETIME);
    expect(ids.read(id)).toBeUndefined();
  });
});

test('a client that says too much of itself gets an id that does not survive', async () => {
  const before = await gateway();
  const body = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: { experimental: 'x'.repeat(5000) } });
  const hello = await send(before.url, { body, headers: BOTH });
  const headers = { ...BOTH, 'mcp-session-id': String(hello.headers['mcp-session-id']) };
  expect(headers['mcp-session-id']).toMatch(/^[\x21-\x7e]{32,100}$/);
  expect((await send(before.url, { body: rpc('ping'), headers })).status).toBe(200);
  expect((await send((await gateway()).url, { body: rpc('ping'), headers })).status).toBe(404);
});

test('an id that was changed in any place is not ours', async () => {
  const { url } = await gateway();
  const client = await connect(url);
  const other = await gateway();
  for (let place = 0; place < client.id.length; place += 37) {
    const id = client.id.slice(0, place) + (client.id[place] === 'A' ? 'B' : 'A') + client.id.slice(place + 1);
    expect((await at(other.url, client, rpc('ping'), { 'mcp-session-id': id })).status).toBe(404);
  }
  for (const id of [`${client.id}=`, `${client.id}A`, client.id.slice(1)])
    expect((await at(other.url, client, rpc('ping'), { 'mcp-session-id': id })).status).toBe(404);
});

test('a stop ends no session for the process that follows, also one with a call under way', async () => {
  const reached = gate();
  const before = await gateway(
    {},
    {
      wait: () => {
        reached.open();
        return new Promise(() => undefined);
      },
    },
  );
  const client = await connect(before.url);
  const pending = client.post(call('wait'));
  await reached.promise;
  await before.listener.close();
  expect((await (await pending).next())?.data.error.message).toBe('mcpx is stopping');
  expect((await at((await gateway()).url, client)).status).toBe(200);
});
