/** Differences of two texts, line by line, as `mcpx diff` prints them. */
import { expect, test } from 'vitest';
import { compareLines } from '../../src/cli/line-diff.ts';

const lines = (text: string) => text.split('\n');

test.each([
  ['a\nb\nc', 'a\nx\nc\nd', 2, { diff: '@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n+d', added: 2, removed: 1 }],
  ['same', 'same', 2, { diff: '', added: 0, removed: 0 }],
  ['a\nb\nc\nd\ne', 'a2\nb\nc\nd\ne2', 0, { diff: '@@ -1,1 +1,1 @@\n-a\n+a2\n@@ -5,1 +5,1 @@\n-e\n+e2' }],
  ['a\nb', 'a\nnew\nb', 0, { diff: '@@ -1,0 +2,1 @@\n+new' }],
])('%j and %j', (before, after, context, expected) => {
  expect(compareLines(lines(before), lines(after), context)).toMatchObject(expected);
});

test('of texts that are too long to compare, every line is removed and added', () => {
  const [before, after] = ['a', 'b'].map((line) => new Array(3000).fill(line)) as [string[], string[]];
  expect(compareLines(['same', ...before], ['same', ...after], 0)).toMatchObject({ added: 3000, removed: 3000 });
});
