import { PassThrough, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Message } from '../../src/wire/message.ts';
import type { Receiver } from '../../src/wire/peer.ts';
import { createStreamChannel, type StreamChannelOptions } from '../../src/wire/stream.ts';
import { stopClock } from '../setup/clock.ts';
import { until } from '../setup/until.ts';

const note = (n: number): Message => ({ jsonrpc: '2.0', method: 'n', params: { n } });
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A channel whose far side is this test: what it heard, what was written, in which writes. */
function open(more: Partial<StreamChannelOptions> = {}) {
  const input = new PassThrough();
  const writes: string[] = [];
  const held: (() => void)[] = [];
  const far = { reading: true };
  const output = new Writable({
    decodeStrings: false,
    write(text, _, done) {
      writes.push(String(text));
      if (far.reading) done();
      else held.push(done);
    },
  });
  const heard: unknown[] = [];
  const closed: (Error | undefined)[] = [];
  const receiver: Receiver = {
    message: (message) => heard.push(message),
    invalid: (reason) => heard.push(reason),
    failed: (id, error) => heard.push([id, error.message]),
    closed: (error) => closed.push(error),
  };
  const channel = createStreamChannel({ input, output, ...more });
  channel.start(receiver);
  const release = () => {
    far.reading = true;
    for (const done of held.splice(0)) done();
  };
  return { channel, input, output, writes, heard, closed, far, release };
}

