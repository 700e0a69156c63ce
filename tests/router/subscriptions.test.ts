/** Subscriptions of sessions: who is told, and when a server is asked again. */
import { describe, expect, test } from 'vitest';
import type { Located } from '../../src/catalog/exposed-uris.ts';
import { SILENT } from '../../src/observe/log.ts';
import { createSubscriptions } from '../../src/router/subscriptions.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';
import { stageConnections } from './staged-connections.ts';

const resource = { server: 'a', uri: 'x://y' };
const SUBSCRIBE = 'resources/subscribe';
const UNSUBSCRIBE = 'resources/unsubscribe';

function world(states: Record<string, 'ready' | 'idle'>) {
  const staged = stageConnections(states);
  const { pool, connections } = staged;
  const subscriptions = createSubscriptions({ pool, log: SILENT });
  const [first, second] = connections as [Connection, Connection];
  /** Subscribes as a front does; `answer` is the answer of the server. */
  const subscribe = (key: string, asked: string, { to = resource, via, answer }: Subscribing = {}) => {
    const identity = { key, capabilities: {} };
    return subscriptions.subscribe(to, { client: { identity }, asked }, async (routed) => {
      routed(via ?? pool.get(to.server, identity) ?? expect.fail('no connection'));
      return answer?.();
    });
  };
  return { ...staged, subscriptions, subscribe, first, second };
}

interface Subscribing {
  to?: Located;
  via?: Connection;
  answer?: () => unknown;
}

/** A view that follows `base`, as the clients of shared servers have one. */
function viewOf(base: () => Connection): Connection {
  return {
    get state() {
      return base().state;
    },
    base,
  } as Connection;
}

describe('a subscription', () => {
  test('ends at the server with the last session that has it', async () => {
    const { subscriptions, subscribe, told } = world({ a: 'ready' });
    await subscribe('one', 'as asked');
    await subscribe('two', 'as asked');
    expect(subscriptions.wanted(resource, 'one')).toBe('as asked');
    expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
    expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
    expect(subscriptions.wanted(resource, 'one')).toBeUndefined();
    subscriptions.leave('two');
    expect(told).toEqual([['a', UNSUBSCRIBE, { uri: 'x://y' }]]);
  });

  test('is served by the connection that was asked, which is told when the last of its own sessions has left', async () => {
    const { subscriptions, subscribe, told, first, second } = world({ 'a of one': 'ready', a: 'ready' });
    await subscribe('one', 'asked by one');
    await subscribe('two', 'asked by two');
    await subscribe('three', 'asked by three');
    const heard = (spoke: Connection) => ['one', 'two'].map((key) => subscriptions.wanted(resource, key, spoke));
    expect(heard(first)).toEqual(['asked by one', undefined]);
    expect(heard(second)).toEqual([undefined, 'asked by two']);
    expect(subscriptions.unsubscribe(resource, 'one')).toBe(first);
    expect(subscriptions.unsubscribe(resource, 'two')).toBeUndefined();
    subscriptions.leave('three');
    expect(told).toEqual([['a', UNSUBSCRIBE, { uri: 'x://y' }]]);
  });

  test('includes the parts of the resource, on the connection that was asked', async () => {
    const { subscriptions, subscribe, first, second } = world({ 'a of one': 'ready', a: 'ready' });
    const part = { server: 'a', uri: 'x://y/part' };
    await subscribe('one', 'as asked');
    const wantsPart = (spoke: Connection) => subscriptions.wantsWhole(part, 'one', spoke);
    expect([wantsPart(first), wantsPart(second)]).toEqual([true, false]);
    expect(subscriptions.wanted(part, 'one')).toBeUndefined();
    expect(subscriptions.wantsWhole(part, 'two')).toBe(false);
    expect(subscriptions.wantsWhole({ ...part, server: 'b' }, 'one')).toBe(false);
    subscriptions.leave('one');
    expect(subscriptions.wantsWhole(part, 'one')).toBe(false);
  });

  test('through a view is on the connection behind it, and keeps only that one open', async () => {
    const { subscriptions, subscribe, first, second } = world({ a: 'ready', 'a of two': 'ready' });
    let base = first;
    await subscribe('one', 'as asked', { via: viewOf(() => base) });
    expect(subscriptions.wanted(resource, 'one', first)).toBe('as asked');
    expect([subscriptions.isOn(first), subscriptions.isOn(second)]).toEqual([true, false]);
    base = second;
    expect([subscriptions.isOn(first), subscriptions.isOn(second)]).toEqual([false, true]);
  });

  test('that the server refuses is forgotten, but an earlier one of the session stays', async () => {
    const { subscriptions, subscribe } = world({ a: 'ready' });
    const refuse = () => {
      throw new Error('refused');
    };
    await expect(subscribe('one', 'refused', { answer: refuse })).rejects.toThrow('refused');
    expect(subscriptions.wanted(resource, 'one')).toBeUndefined();
    await subscribe('one', 'as asked');
    await expect(subscribe('one', 'asked again', { answer: refuse })).rejects.toThrow('refused');
    expect(subscriptions.wanted(resource, 'one')).toBe('as asked');
  });

  test('of a session that has left while its request was under way does not come back', async () => {
    const { subscriptions, subscribe } = world({ a: 'ready' });
    await expect(
      subscribe('one', 'as asked', {
        answer: () => {
          subscriptions.leave('one');
          throw new Error('gone');
        },
      }),
    ).rejects.toThrow('gone');
    expect(subscriptions.isOn(world({ a: 'ready' }).first)).toBe(false);
    expect(subscriptions.wanted(resource, 'one')).toBeUndefined();
  });
});

