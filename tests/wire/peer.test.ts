import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CancelSignal } from '../../src/cancel-signal.ts';
import { McpxError, RpcError } from '../../src/errors.ts';
import type { Id, Message, Params, RpcRequest } from '../../src/wire/message.ts';
import { type Channel, createPeer, type Incoming, type PeerHandlers, type Receiver } from '../../src/wire/peer.ts';

/** A peer whose far side is this test. */
function open(handlers: PeerHandlers = {}) {
  const sent: Message[] = [];
  const reports: string[] = [];
  const far = { refuse: (_: Message): Error | undefined => undefined, closes: 0 };
  let receiver: Receiver | undefined;
  const channel: Channel = {
    start: (to) => {
      receiver = to;
    },
    send(message) {
      const refusal = far.refuse(message);
      if (refusal) throw refusal;
      sent.push(message);
    },
    async close() {
      far.closes += 1;
    },
  };
  const peer = createPeer(channel, { invalid: (reason) => reports.push(reason), ...handlers });
  if (!receiver) throw new Error('the channel was not started');
  const { message, failed, closed } = receiver;
  const answer = (id: Id, result: unknown) => message({ jsonrpc: '2.0', id, result });
  const notify = (method: string, params: Params) => message({ jsonrpc: '2.0', method, params });
  const ask = (id: Id, method = 'm', params?: Params) =>
    message({ jsonrpc: '2.0', id, method, ...(params && { params }) });
  return { peer, sent, reports, far, message, answer, notify, ask, failed, closed };
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('our requests', () => {
  test('have ids of their own, and get the answer with that id', async () => {
    const { peer, sent, answer } = open();
    const first = peer.request('a', { x: 1 });
    const second = peer.request('b');
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 1001, method: 'a', params: { x: 1 } },
      { jsonrpc: '2.0', id: 1002, method: 'b' },
    ]);
    expect(peer.pending).toEqual({ ours: 2, theirs: 0 });
    answer(1002, { b: true });
    answer(1001, null);
    expect(await Promise.all([first, second])).toEqual([null, { b: true }]);
    expect(peer.pending).toEqual({ ours: 0, theirs: 0 });
  });

  test('accept an id that came back as a string', async () => {
    const { peer, answer } = open();
    const request = peer.request('a');
    answer('1001', 'found');
    expect(await request).toBe('found');
  });

  test.each([
    [
      { code: -32042, message: 'No: "x"', data: { deep: [1] } },
      { code: -32042, message: 'No: "x"', data: { deep: [1] } },
    ],
    [
      { code: 7, message: '' },
      { code: 7, message: '', data: undefined },
    ],
    [
      { code: 'x', message: 5 },
      { code: -32603, message: '5' },
    ],
    ['broken', { code: -32603, message: 'unknown error' }],
  ])('fail with the words of the far side: %j', async (error, expected) => {
    const { peer, message } = open();
    const request = failure(peer.request('a'));
    message({ jsonrpc: '2.0', id: 1001, error } as never);
    expect(await request).toBeInstanceOf(RpcError);
    expect(await request).toMatchObject(expected);
  });

  test('take "error: null" beside a result for none', async () => {
    const { peer, message } = open();
    const request = peer.request('a');
    message({ jsonrpc: '2.0', id: 1001, result: 5, error: null } as never);
    expect(await request).toBe(5);
  });

  test('ignore and report answers that nobody asked for, and second ones', async () => {
    const { peer, answer, message, reports } = open();
    const request = peer.request('a');
    answer(0, 'x');
    answer(99, 'x');
    answer('', 'x');
    answer(1001, 'first');
    answer(1001, 'second');
    message({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'what?' } });
    message({ jsonrpc: '2.0', result: 1 } as never);
    expect(await request).toBe('first');
    expect(reports).toEqual(
      [0, 99, '', 1001, null, null].map((id) => `an answer to no open request, id ${JSON.stringify(id)}`),
    );
  });

  test('fail alone when their own exchange fails', async () => {
    const { peer, failed, answer } = open();
    const [broken, fine] = [failure(peer.request('a')), peer.request('b')];
    failed?.(1001, new McpxError('auth', 'no'));
    failed?.(77, new Error('nobody'));
    answer(1002, 'fine');
    expect(await broken).toMatchObject({ code: 'auth' });
    expect(await fine).toBe('fine');
  });

  test('fail when they cannot be sent', async () => {
    const { peer, far } = open();
    const full = new McpxError('overloaded', 'full');
    far.refuse = () => full;
    expect(await failure(peer.request('a', {}, { signal: new AbortController().signal }))).toBe(full);
    expect(peer.pending.ours).toBe(0);
  });

  test('can be answered before send returns', async () => {
    let receiver: Receiver | undefined;
    const peer = createPeer({
      start: (to) => {
        receiver = to;
      },
      send: (message) => receiver?.message({ jsonrpc: '2.0', id: (message as RpcRequest).id, result: 'quick' }),
      close: async () => {},
    });
    expect(await peer.request('a')).toBe('quick');
  });
});

