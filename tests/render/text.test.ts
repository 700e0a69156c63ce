/** Cutting, cleaning and comparing plain text. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from '../../src/config/nearest.ts';
import { clean, cleanName, cut, nearest, oneLine } from '../../src/render/text.ts';
import { processorTime } from '../setup/processor.ts';

test('a cut text never splits a character and counts its ellipsis', () => {
  expect(cut('😀😀😀😀', 3)).toBe('😀😀…');
  expect(cut('short', 5)).toBe('short');
  expect(cut('a cut here', 6)).toBe('a cut…');
  expect(cut('abc', 0)).toBe('');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, max) => {
      const short = cut(text, max);
      expect([...short].length).toBeLessThanOrEqual(Math.max(max, 0));
      expect(short).toBe(Buffer.from(short).toString());
    }),
  );
});

const CLEANED: [string, string, string][] = [
  ['newline and tab stay', 'a\n\tb', 'a\n\tb'],
  ['carriage returns become newlines', 'a\r\nb\rc', 'a\nb\nc'],
  ['line separators become newlines', 'a\u2028b', 'a\nb'],
  ['colours go', '\u001b[1;31mred\u001b[0m', 'red'],
  ['8-bit colours go', '\u009b31mred', 'red'],
  ['window titles go', '\u001b]0;title\u0007text', 'text'],
  ['hyperlinks go', '\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['other escapes go', '\u001b(Btext\u001bc', 'text'],
  ['other controls go', 'a\u0000\u0007\u007f\u0085b', 'ab'],
  ['bidi overrides and isolates go', 'a\u202eb\u2066c\u2069\u200f', 'abc'],
  ['hidden tag characters go', `a${String.fromCodePoint(0xe0041)}b`, 'ab'],
  ['zero-width characters go', 'a\u200bb\u200cc\u200dd\u2060e\ufefff', 'abcdef'],
  ['soft hyphens, fillers and invisible operators go', 'a\u00adb\u180ec\u2061\u2064d\u3164e', 'abcde'],
  ['bytes hidden in variation selectors go', 'a\ufe00\ufe0fb\u{e0100}\u{e01ef}❤\u{e0120}', 'ab❤'],
  ['joiners go where they join nothing', '👩\u200d a\u200d👩 می\u200c\u200c\u200bخ', '👩 a👩 می\u200cخ'],
  ['emoji keep their form', '❤️ 1️⃣ 👩🏽‍🚀 ☎︎', '❤️ 1️⃣ 👩🏽‍🚀 ☎︎'],
  ['letters of Indic scripts keep their joiners', 'क्\u200dष ശ്രീ\u200c', 'क्\u200dष ശ്രീ\u200c'],
  ['joined emoji and other scripts stay', '👩‍💻 中文 می‌خواهم', '👩‍💻 中文 می‌خواهم'],
];

test.each(CLEANED)('cleaning: %s', (_title, text, expected) => {
  expect(clean(text)).toBe(expected);
});

test('nothing cleaned needs cleaning again, and no control is left', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const once = clean(text);
      expect(clean(once)).toBe(once);
      expect(once).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    }),
  );
});

test.each([
  ['read\u200b_fi\u200dle\ufeff', 'read_file'],
  ['❤️ 👩‍💻 می‌خواهم', '❤ 👩💻 میخواهم'],
  ['two\n lines\u{e0041}', 'two lines'],
])('of a name %j only what is seen is left', (name, seen) => {
  expect(cleanName(name)).toBe(seen);
});

test('one line is one line', () => {
  expect(oneLine(' a\n\n b\tc ')).toBe('a b c');
});

const DISTANCES: [string, string, number][] = [
  ['', '', 0],
  ['abc', '', 3],
  ['kitten', 'sitting', 3],
  ['serach', 'search', 1],
  ['same', 'same', 0],
];

test.each(DISTANCES)('from %j to %j it takes %i edits', (from, to, expected) => {
  expect(editDistance(from, to)).toBe(expected);
});

test('counting stops beyond the limit', () => {
  expect(editDistance('aaaaaaaa', 'bbbbbbbb', 3)).toBe(4);
  expect(editDistance('a', 'aaaaaaaa', 3)).toBe(4);
});

const TOOLS = ['k', 'read_file', 'write_file', 'list_directory', 'create_issue', 'search_files', 'getUser'];

const NEAR: [string, string | undefined][] = [
  ['read_fil', 'read_file'],
  ['readFile', 'read_file'],
  ['READ-FILE', 'read_file'],
  ['file_read', 'read_file'],
  ['raed_file', 'read_file'],
  ['issue', 'create_issue'],
  ['get_user', 'getUser'],
  ['zzz', undefined],
  ['x', undefined],
  ['', undefined],
  ['__proto__', undefined],
];

test.each(NEAR)('the name nearest to %j is %j', (name, expected) => {
  expect(nearest(name, TOOLS)[0]).toBe(expected);
});

test('the nearest names are few, stable and quick to find', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `tool_number_${index}`);
  const started = processorTime();
  const found = nearest('tool_numbr_42', names, 2);
  expect(found).toHaveLength(2);
  expect(found[0]).toBe('tool_number_42');
  expect(processorTime() - started).toBeLessThan(2000);
  expect(nearest(`${'x'.repeat(100_000)}`, names)).toEqual([]);
});