describe('a channel over streams', () => {
  test('writes everything of one tick in one piece', async () => {
    const { channel, writes } = open();
    for (let n = 0; n < 3; n++) channel.send(note(n));
    expect(writes).toEqual([]);
    await tick();
    expect(writes).toEqual([[0, 1, 2].map((n) => `${JSON.stringify(note(n))}\n`).join('')]);
    channel.send(note(3));
    await tick();
    expect(writes).toHaveLength(2);
  });

  test('delivers messages and reports', async () => {
    const { input, heard } = open();
    input.write(`${JSON.stringify(note(1))}\nnoise\n`);
    await tick();
    expect(heard).toEqual([note(1), 'not JSON: "noise"']);
  });

  test('answers in the framing that the far side opened with', async () => {
    const { channel, input, writes } = open();
    const json = JSON.stringify(note(1));
    input.write(`Content-Length: ${json.length}\r\n\r\n${json}`);
    await tick();
    channel.send(note(2));
    await tick();
    expect(writes).toEqual([`Content-Length: ${json.length}\r\n\r\n${JSON.stringify(note(2))}`]);
  });

  test('writes the framing that it is told to, whatever it reads', async () => {
    const { channel, writes } = open({ framing: 'content-length' });
    channel.send(note(1));
    await tick();
    expect(writes[0]).toMatch(/^Content-Length: \d+\r\n\r\n\{/);
  });

  test('answers garbage in kind where that is wanted, and never an answer', async () => {
    const { input, writes } = open({ answerInvalid: true });
    input.write('{nope\n{"jsonrpc":"2.0","id":7,"method":5}\n{"jsonrpc":"2.0","id":8}\n[]\n');
    await tick();
    await tick();
    const answers = writes
      .join('')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(answers.map(({ id, error }) => [id, error.code])).toEqual([
      [null, -32700],
      [7, -32600],
      [null, -32600],
    ]);
  });

  test('an answer that cannot be read fails the request it was for', async () => {
    const { input, heard } = open({ maxBytes: 200 });
    input.write(`${JSON.stringify({ result: 'x'.repeat(300), jsonrpc: '2.0', id: 5 })}\n{"id":6,"result":1}\n`);
    await tick();
    expect(heard).toEqual([
      'a message is over the limit of 200 bytes',
      [5, 'the peer sent an answer that cannot be used: a message is over the limit of 200 bytes'],
      '"jsonrpc" must be "2.0"',
      [6, 'the peer sent an answer that cannot be used: "jsonrpc" must be "2.0"'],
    ]);
  });

  test('refuses what a far side that does not read would have to take', async () => {
    const { channel, far, release, writes } = open({ maxQueued: 1000 });
    far.reading = false;
    let sent = 0;
    const send = () => {
      channel.send(note(1));
      sent += 1;
    };
    for (; channel.queued < 1000; ) send();
    expect(send).toThrow(expect.objectContaining({ code: 'overloaded' }));
    expect(channel.queued).toBeLessThan(1100);
    await tick();
    expect(send).toThrow(expect.objectContaining({ code: 'overloaded' }));
    release();
    await tick();
    expect(send).not.toThrow();
    await tick();
    expect(writes.join('')).toBe(`${JSON.stringify(note(1))}\n`.repeat(sent));
  });

  test('one message larger than the queue passes when nothing waits', () => {
    const { channel } = open({ maxQueued: 100 });
    expect(() => channel.send({ jsonrpc: '2.0', method: 'x', params: { long: 'x'.repeat(500) } })).not.toThrow();
  });

  test('a message over the limit is refused, counted in bytes', () => {
    const { channel } = open({ maxBytes: 1000 });
    const long = (text: string): Message => ({ jsonrpc: '2.0', method: 'x', params: { text } });
    expect(() => channel.send(long('x'.repeat(600)))).not.toThrow();
    expect(() => channel.send(long('中'.repeat(600)))).toThrow(/over the limit of 1000 bytes/);
  });

  test('keeps answers, drops the rest, and stops reading while the far side does not read', async () => {
    const { channel, far, input, release, writes, heard } = open({
      overflow: 'keep-answers',
      maxQueued: 100,
      maxBytes: 1000,
    });
    far.reading = false;
    const answer = (id: number): Message => ({ jsonrpc: '2.0', id, result: 'x'.repeat(200) });
    for (let id = 0; id < 3; id++) channel.send(answer(id));
    expect(() => channel.send(note(1))).toThrow(expect.objectContaining({ code: 'overloaded' }));
    for (let id = 3; id < 6; id++) channel.send(answer(id));
    input.write(`${JSON.stringify(note(9))}\n`);
    await tick();
    expect(heard).toEqual([]);
    expect(input.isPaused()).toBe(false);
    input.write(`${JSON.stringify({ ...note(10), params: 'x'.repeat(1000) })}\n`);
    await tick();
    expect(input.isPaused()).toBe(true);
    release();
    await tick();
    await tick();
    expect(input.isPaused()).toBe(false);
    expect(heard[0]).toEqual(note(9));
    expect(writes.join('').match(/"id":/g)).toHaveLength(6);
  });

  test('bounds the answers that wait for a far side that does not read, and tells of each that is not among them', async () => {
    const { channel, far, release, writes } = open({ overflow: 'keep-answers', maxQueued: 100, maxBytes: 1000 });
    far.reading = false;
    const answer = (id: number): Message => ({ jsonrpc: '2.0', id, result: 'x'.repeat(900) });
    for (let id = 0; id < 5; id++) channel.send(answer(id));
    expect(() => channel.send(answer(5))).toThrow('does not read');
    channel.send({ jsonrpc: '2.0', id: 5, error: { code: -32000, message: 'the client does not read' } });
    release();
    await tick();
    await tick();
    expect(writes.join('').match(/"id":/g)).toHaveLength(6);
    channel.send(answer(6));
  });

  test('notices the end of the input while the far side does not read, and still looks at what came before it', async () => {
    const ended = vi.fn();
    const { channel, far, input, release, heard } = open({
      overflow: 'keep-answers',
      maxBytes: 1000,
      inputEnded: ended,
    });
    far.reading = false;
    for (let id = 0; id < 3; id++) channel.send({ jsonrpc: '2.0', id, result: 'x'.repeat(900) });
    input.end(`${JSON.stringify(note(1))}\n${JSON.stringify(note(2))}`);
    await until(() => ended.mock.calls.length === 1);
    expect(heard).toEqual([]);
    expect(channel.queued).toBeGreaterThan(2700);
    release();
    await until(() => heard.length === 2);
    expect(heard).toEqual([note(1), note(2)]);
    expect(channel.queued).toBe(0);
  });

  const endings: [title: string, end: (world: ReturnType<typeof open>) => void, expected: object | undefined][] = [
    ['the far side ends its stream', ({ input }) => input.end(), undefined],
    ['the input fails', ({ input }) => input.destroy(new Error('broken')), { message: 'broken' }],
    ['the input is gone', ({ input }) => input.destroy(), undefined],
    [
      'nobody reads any more',
      ({ output }) => output.destroy(Object.assign(new Error('pipe'), { code: 'EPIPE' })),
      undefined,
    ],
    ['the output fails', ({ output }) => output.destroy(new Error('disk full')), { message: 'disk full' }],
  ];
  test.each(endings)('says once that it is over when %s', async (_, end, expected) => {
    const world = open();
    end(world);
    await tick();
    await tick();
    world.input.destroy();
    await tick();
    expect(world.closed).toHaveLength(1);
    if (expected === undefined) expect(world.closed[0]).toBeUndefined();
    else expect(world.closed[0]).toMatchObject(expected);
    expect(() => world.channel.send(note(1))).toThrow(expect.objectContaining({ code: 'unreachable' }));
  });

  test('reads a last line without newline before it is over', async () => {
    const { input, heard, closed } = open();
    input.end(JSON.stringify(note(1)));
    await tick();
    await tick();
    expect([heard, closed]).toEqual([[note(1)], [undefined]]);
  });

  test('can still answer after the end of its input where somebody watches for that', async () => {
    let ends = 0;
    const { channel, input, writes, closed } = open({ inputEnded: () => (ends += 1) });
    input.end();
    await tick();
    await tick();
    channel.send(note(1));
    await channel.close();
    expect([ends, writes.length, closed]).toEqual([1, 1, [undefined]]);
  });

  test('writes what is queued when it is closed', async () => {
    const { channel, writes, closed } = open();
    channel.send(note(1));
    await channel.close();
    expect(writes).toHaveLength(1);
    expect(closed).toEqual([undefined]);
    await channel.close();
  });

  test('closes within its bound when nobody reads', async () => {
    const { channel, far } = open();
    far.reading = false;
    channel.send(note(1));
    stopClock();
    onTestFinished(() => void vi.useRealTimers());
    let over = false;
    const closing = channel.close().then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await closing;
  });
});

describe('what is sent at several moments', () => {
  const request = (id: number): Message => ({ jsonrpc: '2.0', id, method: 'r' });
  const settle = () => new Promise((resolve) => process.nextTick(resolve));

  test('is written at once while few requests are under way', async () => {
    const { channel, writes } = open();
    channel.send(request(1));
    await settle();
    channel.send(request(2));
    await settle();
    expect(writes).toHaveLength(2);
  });

  test('waits for nothing where there is nothing else: the only request under way, and the answer to the only one', async () => {
    const { channel, input, writes } = open();
    channel.send(request(1));
    expect(writes).toHaveLength(1);
    input.write('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    await tick();
    channel.send(note(1));
    expect(writes).toHaveLength(1);
    await tick();
    input.write('{"jsonrpc":"2.0","id":7,"method":"r"}\n');
    await tick();
    channel.send({ jsonrpc: '2.0', id: 7, result: {} });
    expect(writes).toHaveLength(3);
  });

  test('an answer waits for others while requests of the far side are under way, unless they are given up', async () => {
    const { channel, input, writes } = open();
    for (const id of [1, 2, 3]) input.write(`${JSON.stringify(request(id))}\n`);
    await tick();
    channel.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect(writes).toHaveLength(0);
    await settle();
    expect(writes).toHaveLength(1);
    input.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n');
    await tick();
    channel.send({ jsonrpc: '2.0', id: 3, result: {} });
    expect(writes).toHaveLength(2);
  });

  test('is written together while many are, and again at once when they are answered or given up', async () => {
    const { channel, input, writes } = open();
    for (let id = 1; id <= 10; id++) channel.send(request(id));
    await tick();
    // The first was alone; the others came while it was written.
    expect(writes).toHaveLength(2);
    channel.send(note(1));
    await settle();
    channel.send(note(2));
    expect(writes).toHaveLength(2);
    await tick();
    expect(writes).toHaveLength(3);

    input.write('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    await tick();
    channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
    await tick();
    channel.send(note(3));
    await settle();
    expect(writes).toHaveLength(5);
  });
});
