/** Pages of a text and the places where a text occurs in it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findInText, pageText, pageWithin } from '../../src/render/text-page.ts';
import { processorTime } from '../setup/processor.ts';

/** Every kind of text, with pairs, halves of pairs and combining characters. */
const TEXT = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.constantFrom('a', '\n', '😀', '\uD83D', '\uDE00', '中')).map((parts) => parts.join('')),
);

describe('pages', () => {
  test('following the pages gives the whole text again, whatever their size', () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 1, max: 50 }), (text, limit) => {
        let read = '';
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const page = pageText(text, offset, limit);
          read += page.text;
          offset = page.next;
        }
        expect(read).toBe(text);
      }),
    );
  });

  test('pages that are bounded in bytes keep the bound and give the whole text again', () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 12, max: 50 }), (text, bytes) => {
        let read = '';
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const page = pageWithin(text, offset, { chars: 20, bytes });
          expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(bytes);
          read += page.text;
          offset = page.next;
        }
        expect(read).toBe(text);
      }),
    );
  });

  test('pages of sizes that change on the way give the whole text again', () => {
    fc.assert(
      fc.property(TEXT, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (text, sizes) => {
        let read = '';
        let offset = 0;
        for (let turn = 0; offset < text.length; turn += 1) {
          const limit = sizes[turn % sizes.length] ?? 1;
          read += pageText(text, offset, limit).text;
          offset += limit;
        }
        expect(read).toBe(text);
      }),
    );
  });

  test('no page begins or ends inside a surrogate pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(20), fc.integer({ min: 1, max: 20 }), (text, offset, limit) => {
        // Encoding replaces halves of pairs; `binary` has none of its own.
        const { text: page } = pageText(text, offset, limit);
        expect(Buffer.from(page).toString()).toBe(page);
      }),
    );
  });

  test.each([
    ['hello', 0, 2, { text: 'he', next: 2 }],
    ['hello', 2, 3, { text: 'llo' }],
    ['hello', 5, 3, { text: '' }],
    ['hello', 99, 3, { text: '' }],
    ['', 0, 1, { text: '' }],
    ['a😀b', 0, 2, { text: 'a', next: 2 }],
    ['a😀b', 2, 2, { text: '😀b' }],
  ])('%j from %i, %i characters', (text, offset, limit, expected) => {
    expect(pageText(text, offset, limit)).toEqual(expected);
  });
});

describe('finding a text', () => {
  const text = 'first line\nthe SECOND line\nthird, second to none\n';

  test('the lines in which it occurs, in any case, with their offsets', () => {
    expect(findInText(text, 'second', 10)).toEqual({
      total: 2,
      found: [
        { offset: 11, text: 'the SECOND line' },
        { offset: 27, text: 'third, second to none' },
      ],
    });
  });

  test('a line with two occurrences is shown once, and both are counted', () => {
    expect(findInText('ab ab\nab', 'ab', 10)).toEqual({
      total: 3,
      found: [
        { offset: 0, text: 'ab ab' },
        { offset: 6, text: 'ab' },
      ],
    });
  });

  test('of a very long line what is around it', () => {
    const long = `${'x'.repeat(50_000)}needle${'y'.repeat(50_000)}`;
    const { found, total } = findInText(long, 'NEEDLE', 10);
    expect(total).toBe(1);
    expect(found).toEqual([{ offset: 49_880, text: `${'x'.repeat(120)}needle${'y'.repeat(120)}` }]);
  });

  test('is no pattern, so that nothing in it can stall', () => {
    expect(findInText('a.c abc (a+)+$', '(a+)+$', 10).total).toBe(1);
    const started = processorTime();
    expect(findInText(`${'a'.repeat(200_000)}!`, '(a+)+$', 10).total).toBe(0);
    expect(processorTime() - started).toBeLessThan(2000);
    expect(findInText('C:\\temp [x] {y} ^|?*/', '[x] {y} ^|?*/', 10).total).toBe(1);
  });

  test('shows no more than it was told to', () => {
    const { found, total } = findInText('x\n'.repeat(500), 'x', 40);
    expect([found.length, total]).toEqual([40, 500]);
  });

  test('every piece is a part of the text, at its offset', () => {
    fc.assert(
      fc.property(TEXT, fc.string({ minLength: 1, maxLength: 3 }), (whole, query) => {
        for (const { offset, text: piece } of findInText(whole, query, 5).found) {
          expect(whole.slice(offset, offset + piece.length)).toBe(piece);
        }
      }),
    );
  });
});