describe('cancelling one of ours', () => {
  test('tells the far side our id, and drops the late answer', async () => {
    const { peer, sent, answer, reports } = open();
    const controller = new AbortController();
    const request = failure(peer.request('a', {}, { signal: controller.signal }));
    controller.abort('the user left');
    expect(await request).toMatchObject({ code: 'cancelled', message: '"a" was cancelled' });
    expect(sent[1]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1001, reason: 'the user left' },
    });
    answer(1001, 'late');
    expect(reports).toHaveLength(1);
    expect(peer.pending.ours).toBe(0);
  });

  test('sends nothing when it was cancelled before', async () => {
    const { peer, sent } = open();
    expect(await failure(peer.request('a', {}, { signal: AbortSignal.abort() }))).toMatchObject({ code: 'cancelled' });
    expect(sent).toEqual([]);
  });

  test('never cancels the handshake', async () => {
    const { peer, sent } = open();
    const controller = new AbortController();
    const request = failure(peer.request('initialize', {}, { signal: controller.signal }));
    controller.abort();
    expect(await request).toMatchObject({ code: 'cancelled' });
    expect(sent).toHaveLength(1);
  });

  test('after the answer does nothing, and leaves no listener', async () => {
    const { peer, sent, answer } = open();
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const request = peer.request('a', {}, { signal: controller.signal });
    answer(1001, 'done');
    await request;
    controller.abort();
    expect(removed).toHaveBeenCalledOnce();
    expect(sent).toHaveLength(1);
  });

  test('survives a far side that cannot be told', async () => {
    const { peer, far } = open();
    const controller = new AbortController();
    const request = failure(peer.request('a', {}, { signal: controller.signal }));
    far.refuse = () => new Error('gone');
    controller.abort();
    expect(await request).toMatchObject({ code: 'cancelled' });
  });
});

