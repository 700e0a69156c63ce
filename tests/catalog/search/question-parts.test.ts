/** Questions that ask for several acts. */
import { expect, test } from 'vitest';
import { createQueryExpansion } from '../../../src/catalog/search/query-expansion.ts';
import { partsOf } from '../../../src/catalog/search/question-parts.ts';
import { runAtOnce } from '../../../src/event-loop.ts';

const meanings = runAtOnce(createQueryExpansion());

const PARTS: [question: string, parts: number][] = [
  ['find a free slot and invite Ada', 2],
  ['read the file, then send it to Bob and delete the draft', 3],
  ['take a screenshot of the page and email it', 2],
  ['run the tests, then merge the pull request', 2],
  ['查一下明天的天气，然后发邮件给小王', 2],
  ['find a free slot', 0],
  ['send a mail to Ada, Bob and Carol', 0],
  ['search and replace', 0],
  ['find hotels and restaurants in Paris', 0],
  ['read and write files', 0],
  ['find the cheapest flight and hotel', 0],
  ['', 0],
];
test.each(PARTS)('%s asks for %s', (question, parts) => {
  expect(partsOf(question, meanings)).toHaveLength(parts);
});
