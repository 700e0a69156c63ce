/** Large answers are told apart from everything else without being parsed: what is taken is always what JSON.parse would have read. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locateResult } from '../../src/wire/json-scanner.ts';
import { readRawResult, sizeOf } from '../../src/wire/raw-result.ts';

const TELLING = new Set(['isError', 'resource']);

/** The text in pieces of a few bytes each. */
function pieces(text: string, size = 7): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
}

const scanned = (text: string, size?: number) => {
  const found = locateResult(pieces(text, size), TELLING);
  const bytes = Buffer.from(text);
  return found && { id: found.id, result: bytes.subarray(found.result.from, found.result.to).toString() };
};

describe('a large answer', () => {
  const result =
    '{"content":[{"type":"text","text":"a \\"quoted\\" \\\\ line\\nand é 中"}],"n":[-1.5e3,0,true,null,{}]}';

  it.each([
    `{"jsonrpc":"2.0","id":7,"result":${result}}`,
    `{"result":${result},"jsonrpc":"2.0","id":7}`,
    ` { "id" : 7 , "jsonrpc" : "2.0" , "result" : ${result} } `,
  ])('is found whatever the order of its fields: %s', (text) => {
    for (const size of [1, 7, 1000]) expect(scanned(text, size)).toEqual({ id: 7, result });
  });

  it('is found with letters beyond ASCII that are escaped', () => {
    const escaped = '{"content":[{"type":"text","text":"\\u4e2d\\u6587 \\ud83d\\ude00\\n"}]}';
    expect(scanned(`{"jsonrpc":"2.0","id":7,"result":${escaped}}`, 1000)).toEqual({ id: 7, result: escaped });
  });

  it.each([
    ['a request', '{"jsonrpc":"2.0","id":7,"method":"x"}'],
    ['an error', '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}'],
    ['another field', '{"jsonrpc":"2.0","id":7,"result":{},"more":1}'],
    ['a result that is no object', '{"jsonrpc":"2.0","id":7,"result":[]}'],
    ['another version', '{"jsonrpc":"1.0","id":7,"result":{}}'],
    ['an id that is text', '{"jsonrpc":"2.0","id":"7","result":{}}'],
    ['a telling key', '{"jsonrpc":"2.0","id":7,"result":{"isError":true}}'],
    ['a telling value', '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"resource"}]}}'],
    ['a telling key in disguise', '{"jsonrpc":"2.0","id":7,"result":{"isErr\\u006fr":true}}'],
    ['a batch', '[{"jsonrpc":"2.0","id":7,"result":{}}]'],
    ['something after it', '{"jsonrpc":"2.0","id":7,"result":{}} x'],
    ['an end too early', '{"jsonrpc":"2.0","id":7,"result":{"a":"b"'],
    ['a control character', '{"jsonrpc":"2.0","id":7,"result":{"a":"\u0001"}}'],
    ['an unknown escape', '{"jsonrpc":"2.0","id":7,"result":{"a":"\\x"}}'],
    ['an escape without four digits', '{"jsonrpc":"2.0","id":7,"result":{"a":"\\u4e2g"}}'],
    ['a line break', '{"jsonrpc":"2.0",\n"id":7,"result":{}}'],
    ['a wrong number', '{"jsonrpc":"2.0","id":7,"result":{"a":01}}'],
    ['a comma too many', '{"jsonrpc":"2.0","id":7,"result":{"a":1,}}'],
    ['brackets that do not match', '{"jsonrpc":"2.0","id":7,"result":{"a":[1}]}'],
  ])('is not taken for what has to be read in full: %s', (_, text) => {
    for (const size of [1, 7, 1000]) expect(scanned(text, size)).toBeUndefined();
  });

  it('is not taken where it is no UTF-8', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}}'),
    ]);
    expect(locateResult([bytes], TELLING)).toBeUndefined();
  });

  it('is what JSON.parse reads, for any result, cut anywhere', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer(),
        fc.integer({ min: 1, max: 40 }),
        (value, id, size) => {
          // A letter written as an escape, split over two pieces, is read in full.
          const text = JSON.stringify({ jsonrpc: '2.0', id, result: value });
          fc.pre(!/\\u/.test(text) && !/"(?:isError|resource)"/.test(text));
          expect(scanned(text, size)).toEqual({ id, result: JSON.stringify(value) });
        },
      ),
    );
  });

  it('is never taken where JSON.parse would refuse it', () => {
    const answers = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((result) => JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
    const damage = fc.tuple(
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', 'e', '-', ' ', '\t', '\u0007'),
    );
    fc.assert(
      fc.property(
        answers,
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 20 }),
        (text, damages, size) => {
          let damaged = text;
          for (const [at, by] of damages) {
            const place = at % damaged.length;
            damaged = damaged.slice(0, place) + by + damaged.slice(place + 1);
          }
          const found = scanned(damaged, size);
          if (found !== undefined)
            expect(JSON.parse(damaged)).toEqual({ jsonrpc: '2.0', id: found.id, result: JSON.parse(found.result) });
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('is written again under another id, in the same bytes', () => {
    const read = readRawResult(pieces(`{"jsonrpc":"2.0","id":1001,"result":${result}}`, 5));
    expect(read?.id).toBe(1001);
    expect(Buffer.concat(read?.result.answer('x') ?? []).toString()).toBe(
      `{"jsonrpc":"2.0","id":"x","result":${result}}`,
    );
    expect(JSON.parse(JSON.stringify({ result: read?.result }))).toEqual({ result: JSON.parse(result) });
    expect(sizeOf(read?.result.answer('x') ?? [])).toBe(
      Buffer.byteLength(`{"jsonrpc":"2.0","id":"x","result":${result}}`),
    );
  });
});