describe('the time of one of ours', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('ends after its timeout, and the far side is told', async () => {
    const { peer, sent } = open({ subject: 'server "x"' });
    const request = failure(peer.request('a', {}, { timeout: 1500 }));
    await vi.advanceTimersByTimeAsync(1499);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await request).toMatchObject({ code: 'timeout', message: 'server "x" did not answer "a" within 1500 ms' });
    expect(sent[1]).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: 1001, reason: 'timeout after 1500 ms' },
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is 60 s unless said otherwise', async () => {
    const { peer } = open();
    const request = failure(peer.request('a'));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(peer.pending.ours).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await request).toMatchObject({ message: 'the peer did not answer "a" within 60 s' });
  });

  test('begins again with progress, up to the total', async () => {
    const { peer, notify } = open();
    const heard: Params[] = [];
    const request = failure(
      peer.request('a', {}, { timeout: 1000, totalTimeout: 3000, progress: (params) => heard.push(params) }),
    );
    for (let n = 0; n < 10; n++) {
      await vi.advanceTimersByTimeAsync(900);
      notify('notifications/progress', { progressToken: 1001, progress: n });
    }
    expect(await request).toMatchObject({ code: 'timeout', message: 'the peer did not answer "a" within 3 s' });
    expect(heard).toEqual([{ progress: 0 }, { progress: 1 }, { progress: 2 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('has all the time in the world while the far side waits for an answer of ours, but for its total', async () => {
    const answers = new Map<Id, (answer: unknown) => void>();
    const { peer, ask, answer } = open({
      request: ({ id }) => new Promise((resolve) => answers.set(id, resolve)),
    });
    const asked = async () => 'never asked here';
    const late = failure(peer.request('a', {}, { timeout: 1000, onServerRequest: asked }));
    const other = failure(peer.request('b', {}, { timeout: 1000 }));
    const total = failure(peer.request('c', {}, { timeout: 1000, totalTimeout: 5000, onServerRequest: asked }));
    ask(1);
    ask(2);
    await vi.advanceTimersByTimeAsync(4000);
    expect(await other).toMatchObject({ code: 'timeout' });
    answers.get(1)?.({});
    await vi.advanceTimersByTimeAsync(2000);
    expect(await total).toMatchObject({ code: 'timeout', message: expect.stringContaining('within 5 s') });
    answers.get(2)?.({});
    await vi.advanceTimersByTimeAsync(999);
    expect(peer.pending.ours).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await late).toMatchObject({ code: 'timeout', message: expect.stringContaining('within 1 s') });
    const named = peer.request('d', {}, { timeout: 1000 });
    ask(3);
    answer(1004, 'in time');
    answers.get(3)?.({});
    expect(await named).toBe('in time');
  });

  test('that is not the one whose stream a question came on has none of it', async () => {
    const { peer, message } = open({ request: () => new Promise(() => undefined) });
    const asked = async () => undefined;
    const calls = [1001, 1002].map(() =>
      failure(peer.request('a', {}, { timeout: 1000, totalTimeout: 9000, onServerRequest: asked })),
    );
    message({ jsonrpc: '2.0', id: 1, method: 'm' }, 1002);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await calls[0]).toMatchObject({ code: 'timeout' });
    expect(peer.pending.ours).toBe(1);
  });

  test('has a total of 30 min unless its timeout is larger', async () => {
    const { peer, notify } = open();
    const [short, long] = [1000, 1_900_000].map((timeout) =>
      failure(peer.request('a', {}, { timeout, progress: () => {} })),
    );
    const minute = async (n: number) => {
      for (let s = 0; s < 120 * n; s++) {
        await vi.advanceTimersByTimeAsync(500);
        notify('notifications/progress', { progressToken: 1001, progress: s });
        notify('notifications/progress', { progressToken: 1002, progress: s });
      }
    };
    await minute(29);
    expect(peer.pending.ours).toBe(2);
    await minute(1);
    expect(await short).toMatchObject({ message: 'the peer did not answer "a" within 1800 s' });
    await minute(1);
    expect(peer.pending.ours).toBe(1);
    await minute(1);
    expect(await long).toMatchObject({ message: 'the peer did not answer "a" within 1900 s' });
  });

  test('can be longer than any timer', async () => {
    const { peer, answer } = open();
    const request = peer.request('a', {}, { timeout: Number.POSITIVE_INFINITY });
    await vi.advanceTimersByTimeAsync(10_000_000);
    answer(1001, 'at last');
    expect(await request).toBe('at last');
  });
});

describe('progress', () => {
  test('is asked for with our own token, and given without it', async () => {
    const { peer, sent, notify, answer } = open();
    const heard: Params[] = [];
    const params = { x: 1, _meta: { progressToken: 'theirs', other: true } };
    const request = peer.request('a', params, { progress: (params) => heard.push(params) });
    expect(sent[0]).toMatchObject({ params: { x: 1, _meta: { progressToken: 1001, other: true } } });
    expect(params._meta.progressToken).toBe('theirs');
    notify('notifications/progress', { progressToken: 1001, progress: 0.5, message: 'half' });
    notify('notifications/progress', { progressToken: 'theirs', progress: 1 });
    notify('notifications/progress', { progressToken: 1002, progress: 1 });
    answer(1001, 'done');
    await request;
    notify('notifications/progress', { progressToken: 1001, progress: 1 });
    expect(heard).toEqual([{ progress: 0.5, message: 'half' }]);
  });

  test('that is not wanted is not asked for with a token of somebody else', () => {
    const { peer, sent } = open();
    void peer.request('a', { x: 1, _meta: { progressToken: 'theirs', other: true } });
    void peer.request('b', { _meta: { other: true } });
    expect(sent.map((message) => (message as RpcRequest).params)).toEqual([
      { x: 1, _meta: { other: true } },
      { _meta: { other: true } },
    ]);
  });

  test('that makes a listener fail is reported and hurts nothing', async () => {
    const { peer, notify, answer, reports } = open();
    const request = peer.request(
      'a',
      {},
      {
        progress: () => {
          throw new Error('listener');
        },
      },
    );
    notify('notifications/progress', { progressToken: 1001, progress: 1 });
    answer(1001, 'done');
    expect(await request).toBe('done');
    expect(reports).toEqual(['a handler failed: listener']);
  });
});

describe('their requests', () => {
  test('are answered with what the handler returns, id 0 included', async () => {
    const { ask, sent, peer } = open({ request: async ({ method }) => (method === 'none' ? undefined : { method }) });
    ask(0);
    ask('', 'none');
    expect(peer.pending.theirs).toBe(2);
    await settled();
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 0, result: { method: 'm' } },
      { jsonrpc: '2.0', id: '', result: {} },
    ]);
    expect(peer.pending.theirs).toBe(0);
  });

  test.each([
    [
      'an error of the wire, verbatim',
      () => Promise.reject(new RpcError(-5, 'as is', [1])),
      { code: -5, message: 'as is', data: [1] },
    ],
    [
      'an error of ours',
      () => Promise.reject(new McpxError('not_found', 'no such thing')),
      { code: -32602, message: 'no such thing' },
    ],
    [
      'an error that is thrown at once',
      () => {
        throw new Error('oops');
      },
      { code: -32603, message: 'oops' },
    ],
  ])('are answered with %s', async (_, request, error) => {
    const { ask, sent } = open({ request });
    ask(1);
    await settled();
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
  });

  test('are refused where nobody answers any', async () => {
    const { ask, sent } = open();
    ask(1, 'roots/list');
    await settled();
    expect(sent).toMatchObject([{ id: 1, error: { code: -32601 } }]);
  });

  test('beyond the bound are refused at once, until one of the others is answered', async () => {
    const answers: ((value: unknown) => void)[] = [];
    const request = () => new Promise((resolve) => answers.push(resolve));
    const { peer, sent, ask } = open({ request, maxIncoming: 2 });
    for (const id of [1, 2, 3]) ask(id);
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 3, error: { code: -32000, message: '2 requests are under way already' } },
    ]);
    expect(peer.pending.theirs).toBe(2);
    answers[0]?.({ ok: true });
    await settled();
    ask(4);
    expect([sent.length, peer.pending.theirs]).toEqual([2, 2]);
  });

  test('with an id that is in use are refused', async () => {
    const { ask, sent } = open({ request: () => new Promise(() => {}) });
    ask(1);
    ask(1);
    expect(sent).toMatchObject([{ id: 1, error: { code: -32600, message: 'request id 1 is in use' } }]);
  });

  test('that were cancelled are aborted, and get no answer', async () => {
    const signals: CancelSignal[] = [];
    const { ask, notify, sent, peer } = open({
      request: (_, { signal }) =>
        new Promise((resolve) => {
          signals.push(signal);
          signal.addEventListener('abort', () => resolve('too late'));
        }),
    });
    ask(0);
    ask('0');
    notify('notifications/cancelled', { requestId: 5 });
    notify('notifications/cancelled', { requestId: {} });
    notify('notifications/cancelled', { requestId: 0, reason: 'no need' });
    await settled();
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(signals[0]?.reason).toBe('no need');
    expect(sent).toEqual([]);
    expect(peer.pending.theirs).toBe(1);
  });

  test('that were cancelled before the signal was looked at are aborted too', async () => {
    let incoming: Incoming | undefined;
    const { ask, notify } = open({
      request: (_, given) => {
        incoming = given;
        return new Promise(() => {});
      },
    });
    ask(1);
    notify('notifications/cancelled', { requestId: 1 });
    expect(incoming?.signal.aborted).toBe(true);
  });

  test('whose id is used again after a cancel do not get the answer of the first', async () => {
    const resolvers: ((value: string) => void)[] = [];
    const { ask, notify, sent } = open({ request: () => new Promise((resolve) => resolvers.push(resolve)) });
    ask(1);
    notify('notifications/cancelled', { requestId: 1 });
    ask(1);
    resolvers[0]?.('first');
    await settled();
    expect(sent).toEqual([]);
    resolvers[1]?.('second');
    await settled();
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, result: 'second' }]);
  });

  test('report progress under their own token, until they are answered', async () => {
    let incoming: Incoming | undefined;
    const { ask, sent } = open({
      request: async (_, given) => {
        incoming = given;
        given.progress?.({ progress: 1, progressToken: 'mine' });
        return {};
      },
    });
    ask(1, 'm', { _meta: { progressToken: 0 } });
    await settled();
    incoming?.progress?.({ progress: 2 });
    expect(sent).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken: 0 } },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
    ask(2);
    expect(incoming?.progress).toBeUndefined();
  });

  test('know on whose answer stream they came', () => {
    const origins: (Id | undefined)[] = [];
    const { message } = open({ request: async (_, { origin }) => origins.push(origin) });
    message({ jsonrpc: '2.0', id: 1, method: 'm' }, 7);
    message({ jsonrpc: '2.0', id: 2, method: 'm' });
    expect(origins).toEqual([7, undefined]);
  });

  test('belong to the request of ours whose stream they came on, else to the only one that takes questions', () => {
    const abouts: unknown[] = [];
    const { peer, message, sent } = open({
      request: async (_, { attribution }) => abouts.push(attribution),
      notification: (_, about) => abouts.push(about),
    });
    let id = 0;
    const said = () => {
      message({ jsonrpc: '2.0', id: id++, method: 'm' });
      message({ jsonrpc: '2.0', method: 'n' });
      return abouts.splice(0);
    };
    void peer.request('list');
    expect(said()).toEqual([undefined, undefined]);
    const first = { onServerRequest: async () => 1 };
    const second = { onServerRequest: async () => 2 };
    void peer.request('call', {}, first);
    expect(said()).toEqual([first, first]);
    void peer.request('call', {}, second);
    const ambiguous = { ambiguous: true, onNotification: expect.any(Function) };
    expect(said()).toEqual([ambiguous, ambiguous]);
    const ids = sent.filter((one) => 'method' in one).map((one) => ('id' in one ? one.id : undefined));
    message({ jsonrpc: '2.0', method: 'n' }, ids[2] ?? 0);
    message({ jsonrpc: '2.0', method: 'n' }, 99);
    expect(abouts).toEqual([second, undefined]);
  });

  test('may belong to any request of one party, and to none where there are several', () => {
    const abouts: unknown[] = [];
    const { peer, message } = open({ notification: (_, about) => abouts.push(about) });
    const ask = (party: string) => {
      const options = { onServerRequest: async () => party, conversation: party };
      void peer.request('call', {}, options);
      message({ jsonrpc: '2.0', method: 'n' });
      return options;
    };
    expect(['one', 'one', 'two', 'one'].map(ask).slice(0, 2)).toEqual(abouts.slice(0, 2));
    expect(abouts.slice(2)).toMatchObject([{ ambiguous: true }, { ambiguous: true }]);
  });

  test('that may belong to requests of several clients are heard by each of those once', () => {
    const heard: string[] = [];
    const { peer, message } = open({ notification: (notification, about) => about?.onNotification?.(notification) });
    const [one, two] = [{ key: 'one' }, { key: 'two' }];
    const call = (name: string, client?: { key: string }) =>
      void peer.request(
        'call',
        {},
        { onServerRequest: async () => name, onNotification: () => heard.push(name), client },
      );
    void peer.request(
      'call',
      {},
      { onServerRequest: async () => 'not wanted', onNotification: () => false, client: one },
    );
    call('first of one', one);
    call('second of one', one);
    call('only of two', two);
    call('of nobody');
    void peer.request('list', {}, { client: { key: 'three' } });
    message({ jsonrpc: '2.0', method: 'n' });
    expect(heard).toEqual(['first of one', 'only of two', 'of nobody']);
  });

  test('that may belong to requests of several principals are heard by nobody', () => {
    const heard: string[] = [];
    const abouts: unknown[] = [];
    const { peer, message, sent } = open({
      notification: (notification, about) => {
        abouts.push(about);
        about?.onNotification?.(notification);
      },
    });
    const call = (name: string, principal: string) => {
      const options = {
        onServerRequest: async () => name,
        onNotification: () => heard.push(name),
        conversation: name,
        client: { key: name, principal },
      };
      void peer.request('call', {}, options);
    };
    call('a1', 'a');
    call('a2', 'a');
    message({ jsonrpc: '2.0', method: 'n' });
    expect(heard.splice(0)).toEqual(['a1', 'a2']);
    call('b', 'b');
    message({ jsonrpc: '2.0', method: 'n' });
    expect(heard).toEqual([]);
    expect(abouts.at(-1)).toEqual({ ambiguous: true });
    const last = sent.at(-1);
    message({ jsonrpc: '2.0', method: 'n' }, last && 'id' in last && last.id !== null ? last.id : undefined);
    expect(heard).toEqual(['b']);
  });

  test('whose answer cannot be written get an error instead', async () => {
    const { ask, sent, far } = open({ request: async () => 'deep' });
    far.refuse = (message) => ('result' in message ? new RangeError('too deep') : undefined);
    ask(1);
    await settled();
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'too deep' } }]);
  });

  test('that cannot be answered at all hurt nothing', async () => {
    const { ask, sent, far, reports } = open({ request: async () => ({}) });
    far.refuse = () => new McpxError('overloaded', 'nobody reads');
    ask(1);
    await settled();
    expect(sent).toEqual([]);
    expect(reports).toEqual(['could not be sent: nobody reads']);
  });
});

