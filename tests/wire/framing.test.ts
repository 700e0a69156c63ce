import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { createDecoder, type Decoded, decode, encode, type Framing } from '../../src/wire/framing.ts';
import type { Message } from '../../src/wire/message.ts';
import { processorTime } from '../setup/processor.ts';

const ping: Message = { jsonrpc: '2.0', id: 1, method: 'ping' };
const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const frame = (text: string) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

/** Everything that comes out of a stream given in these pieces. */
function read(pieces: (string | Buffer)[], maxBytes?: number): Decoded[] {
  const decoder = createDecoder(maxBytes === undefined ? {} : { maxBytes });
  const decoded = pieces.flatMap((piece) => decoder.push(Buffer.from(piece as string)));
  return [...decoded, ...decoder.end()];
}

/** A short form: the message's id or method, or the code and id of a report. */
function brief(decoded: Decoded[]): unknown[] {
  return decoded.map(({ message, invalid }) => {
    if (invalid) return invalid.id === undefined ? invalid.code : [invalid.code, invalid.id];
    return 'id' in message ? message.id : 'method' in message && message.method;
  });
}

function split(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}

describe('the bytes of a stream', () => {
  const cases: [title: string, pieces: (string | Buffer)[], expected: unknown[]][] = [
    ['one line is one message', [line(ping)], [1]],
    ['two lines in a chunk are two messages', [line(ping) + line({ ...ping, id: 2 })], [1, 2]],
    ['the last line needs no newline', [JSON.stringify(ping)], [1]],
    ['CRLF, blank lines and spaces are fine', [`\r\n\n  \n ${JSON.stringify(ping)} \r\n`], [1]],
    ['a BOM at the start is skipped', [`\ufeff${line(ping)}`], [1]],
    ['a BOM after a banner is skipped too', [`hi\n\ufeff${line(ping)}`], [-32700, 1]],
    ['id 0 and an empty id are ids', [line({ ...ping, id: 0 }), line({ ...ping, id: '' })], [0, '']],
    [
      'raw U+2028 inside a string is no line end',
      [line({ ...ping, id: '\u2028\u2029\u0085' })],
      ['\u2028\u2029\u0085'],
    ],
    ['text that is no JSON is a parse error, and the next line is read', [`hello\n${line(ping)}`], [-32700, 1]],
    [
      'JSON that is no message is an invalid request',
      [line({ id: 5 }), line(7), line(null)],
      [[-32600, 5], -32600, -32600],
    ],
    [
      'whatever else programs print is a parse error',
      ['[INFO] up\n', '[1] {x}\n', '{started}\n', '"a" is b\n', '2026-11-16 up\n', 'true story\n', '[1,2\n', '{]\n'],
      Array(8).fill(-32700),
    ],
    ['a lone JSON value is an invalid request', ['"a\\"b"\n', '-1.5e+3\n', ' true \n'], [-32600, -32600, -32600]],
    ['an id that is no id is not reported', [line({ jsonrpc: '2.0', method: 'x', id: {} })], [-32600]],
    [
      'a batch is each of its elements',
      [line([ping, { id: 9 }, { jsonrpc: '2.0', method: 'n' }])],
      [1, [-32600, 9], 'n'],
    ],
    ['an empty batch is invalid', [line([])], [-32600]],
    ['a batch over the limit is refused as one', [line(Array(101).fill(ping))], [-32600]],
    ['a frame is one message', [frame(JSON.stringify(ping))], [1]],
    [
      'frames follow each other',
      [frame(JSON.stringify(ping)) + frame(JSON.stringify({ ...ping, id: '中' }))],
      [1, '中'],
    ],
    ['other headers are skipped', [`Content-Type: x\r\n${frame(JSON.stringify(ping))}`], [1]],
    ['header names have any case', [`CONTENT-LENGTH:40\n\n${JSON.stringify(ping)}`], [1]],
    [
      'a banner before the first frame is reported and skipped',
      [`Welcome\n${frame(JSON.stringify(ping))}`],
      [-32700, 1],
    ],
    ['a frame that is no JSON is a parse error', [frame('{'), frame(JSON.stringify(ping))], [-32700, 1]],
    ['a header without a length is an empty message', [`Content-Type: x\r\n\r\n${frame(JSON.stringify(ping))}`], [1]],
    ['a stream that ends inside a frame says so', ['Content-Length: 50\r\n\r\n{"js'], [-32700]],
    [
      'a line that looks like a header is noise once lines were spoken',
      [line(ping), 'Content-Length: 9\n', line(ping)],
      [1, -32700, 1],
    ],
    ['a line in the middle of frames is read too', [frame(JSON.stringify(ping)), line(ping)], [1, 1]],
    ['nothing is nothing', ['', '\n'], []],
  ];
  test.each(cases)('%s', (_, pieces, expected) => {
    expect(brief(read(pieces))).toEqual(expected);
  });

  test('keep unknown fields and strange names as they are', () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"__proto__":{"x":1}},"extra":[null]}';
    const [first] = decode(text);
    expect(JSON.stringify(first?.message)).toBe(text);
  });

  test('invalid UTF-8 inside a string does not lose the message', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('","method":"m"}\n'),
    ]);
    expect(brief(read([bytes]))).toEqual(['\ufffd\ufffd']);
  });

  test('an unreadable line is quoted without control characters', () => {
    const [report] = read([`\u001b[31m${'long '.repeat(40)}\u0007\n`]);
    expect(report?.invalid?.reason).toMatch(/^not JSON: "\[31mlong [long ]+…"$/);
  });

  test('tells which framing the far side speaks', () => {
    const decoder = createDecoder();
    expect(decoder.framing).toBeUndefined();
    decoder.push(Buffer.from('noise\n'));
    expect(decoder.framing).toBeUndefined();
    decoder.push(Buffer.from('Content-Length: 2\r\n'));
    expect(decoder.framing).toBe('content-length');
    const lines = createDecoder();
    lines.push(Buffer.from(line(ping)));
    expect(lines.framing).toBe('newline');
  });
});

