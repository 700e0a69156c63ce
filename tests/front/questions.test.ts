/** A server with one client sends requests outside of a call and is notified of changed roots. */
import { expect, test } from 'vitest';
import { createWorld, openFront } from '../world.ts';

const incoming = { signal: new AbortController().signal };
const question = { jsonrpc: '2.0' as const, id: 1, method: 'roots/list' };
const exchange = { signal: incoming.signal };
const note = (method: string) => ({ jsonrpc: '2.0' as const, method });

function open(ask?: () => Promise<unknown>) {
  const world = createWorld({ one: { tools: [] } });
  world.deps.identity = { key: 'k', capabilities: { roots: {} } };
  const front = openFront('compact', world.deps, { key: 'k', notify: () => undefined, ...(ask && { ask }) });
  return { ...world, front };
}

/** Returns true if the promise is settled. */
const settled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

test.each([
  [
    'says that it is ready',
    (front: ReturnType<typeof openFront>) => front.notification(note('notifications/initialized')),
  ],
  ['goes ahead', (front: ReturnType<typeof openFront>) => front.request({ method: 'ping' }, exchange)],
])('a client is asked when it %s, and not before', async (_, become) => {
  const { front } = open(async () => ({ roots: [] }));
  await front.request({ method: 'initialize', params: { capabilities: { roots: {} } } }, exchange);
  const answer = front.onServerRequest('one', question, incoming);
  expect(await settled(answer)).toBe(false);
  await become(front);
  expect(await answer).toEqual({ roots: [] });
});

test('a client that cannot be asked is an error at once', async () => {
  await expect(open().front.onServerRequest('one', question, incoming)).rejects.toThrow('cannot answer roots/list');
});

test('a client whose requests stand alone is asked on behalf of one that is under way, and not afterwards', async () => {
  const world = createWorld({ one: { tools: [] } });
  world.deps.identity = { key: 'k', capabilities: { roots: {} } };
  let listed = () => {};
  const listing = new Promise<void>((resolve) => {
    listed = resolve;
  });
  const deps = { ...world.deps, listed: () => listing };
  const front = openFront('compact', deps, { key: 'k', notify: () => undefined, stateless: true });
  const under = front.request({ method: 'tools/list' }, { ...exchange, ask: async () => ({ roots: ['mine'] }) });
  expect(await front.onServerRequest('one', question, incoming)).toEqual({ roots: ['mine'] });
  listed();
  await under;
  await expect(front.onServerRequest('one', question, incoming)).rejects.toThrow('cannot answer roots/list');
});

test('a client that leaves makes nobody wait', async () => {
  const { front } = open(() => Promise.reject(new Error('gone')));
  const answer = front.onServerRequest('one', question, incoming);
  front.close();
  await expect(answer).rejects.toThrow('gone');
});

test('a client that has other roots says so once per notification', () => {
  let changes = 0;
  const deps = { ...createWorld({}).deps, rootsChanged: () => void changes++ };
  const front = openFront('compact', deps, { key: 'k', notify: () => undefined });
  front.notification(note('notifications/initialized'));
  expect(changes).toBe(0);
  front.notification(note('notifications/roots/list_changed'));
  expect(changes).toBe(1);
});
