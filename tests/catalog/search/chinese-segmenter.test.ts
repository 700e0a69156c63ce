/** Chinese cut into words: everything stays, and the cut leaves as little over as it can. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { segmentChinese } from '../../../src/catalog/search/chinese-segmenter.ts';

const table = (...words: string[]) => new Map(words.map((word) => [word, true]));

const CUTS: [run: string, words: string[], pieces: string[]][] = [
  ['发布网站', ['发布', '网站'], ['发布', '网站']],
  ['定时发布', ['定时发', '定时', '发布'], ['定时', '发布']],
  ['邮件规则', ['邮件', '规则', '邮件规则'], ['邮件规则']],
  ['我的邮件呢', ['邮件'], ['我的', '邮件', '呢']],
  ['没有', ['邮件'], ['没有']],
  ['', ['邮件'], []],
];

test.each(CUTS)('%s with %j', (run, words, pieces) => {
  expect(segmentChinese(run, table(...words), 4)).toEqual(pieces);
});

test('nothing is lost', () => {
  const letters = fc.string({ unit: fc.constantFrom('发', '布', '定', '时', '网'), maxLength: 30 });
  fc.assert(
    fc.property(letters, fc.array(letters.filter((word) => word !== '' && word.length <= 4)), (run, words) => {
      expect(segmentChinese(run, table(...words), 4).join('')).toBe(run);
    }),
  );
});
