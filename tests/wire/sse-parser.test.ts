import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSseDecoder, type SseEvent } from '../../src/wire/sse-parser.ts';

function read(pieces: (string | Buffer)[], maxBytes?: number): SseEvent[] {
  const decoder = createSseDecoder(maxBytes === undefined ? {} : { maxBytes });
  return pieces.flatMap((piece) => decoder.push(Buffer.from(piece as string)));
}

describe('an event stream', () => {
  const cases: [title: string, text: string, expected: [type: string, data: string | undefined][]][] = [
    [
      'has events that end with a blank line',
      'data: a\n\ndata: b\n\n',
      [
        ['message', 'a'],
        ['message', 'b'],
      ],
    ],
    ['drops what is not complete', 'data: a\n\ndata: b\n', [['message', 'a']]],
    ['ends lines with CRLF', 'data: a\r\ndata: b\r\n\r\n', [['message', 'a\nb']]],
    [
      'ends lines with CR',
      'data: a\rdata: b\r\rdata: c\r\r',
      [
        ['message', 'a\nb'],
        ['message', 'c'],
      ],
    ],
    [
      'mixes line ends',
      'data: a\r\n\rdata: b\n\r\ndata: c\r\r\n',
      [
        ['message', 'a'],
        ['message', 'b'],
        ['message', 'c'],
      ],
    ],
    [
      'names its events',
      'event: note\ndata: a\n\ndata: b\n\n',
      [
        ['note', 'a'],
        ['message', 'b'],
      ],
    ],
    ['takes one space after the colon', 'data:a\ndata:  b\ndata\n\n', [['message', 'a\n b\n']]],
    ['has comments', ': hello\n\n:\n\ndata: a\n: b\n\n', [['message', 'a']]],
    ['has no event without data', 'event: x\nid: 1\n\ndata: a\n\n', [['message', 'a']]],
    ['may start with a BOM', '\ufeffdata: a\n\n', [['message', 'a']]],
    ['ignores unknown fields', 'foo: x\ndata: a\nbar\n\n', [['message', 'a']]],
  ];
  test.each(cases)('%s', (_, text, expected) => {
    expect(read([text]).map(({ type, data }) => [type, data])).toEqual(expected);
    expect(read([...Buffer.from(text)].map((byte) => Buffer.from([byte])))).toEqual(read([text]));
  });

  test('remembers the last id and the pause it asks for', () => {
    const decoder = createSseDecoder();
    expect([decoder.lastId, decoder.retry]).toEqual([undefined, undefined]);
    decoder.push(Buffer.from('id: 7\nretry: 250\ndata:\n\nretry: soon\nid: a\0b\n\n'));
    expect([decoder.lastId, decoder.retry]).toEqual(['7', 250]);
    decoder.push(Buffer.from('id\n\n'));
    expect(decoder.lastId).toBe('');
  });

  test('skips an event over the limit and goes on', () => {
    const long = 'x'.repeat(200);
    const skipped = { type: 'message', data: undefined };
    const next = { type: 'message', data: 'next' };
    expect(read([`data: ${long}\n\ndata: next\n\n`], 100)).toEqual([skipped, next]);
    expect(read([`data: ${long.slice(0, 80)}\ndata: ${long.slice(0, 80)}\n\n`, 'data: next\n\n'], 100)).toEqual([
      skipped,
      next,
    ]);
    expect(read([...`data: ${long}\r\ndata: ${long}\r\n\r\ndata: next\r\n\r\n`], 100)).toEqual([skipped, next]);
  });

  test('is the same however its bytes are split', () => {
    const piece = fc.oneof(
      fc
        .constantFrom(
          'data: ',
          'data: 中文🙂\n',
          '\n',
          '\r',
          '\r\n',
          '\n\n',
          'id: 1\n',
          ': c\n',
          'event: e\n',
          '\ufeff',
          'x'.repeat(40),
        )
        .map(Buffer.from),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    );
    const property = fc.property(
      fc.array(piece, { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (pieces, cuts) => {
        const bytes = Buffer.concat(pieces);
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
        const parts = places.slice(1).map((to, index) => bytes.subarray(places[index], to));
        expect(read(parts, 50)).toEqual(read([bytes], 50));
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