describe('a server is asked again', () => {
  test('once per resource when a new conversation begins, and not in the same one', async () => {
    const { subscriptions, subscribe, told, first, begin } = world({ a: 'ready' });
    await subscribe('one', 'asked by one');
    await subscribe('two', 'asked by two');
    subscriptions.renew(first);
    expect(told).toEqual([]);
    begin(first);
    subscriptions.renew(first);
    subscriptions.renew(first);
    expect(told).toEqual([['a', SUBSCRIBE, { uri: 'x://y' }]]);
    expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
    expect(subscriptions.unsubscribe(resource, 'two')).toBe(first);
  });

  test('but not for a request that is under way: it waits for the new conversation itself', async () => {
    const { subscriptions, subscribe, told, first, begin } = world({ a: 'idle' });
    const answer = () => {
      begin(first);
      subscriptions.renew(first);
    };
    await subscribe('one', 'as asked', { answer });
    subscriptions.renew(first);
    expect(told).toEqual([]);
    begin(first);
    subscriptions.renew(first);
    expect(told).toHaveLength(1);
  });

  test('when a session moves to another connection', async () => {
    const { subscriptions, subscribe, told, first, second } = world({ a: 'ready', 'a of other': 'ready' });
    let base = first;
    await subscribe('one', 'as asked', { via: viewOf(() => base) });
    base = second;
    subscriptions.renew(second);
    expect(told).toEqual([['a of other', SUBSCRIBE, { uri: 'x://y' }]]);
  });

  test('when another one takes the place of a replaced one, as soon as it is ready', async () => {
    const { subscriptions, subscribe, told, connections, connected, begin } = world({
      'a of one': 'ready',
      a: 'ready',
      b: 'ready',
    });
    await subscribe('one', 'asked by one');
    await subscribe('two', 'asked by two');
    const old = connections.splice(0, 2);
    subscriptions.replaced(['a']);
    expect(subscriptions.wanted(resource, 'one', old[0])).toBeUndefined();
    const [own, shared] = old.map((one) => ({ ...one, state: { kind: 'idle' } })) as [Connection, Connection];
    connections.push(own, shared);
    subscriptions.replaced(['a']);
    subscriptions.renew(connections[0] as Connection);
    expect([told, connected]).toEqual([[], ['a of one', 'a']]);
    begin(shared);
    subscriptions.renew(shared);
    expect(told).toEqual([['a', SUBSCRIBE, { uri: 'x://y' }]]);
    begin(own);
    subscriptions.renew(own);
    expect(told.slice(1)).toEqual([['a of one', SUBSCRIBE, { uri: 'x://y' }]]);
    expect(subscriptions.wanted(resource, 'one', own)).toBe('asked by one');
    expect(subscriptions.unsubscribe(resource, 'two')).toBe(shared);
  });

  test('when a removed server comes back, on the connection of each session', async () => {
    const { subscriptions, subscribe, connections, connected, begin, told } = world({ 'a of one': 'ready' });
    await subscribe('one', 'as asked');
    const [own] = connections.splice(0) as [Connection];
    subscriptions.replaced(['a']);
    const next = { ...own, state: { kind: 'idle' } } as Connection;
    connections.push(next);
    // A connection that only lists becomes ready first.
    subscriptions.renew({ ...own, owner: undefined } as Connection);
    expect(connected).toEqual(['a of one']);
    begin(next);
    subscriptions.renew(next);
    expect(told).toEqual([['a of one', SUBSCRIBE, { uri: 'x://y' }]]);
  });

  test('in the next conversation if it refused, and need not be told of the end', async () => {
    const rude = { server: 'rude', uri: 'x://y' };
    const { subscriptions, subscribe, told, first, begin } = world({ rude: 'ready' });
    await subscribe('one', 'as asked', { to: rude });
    for (const _ of [1, 2]) {
      begin(first);
      subscriptions.renew(first);
      await new Promise(setImmediate);
    }
    expect(told).toHaveLength(2);
    expect(subscriptions.unsubscribe(rude, 'one')).toBeUndefined();
  });

  test('but the connection of another session is left alone', async () => {
    const { subscriptions, subscribe, second, connected, told } = world({ 'a of one': 'idle', 'a of two': 'ready' });
    await subscribe('one', 'asked by one');
    subscriptions.replaced(['a']);
    connected.length = 0;
    subscriptions.renew(second);
    expect([connected, told]).toEqual([[], []]);
  });
});

test('a server that is not connected is not told of the end of a subscription', async () => {
  const { subscriptions, subscribe, first } = world({ a: 'ready' });
  await subscribe('one', 'as asked');
  Object.assign(first, { state: { kind: 'backoff' } });
  expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
});