describe('a message over the limit', () => {
  const long = 'x'.repeat(2000);
  const cases: [title: string, pieces: string[], expected: unknown[]][] = [
    ['is skipped to the next newline', [`${long}\n${line(ping)}`], [-32600, 1]],
    ['is skipped over many chunks', [...long, '\n', line(ping)], [-32600, 1]],
    ['is reported at the end of the stream too', [long], [-32600]],
    [
      'is reported with the id at its head',
      [line({ jsonrpc: '2.0', id: 'a"b', method: 'm', params: { long } })],
      [[-32600, 'a"b']],
    ],
    [
      'is reported with the whole of a long id',
      [`{"jsonrpc":"2.0","id":12345678901234567891,"method":"m","params":"${long}"}\n`],
      [[-32600, parseLossless('12345678901234567891')]],
    ],
    [
      'is reported with the whole of an id',
      [`{"jsonrpc":"2.0","id":1.5,"method":"m","params":"${long}"}\n`],
      [[-32600, 1.5]],
    ],
    ...['007', '1.5.2', '"\\x"', '"a\tb"'].map((id): (typeof cases)[number] => [
      `is reported without an id that is none: ${id}`,
      [`{"jsonrpc":"2.0","id":${id},"method":"m","params":"${long}"}\n`],
      [-32600],
    ]),
    ['is reported with the id at its tail', [line({ result: { id: 4, long }, jsonrpc: '2.0', id: 5 })], [[-32600, 5]]],
    [
      'is reported with the id before jsonrpc at its tail',
      [line({ result: { long }, id: 5, jsonrpc: '2.0' })],
      [[-32600, 5]],
    ],
    ['is not reported with an id of something inside it', [line({ params: { long, x: { id: 4 } } })], [-32600]],
    ['in a frame is skipped by its length', [frame(long), frame(JSON.stringify(ping))], [-32600, 1]],
    [
      'in a frame is reported with its id',
      [frame(JSON.stringify({ jsonrpc: '2.0', id: 3, result: long })), line(ping)],
      [[-32600, 3], 1],
    ],
  ];
  test.each(cases)('%s', (_, pieces, expected) => {
    expect(brief(read(pieces, 1000))).toEqual(expected);
  });

  test('is told apart as a request or an answer', () => {
    const answers = (value: unknown) => read([line(value)], 1000)[0]?.invalid?.answer;
    expect(answers({ jsonrpc: '2.0', id: 1, result: { method: 'm', long } })).toBe(true);
    expect(answers({ result: { long, method: 'm' }, id: 1, jsonrpc: '2.0' })).toBe(true);
    expect(answers({ id: 1, result: { long, method: 'm' } })).toBe(true);
    expect(answers({ id: 1, result: `${long},"method":"m"` })).toBe(true);
  });

  test('is a request under its id in whatever order its members are', () => {
    const members = { jsonrpc: '2.0', id: 'i', method: 'a/b', more: null, params: { id: 4, long, method: 'x' } };
    const names = fc.shuffledSubarray(Object.keys(members) as (keyof typeof members)[], { minLength: 5 });
    fc.assert(
      fc.property(names, fc.constantFrom(undefined, 1), (order, indent) => {
        const ordered = Object.fromEntries(order.map((name) => [name, members[name]]));
        const text = JSON.stringify(ordered, undefined, indent).replaceAll('\n', ' ');
        const [first] = read([`${text}\n`], 1000);
        expect(first?.invalid).toEqual({ code: -32600, reason: expect.any(String), id: 'i' });
      }),
    );
  });

  test('of exactly the limit passes', () => {
    const text = JSON.stringify({ ...ping, params: { long } });
    expect(brief(read([`${text}\n`], text.length))).toEqual([1]);
    expect(brief(read([`${text}\n`], text.length - 1))).toEqual([[-32600, 1]]);
  });

  test('costs bounded memory when it never ends', () => {
    const decoder = createDecoder({ maxBytes: 1024 * 1024 });
    const chunk = Buffer.alloc(64 * 1024, 120);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 4000; n++) decoder.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    expect(brief([...decoder.push(Buffer.from('\n')), ...decoder.push(Buffer.from(line(ping)))])).toEqual([-32600, 1]);
  });
});

