/** The one subscription that stands for subscribing to many things. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { RpcError } from '../../../src/errors.ts';
import { createListening } from '../../../src/upstream/era/listen-stream.ts';
import type { Id, Message } from '../../../src/wire/message.ts';
import { cleanup } from '../world.ts';

beforeEach(() => {
  vi.useFakeTimers();
  cleanup(() => vi.useRealTimers());
});

const ID = 'io.modelcontextprotocol/subscriptionId';

function world() {
  const sent: any[] = [];
  const answers: [Id, unknown][] = [];
  const news: unknown[] = [];
  let broken = false;
  const listening = createListening({
    send(message) {
      if (broken) throw new Error('gone');
      sent.push(message);
    },
    answer: (id, outcome) => answers.push([id, 'error' in outcome ? outcome.error.message : 'ok']),
    news: (message) => news.push(message),
  });
  cleanup(() => listening.stop());
  const tell = (message: object, origin?: Id) => listening.concerns({ jsonrpc: '2.0', ...message } as Message, origin);
  return {
    listening,
    answers,
    news,
    tell,
    sent: () => sent.splice(0).map(({ id, method, params }) => [method, id ?? params.requestId, params.notifications]),
    acknowledge: (id: string, notifications: object = {}) =>
      tell({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta: { [ID]: id } } }),
    breakOff: () => {
      broken = true;
    },
  };
}

const settle = () => vi.advanceTimersByTimeAsync(0);
const uri = (n: number) => `test://${n}`;

describe('a subscription to resources', () => {
  test('of several at once is one, which takes the place of the one before as soon as the server says so', async () => {
    const { listening, sent, answers, acknowledge } = world();
    listening.lists({ tools: { listChanged: true } });
    acknowledge('mcpx-listen-1');
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-1', { toolsListChanged: true }]]);
    listening.subscribe(1, uri(1));
    listening.subscribe(2, uri(2));
    await settle();
    const both = { toolsListChanged: true, resourceSubscriptions: [uri(1), uri(2)] };
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-2', both]]);
    expect(answers).toEqual([]);
    acknowledge('mcpx-listen-2', { resourceSubscriptions: [uri(1)] });
    expect(sent()).toEqual([['notifications/cancelled', 'mcpx-listen-1', undefined]]);
    expect(answers).toEqual([
      [1, 'ok'],
      [2, 'this resource cannot be subscribed to'],
    ]);
    listening.unsubscribe(3, uri(1));
    listening.unsubscribe(4, 'test://never');
    await settle();
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-3', { toolsListChanged: true }]]);
    expect(answers.slice(2)).toEqual([
      [3, 'ok'],
      [4, 'ok'],
    ]);
  });

  test('of several of which one is refused in words leaves out that one only', async () => {
    const { listening, sent, answers, tell, acknowledge } = world();
    listening.lists({ tools: { listChanged: true } });
    for (const n of [1, 2, 3]) listening.subscribe(n, uri(n));
    await settle();
    const refuse = (id: string) => tell({ id, error: { code: -32602, message: 'unknown resource' } });
    sent();
    refuse('mcpx-listen-2');
    const alone = (...uris: string[]) => ({ toolsListChanged: true, resourceSubscriptions: uris });
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-3', alone(uri(1))]]);
    acknowledge('mcpx-listen-3', alone(uri(1)));
    expect(sent().at(-1)).toEqual(['subscriptions/listen', 'mcpx-listen-4', alone(uri(1), uri(2))]);
    refuse('mcpx-listen-4');
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-5', alone(uri(1), uri(3))]]);
    acknowledge('mcpx-listen-5', alone(uri(1), uri(3)));
    expect(answers).toEqual([
      [1, 'ok'],
      [2, 'unknown resource'],
      [3, 'ok'],
    ]);
  });

  test('that is refused takes the lists of the server with it only where those are refused too', async () => {
    const { listening, sent, answers, tell } = world();
    listening.lists({ tools: { listChanged: true } });
    listening.subscribe(1, uri(1));
    await settle();
    sent();
    const refuse = (id: string) => tell({ id, error: { code: -32602, message: 'unknown resource' } });
    refuse('mcpx-listen-2');
    expect(answers).toEqual([[1, 'unknown resource']]);
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-3', { toolsListChanged: true }]]);
    refuse('mcpx-listen-3');
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent()).toEqual([]);
  });

  test('that breaks off while others wait for their turn refuses them all', async () => {
    const { listening, answers, tell, breakOff } = world();
    for (const n of [1, 2]) listening.subscribe(n, uri(n));
    await settle();
    breakOff();
    tell({ id: 'mcpx-listen-1', error: { code: -32602, message: 'unknown resource' } });
    expect(answers.sort()).toEqual([
      [1, 'gone'],
      [2, 'gone'],
    ]);
  });

  test('that nobody wants any more is called off', async () => {
    const { listening, sent, acknowledge } = world();
    listening.subscribe(1, uri(1));
    await settle();
    acknowledge('mcpx-listen-1', { resourceSubscriptions: [uri(1)] });
    listening.unsubscribe(2, uri(1));
    await settle();
    expect(sent().slice(1)).toEqual([['notifications/cancelled', 'mcpx-listen-1', undefined]]);
  });

  test('that follows before the last was acknowledged answers both', async () => {
    const { listening, sent, answers, acknowledge } = world();
    listening.subscribe(1, uri(1));
    await settle();
    listening.subscribe(2, uri(2));
    await settle();
    expect(sent().map(([method, id]) => [method, id])).toEqual([
      ['subscriptions/listen', 'mcpx-listen-1'],
      ['notifications/cancelled', 'mcpx-listen-1'],
      ['subscriptions/listen', 'mcpx-listen-2'],
    ]);
    acknowledge('mcpx-listen-1', { resourceSubscriptions: [uri(1)] });
    expect(answers).toEqual([]);
    acknowledge('mcpx-listen-2', { resourceSubscriptions: [uri(1), uri(2)] });
    expect(answers.map(([id]) => id)).toEqual([1, 2]);
  });

  test.each<[string, (one: ReturnType<typeof world>) => void, string]>([
    ['the server refuses', ({ tell }) => tell({ id: 'mcpx-listen-1', error: { code: -32602, message: 'no' } }), 'no'],
    ['its request fails', ({ listening }) => listening.failed('mcpx-listen-1', new Error('cut')), 'cut'],
    [
      'the server ends at once',
      ({ tell }) => tell({ id: 'mcpx-listen-1', result: {} }),
      'the server ended the subscription',
    ],
  ])('fails when %s', async (_, end, message) => {
    const one = world();
    one.listening.subscribe(1, uri(1));
    await settle();
    end(one);
    expect(one.answers).toEqual([[1, message]]);
  });

  test('fails when nothing can be sent', async () => {
    const { listening, answers, breakOff } = world();
    breakOff();
    listening.subscribe(1, uri(1));
    await settle();
    expect(answers).toEqual([[1, 'gone']]);
  });
});

describe('what comes', () => {
  test('with the subscription is news, without the mark of this hop; with an older one it is nothing', async () => {
    const { listening, news, tell, acknowledge } = world();
    listening.lists({ tools: { listChanged: true } });
    const method = 'notifications/tools/list_changed';
    acknowledge('mcpx-listen-1');
    expect(tell({ method, params: { _meta: { [ID]: 'mcpx-listen-1', kept: 1 } } })).toBe(true);
    expect(tell({ method }, 'mcpx-listen-1')).toBe(true);
    expect(news).toEqual([
      { jsonrpc: '2.0', method, params: { _meta: { kept: 1 } } },
      { jsonrpc: '2.0', method },
    ]);
    listening.subscribe(1, uri(1));
    await settle();
    acknowledge('mcpx-listen-2', { resourceSubscriptions: [uri(1)] });
    expect(tell({ method, params: { _meta: { [ID]: 'mcpx-listen-1' } } })).toBe(true);
    expect(tell({ id: 'mcpx-listen-1', result: {} })).toBe(true);
    expect(news).toHaveLength(2);
  });

  test('from elsewhere is for others', () => {
    const { tell, listening } = world();
    expect(tell({ method: 'notifications/message', params: { _meta: { [ID]: 7 } } })).toBe(false);
    expect(tell({ method: 'notifications/progress' }, 1001)).toBe(false);
    expect(tell({ id: 1001, result: {} })).toBe(false);
    expect(listening.failed(1001, new Error('x'))).toBe(false);
  });
});

describe('a subscription that ends', () => {
  test('is asked for again, later each time, until it brings something', async () => {
    const { listening, sent, tell, acknowledge } = world();
    listening.lists({ prompts: { listChanged: true } });
    for (const wait of [1000, 2000, 4000]) {
      const [[, id]] = sent() as [[string, string]];
      tell({ method: 'notifications/cancelled', params: { requestId: id } });
      await vi.advanceTimersByTimeAsync(wait - 1);
      expect(sent()).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
    }
    const [[, id]] = sent() as [[string, string]];
    acknowledge(id);
    tell({ id, result: {} });
    await vi.advanceTimersByTimeAsync(1000);
    expect(sent()).toHaveLength(1);
  });

  test.each<[string, (one: ReturnType<typeof world>, id: string) => void]>([
    ['with its result', ({ tell }, id) => tell({ id, result: {} })],
    ['because its request fails', ({ listening }, id) => listening.failed(id, new Error('cut'))],
    ['with an error', ({ tell }, id) => tell({ id, error: { code: -32000, message: 'shutting down' } })],
    [
      'because it is called off',
      ({ tell }, id) => tell({ method: 'notifications/cancelled', params: { requestId: id } }),
    ],
  ])('%s after it was acknowledged is asked for again, with the resources of everybody', async (_, end) => {
    const one = world();
    one.listening.lists({ resources: { listChanged: true } });
    for (const n of [1, 2]) one.listening.subscribe(n, uri(n));
    await settle();
    const all = { resourcesListChanged: true, resourceSubscriptions: [uri(1), uri(2)] };
    one.acknowledge('mcpx-listen-2', all);
    const answers = [...one.answers];
    one.sent();
    end(one, 'mcpx-listen-2');
    await vi.advanceTimersByTimeAsync(1000);
    expect(one.sent()).toEqual([['subscriptions/listen', 'mcpx-listen-3', all]]);
    one.acknowledge('mcpx-listen-3', all);
    expect(one.answers).toEqual(answers);
  });

  test('and is then refused is asked for again later, for what was granted once', async () => {
    const { listening, sent, tell, acknowledge } = world();
    listening.subscribe(1, uri(1));
    await settle();
    acknowledge('mcpx-listen-1', { resourceSubscriptions: [uri(1)] });
    tell({ id: 'mcpx-listen-1', result: {} });
    await vi.advanceTimersByTimeAsync(1000);
    sent();
    tell({ id: 'mcpx-listen-2', error: { code: -32000, message: 'starting' } });
    await vi.advanceTimersByTimeAsync(2000);
    expect(sent()).toEqual([['subscriptions/listen', 'mcpx-listen-3', { resourceSubscriptions: [uri(1)] }]]);
  });

  test('while another is about to take its place refuses nobody', async () => {
    const { listening, sent, answers, tell, acknowledge } = world();
    listening.subscribe(1, uri(1));
    await settle();
    acknowledge('mcpx-listen-1', { resourceSubscriptions: [uri(1)] });
    for (const n of [2, 3]) listening.subscribe(n, uri(n));
    await settle();
    tell({ id: 'mcpx-listen-2', error: { code: -32602, message: 'unknown resource' } });
    tell({ id: 'mcpx-listen-1', result: {} });
    acknowledge('mcpx-listen-3', { resourceSubscriptions: [uri(1), uri(2)] });
    sent();
    acknowledge('mcpx-listen-4', { resourceSubscriptions: [uri(1), uri(2), uri(3)] });
    expect(answers).toEqual([
      [1, 'ok'],
      [2, 'ok'],
      [3, 'ok'],
    ]);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent().filter(([method]) => method === 'subscriptions/listen')).toEqual([]);
  });

  test('with a refusal, or after the end, is not asked for again', async () => {
    const { listening, sent } = world();
    listening.lists({ prompts: { listChanged: true } });
    listening.failed('mcpx-listen-1', new RpcError(-32601, 'no'));
    await vi.advanceTimersByTimeAsync(100_000);
    listening.stop();
    listening.subscribe(1, uri(1));
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent()).toHaveLength(1);
  });
});
