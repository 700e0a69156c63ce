/** Several calls in one `exec`: order, references, failures, progress, cancellation. */
import { describe, expect, test } from 'vitest';
import type { CancelSignal } from '../../../src/cancel-signal.ts';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { Exchange } from '../../../src/front/front-interface.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const ID_TOOL = {
  name: 'get',
  inputSchema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] },
};

const READ = { name: 'read', annotations: { readOnlyHint: true } };

type Answer = NonNullable<Script['answer']>;

function open(answer: Answer, limits: Partial<typeof DEFAULTS.limits> = {}) {
  const settings = { ...DEFAULTS, limits: { ...DEFAULTS.limits, ...limits } };
  const world = createWorld({ s: { tools: [{ name: 'list' }, ID_TOOL, { name: 'x' }, READ], answer } }, { settings });
  const front = openFront('compact', world.deps, { key: 'k', notify: () => undefined });
  const batch = async (calls: unknown, exchange: Partial<Exchange> = {}, more: Params = {}) =>
    (await front.request(
      { method: 'tools/call', params: { name: 'exec', arguments: { calls, ...more } } },
      { signal: new AbortController().signal, ...exchange },
    )) as { content: { type: string; text: string }[]; isError?: boolean; structuredContent?: unknown };
  const said = async (calls: unknown, more?: Params) => (await batch(calls, {}, more)).content.map(({ text }) => text);
  return { ...world, front, batch, said };
}

const answerBy =
  (answers: Record<string, (args: Params) => unknown>): Answer =>
  (_, params = {}) =>
    answers[String(params.name)]?.(params.arguments as Params);

const LIST = { server_name: 's', tool_name: 'list' };
const R = { tool: 's.read' };
const structured = (value: unknown) => ({ structuredContent: value });