describe('the end', () => {
  test('fails everything in the same tick, aborts what they asked, and is told once', async () => {
    const closed: unknown[] = [];
    let signal: CancelSignal | undefined;
    const world = open({
      request: (_, incoming) => {
        signal = incoming.signal;
        return new Promise(() => {});
      },
      closed: (error) => closed.push(error),
    });
    const requests = [failure(world.peer.request('a')), failure(world.peer.request('b'))];
    world.ask(1);
    const why = new McpxError('unreachable', 'server "x" exited with code 1');
    world.closed(why);
    expect(world.peer.pending).toEqual({ ours: 0, theirs: 0 });
    world.closed(new Error('again'));
    expect(await Promise.all(requests)).toEqual([why, why]);
    expect(signal?.aborted).toBe(true);
    expect(closed).toEqual([why]);
    expect(await failure(world.peer.request('c'))).toBe(why);
    world.ask(2);
    world.peer.notify('n');
    expect(world.sent).toHaveLength(2);
  });

  test('by our own hand fails what is open and closes the channel', async () => {
    const closed: unknown[] = [];
    const { peer, far } = open({ subject: 'server "x"', closed: (error) => closed.push(error) });
    const request = failure(peer.request('a'));
    await peer.close();
    expect(await request).toMatchObject({ code: 'unreachable', message: 'the connection to server "x" is closed' });
    expect([far.closes, closed]).toEqual([1, [undefined]]);
  });

  test('by an error of the system is told as unreachable, with its cause', async () => {
    const { peer, closed } = open();
    const request = failure(peer.request('a'));
    const cause = new Error('EIO');
    closed(cause);
    expect(await request).toMatchObject({
      code: 'unreachable',
      message: 'the connection to the peer is closed: EIO',
      cause,
    });
  });
});

test('what a handler throws never leaves the peer', async () => {
  const boom = () => {
    throw new Error('boom');
  };
  const { notify, answer, closed, sent, peer, far } = open({ notification: boom, invalid: boom, closed: boom });
  expect(() => notify('n', {})).not.toThrow();
  expect(() => answer(5, 1)).not.toThrow();
  peer.notify('hello', { a: 1 });
  far.refuse = () => new Error('full');
  expect(() => peer.notify('hello')).not.toThrow();
  expect(() => closed()).not.toThrow();
  expect(sent).toEqual([{ jsonrpc: '2.0', method: 'hello', params: { a: 1 } }]);
});