describe('any split of the bytes', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const message = fc.record({
    jsonrpc: fc.constant('2.0' as const),
    id: fc.oneof(fc.integer(), text),
    method: text,
    params: fc.dictionary(text, fc.jsonValue()),
  });

  test.each<Framing>(['newline', 'content-length'])('gives the same messages: %s', (framing) => {
    const property = fc.property(
      fc.array(message, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (messages, cuts) => {
        const wire = JSON.parse(JSON.stringify(messages)) as Message[];
        const bytes = Buffer.from(wire.map((one) => encode(one, framing)).join(''));
        expect(read(split(bytes, cuts)).map((one) => one.message)).toEqual(wire);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  test('gives the same reports, whatever the bytes are', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(
          '\n',
          '\r\n',
          '{',
          '}',
          '{"jsonrpc":"2.0","method":"m"}',
          'Content-Length: 3\r\n\r\n',
          '\ufeff',
          'x'.repeat(60),
        )
        .map(Buffer.from),
    );
    const property = fc.property(
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (pieces, cuts) => {
        const bytes = Buffer.concat(pieces);
        expect(read(split(bytes, cuts), 50)).toEqual(read([bytes], 50));
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  test('takes time in proportion to the bytes', () => {
    const time = (kilobytes: number) => {
      const decoder = createDecoder();
      const bytes = Buffer.from(line({ ...ping, params: { long: 'x'.repeat(kilobytes * 1024) } }));
      const started = processorTime();
      for (let at = 0; at < bytes.length; at += 16) decoder.push(bytes.subarray(at, at + 16));
      return processorTime() - started;
    };
    time(256);
    const [small, large] = [Math.min(time(256), time(256), time(256)), Math.min(time(2048), time(2048))];
    // Eight times the bytes; a quadratic reader would need sixty-four times as long.
    expect(large / small).toBeLessThan(30);
  });
});