describe('a batch', () => {
  test('answers every call under its number, in the order of the calls', async () => {
    const { batch } = open(answerBy({ list: () => structured({ a: 1 }), x: () => ({ content: [] }) }));
    expect(await batch([LIST, { method: 's.x' }, LIST])).toEqual({
      content: [
        { type: 'text', text: '[0] s.list\n{"a":1}\n' },
        { type: 'text', text: '[1] s.x\n' },
        { type: 'text', text: '[2] s.list\n{"a":1}\n' },
      ],
      structuredContent: { results: [{ structuredContent: { a: 1 } }, { text: '' }, { structuredContent: { a: 1 } }] },
    });
  });

  test('members that are null are not used, as a model sends them that follows a strict schema', async () => {
    const sent: unknown[] = [];
    const { front, batch } = open((_, params = {}) => {
      sent.push(params.arguments);
      return { content: [{ type: 'text', text: 'done' }] };
    });
    const unused = { method: null, select: null, calls: null };
    const one = { name: 'exec', arguments: { ...LIST, arguments: { note: null }, ...unused } };
    const answer = await front.request({ method: 'tools/call', params: one }, { signal: new AbortController().signal });
    expect(answer).toMatchObject({ content: [{ text: 'done' }] });
    expect((await batch([{ ...LIST, arguments: null, select: null }])).content).toMatchObject([
      { text: '[0] s.list\ndone\n' },
    ]);
    expect(sent).toEqual([{ note: null }, {}]);
  });

  test('an answer that is only text is in the structured part too', async () => {
    const { batch } = open(
      answerBy({
        list: () => structured({ a: 1 }),
        x: () => ({ content: [{ type: 'text', text: 'plain words' }] }),
      }),
    );
    expect((await batch([LIST, { method: 's.x' }])).structuredContent).toEqual({
      results: [{ structuredContent: { a: 1 } }, { text: 'plain words' }],
    });
  });

  test('a text that a server wrapped is referred to by its key, and what is in it by its path', async () => {
    const wrapped = JSON.stringify({ items: [{ id: 7 }] });
    const list = () => ({ content: [{ type: 'text', text: wrapped }], structuredContent: { content: wrapped } });
    const { batch, sent } = open(answerBy({ list, x: () => ({ content: [] }) }));
    const call = (from: string) => ({ method: 's.x', arguments: { v: { $from: from } } });
    const { content } = await batch([LIST, call('0.items[0].id'), call('0.content'), call('0.other')]);
    const given = sent.map(({ params }) => (params?.arguments as Params | undefined)?.v);
    expect(given.filter((value) => value !== undefined)).toEqual([7, wrapped]);
    expect(content.at(-1)?.text).toContain('"0" has the keys items');
  });

  test('a value of an earlier result is filled in, also deep inside, and healed like any other', async () => {
    const { batch, sent } = open(
      answerBy({
        list: () => structured({ items: [{ id: '7', odd: { 'a.b': [1, 2] } }] }),
        x: () => ({ content: [] }),
      }),
    );
    await batch([
      LIST,
      { ...LIST, tool_name: 'get', arguments: { id: { $from: '0.items[0].id' } } },
      {
        ...LIST,
        tool_name: 'x',
        arguments: { deep: [{ last: { $from: '0.items[-1].odd["a.b"][1]' } }], all: { $from: '0' } },
      },
      { ...LIST, tool_name: 'get', arguments: '{"id": {"$from": "0.items[0].id"}}' },
    ]);
    expect(sent.map(({ params }) => params?.arguments)).toEqual(
      expect.arrayContaining([
        { id: 7 },
        { deep: [{ last: 2 }], all: { items: [{ id: '7', odd: { 'a.b': [1, 2] } }] } },
      ]),
    );
    expect(sent).toHaveLength(4);
  });

  test('text that is JSON is referred to as JSON, other text as a whole', async () => {
    const { batch, sent } = open(
      answerBy({
        list: () => ({ content: [{ type: 'text', text: '{"id": 3}' }] }),
        x: () => ({ content: [{ type: 'text', text: 'plain' }] }),
        get: () => ({ content: [] }),
      }),
    );
    await batch([
      LIST,
      { ...LIST, tool_name: 'x' },
      { ...LIST, tool_name: 'get', arguments: { id: { $from: '0.id' }, why: { $from: '1' } } },
    ]);
    expect(sent.at(-1)?.params?.arguments).toEqual({ id: 3, why: 'plain' });
  });

  test.each<[string, Params[], Params, number]>([
    ['calls run one after the other', [LIST, LIST, LIST], {}, 1],
    ['calls that only read run at the same time', [LIST, R, R, R, LIST], {}, 3],
    [
      'a call that refers to one of them waits for it',
      [LIST, R, R, { ...R, arguments: { a: { $from: '2.id' } } }],
      {},
      2,
    ],
    ['"parallel" runs all of them at the same time', [LIST, R, LIST], { parallel: true }, 3],
    ['a batch does not use up the share of its client', Array.from({ length: 30 }, () => R), {}, 8],
  ])('%s', async (_, calls, more, expected) => {
    let running = 0;
    let most = 0;
    const { batch, sent } = open(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return structured({ id: 1 });
    });
    await batch(calls, {}, more);
    expect([most, sent.length]).toEqual([expected, calls.length]);
  });

  test('a failure stops the calls after it, and says so in their slots', async () => {
    const { batch, sent } = open(
      answerBy({
        list: () => ({ isError: true, content: [{ type: 'text', text: 'disk full' }] }),
        x: () => structured({}),
      }),
    );
    const result = await batch([{ method: 's.x' }, LIST, { method: 's.x' }, R]);
    expect(result.content.map(({ text }) => text)).toEqual([
      '[0] s.x\n{}\n',
      '[1] s.list failed\ndisk full\n',
      '[2] s.x not run: call 1 failed; "onError": "continue" runs the rest\n',
      '[3] s.read not run: call 1 failed\n',
    ]);
    expect(result).toMatchObject({
      structuredContent: { results: [{}, { isError: true }, { isError: true, text: 'not run: call 1 failed' }, {}] },
    });
    expect(result.isError).toBeUndefined();
    expect(sent).toHaveLength(2);
  });

  test('with "onError": "continue" one that fails hurts only those that refer to it', async () => {
    const { batch, sent } = open(
      answerBy({
        list: () => ({ isError: true, content: [{ type: 'text', text: 'disk full' }] }),
        x: () => structured({ ok: 1 }),
      }),
    );
    const { content, isError } = await batch(
      [
        LIST,
        { ...LIST, tool_name: 'x', arguments: { a: { $from: '0.id' } } },
        { ...LIST, tool_name: 'x' },
        { ...LIST, tool_name: 'get', arguments: {} },
        { server_name: 's', tool_name: 'nope' },
      ],
      {},
      { onError: 'continue' },
    );
    expect(content.map(({ text }) => text.split('\n').slice(0, 2).join(' '))).toEqual([
      '[0] s.list failed disk full',
      '[1] s.x failed error: not run: it refers to call 0, which failed',
      '[2] s.x {"ok":1}',
      '[3] s.get failed error: the arguments do not fit "s.get"',
      expect.stringContaining('[4] s.nope failed error: server "s" has no tool "nope"'),
    ]);
    expect(isError).toBeUndefined();
    expect(sent).toHaveLength(2);
  });

  test('is an error as a whole only when nothing worked', async () => {
    const { batch } = open(() => ({ isError: true, content: [] }));
    expect((await batch([LIST, LIST])).isError).toBe(true);
  });

  test.each([
    ['1.id', 'must name an earlier call: this is call 1'],
    ['5.id', 'must name an earlier call'],
    ['items', 'is no reference'],
    ['0.items[', 'is no reference'],
    ['0..x', 'is no reference'],
    ['0.items[9].id', 'there is nothing at "$from" "0.items[9].id"; "0.items" is a list of 1'],
    ['0.nope', '"0" has the keys items'],
    ['0.items[0].id.more', '"0.items[0].id" is a number'],
    ['0.__proto__', 'there is nothing at'],
  ])('the reference %j is answered with what is wrong with it', async ($from, expected) => {
    const { said, sent } = open(() => structured({ items: [{ id: 1 }] }));
    expect((await said([LIST, { ...LIST, arguments: { a: { $from } } }]))[1]).toContain(expected);
    expect(sent).toHaveLength(1);
  });

  test('an object with more than "$from" in it is data', async () => {
    const { batch, sent } = open(() => structured({}));
    await batch([LIST, { ...LIST, arguments: { a: { $from: '0', $to: '1' } } }]);
    expect(sent[1]?.params?.arguments).toEqual({ a: { $from: '0', $to: '1' } });
  });

  test.each<[unknown, string]>([
    [[], '"calls" has 0 calls: there must be 1 to 100'],
    [Array.from({ length: 101 }, () => LIST), '"calls" has 101 calls'],
    ['nonsense', '"calls" must be a list of calls'],
    [[5], '"calls" must be a list of calls'],
    [[LIST, { calls: [LIST] }], 'call 1 is itself a batch'],
  ])('%.60j is refused as a whole', async (calls, expected) => {
    const { batch, sent } = open(() => structured({}));
    const { content, isError } = await batch(calls);
    expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining(expected)]);
    expect(sent).toEqual([]);
  });

  test('calls may arrive as JSON text, and select works in each', async () => {
    const { said } = open(() => structured({ rows: [{ id: 4 }] }));
    expect(await said(JSON.stringify([{ ...LIST, select: 'rows[0].id' }]))).toEqual(['[0] s.list\nresult: 4\n']);
  });

  test('a tool beside calls is not guessed about', async () => {
    const { deps } = open(() => structured({}));
    const front = openFront('compact', deps, { key: 'k', notify: () => undefined });
    const params = { name: 'exec', arguments: { ...LIST, calls: [LIST] } };
    const signal = new AbortController().signal;
    expect(await front.request({ method: 'tools/call', params }, { signal })).toMatchObject({ isError: true });
  });

  test('images of every call are kept, and each has its share of the room for text', async () => {
    const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' };
    const { batch } = open(() => ({ content: [{ type: 'text', text: 'x'.repeat(3000) }, image] }), {
      resultChars: 4000,
    });
    const { content } = await batch([LIST, LIST]);
    expect(content.filter(({ type }) => type === 'image')).toHaveLength(2);
    expect(content.filter(({ type }) => type === 'text').map(({ text }) => text.length < 2100)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test('progress of the calls is progress of the whole, and only grows', async () => {
    const told: Params[] = [];
    const { batch } = open((_, __, options) => {
      options.progress?.({ progress: 5, total: 10, message: 'half' });
      options.progress?.({ progress: 1 });
      return structured({});
    });
    await batch([LIST, LIST], { progress: (params) => told.push(params) });
    const values = told.map(({ progress }) => Number(progress));
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(new Set(values).size).toBe(values.length);
    expect(told.at(-1)).toEqual({ progress: 2, total: 2 });
    expect(told).toContainEqual(expect.objectContaining({ message: '[1] half', total: 2 }));
  });

  test('giving up reaches every call', async () => {
    const stop = new AbortController();
    const signals: (CancelSignal | undefined)[] = [];
    const { batch } = open((_, __, options) => {
      signals.push(options.signal);
      return structured({});
    });
    await batch([R, R], { signal: stop.signal });
    expect(signals).toEqual([stop.signal, stop.signal]);
  });
});
