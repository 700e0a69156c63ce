/** The numbers of `npm run shape`, on small made-up sources. */
import { expect, test } from 'vitest';
import { isOver, rowsOf, table } from '../../../scripts/shape/shape.mjs';
import * as analysis from '../../../scripts/shape/source.mjs';

const { duplicateNames, importCycles, lacksSubject, opaqueNames, parseSource } = analysis;

test('a source is read as lines, functions, local imports, exported names and sentences of comments', () => {
  const text = `/** Reads a file. What is left stays. */
import { a } from './a.ts';
import type { B } from '../b.ts';
import { readFileSync } from 'node:fs';
export const one = 1;
export function two() {
  // The first line of a comment
  // goes on here. A second sentence follows.
  return () => import('./late.ts');
}
`;
  expect(parseSource('folder/file.ts', text)).toEqual({
    ...{ path: 'folder/file.ts', lines: 10, functions: [5, 1], exported: ['one', 'two'] },
    imports: ['folder/a.ts', 'b.ts', 'folder/late.ts'],
    comments: [
      ...['Reads a file.', 'What is left stays.'],
      ...['The first line of a comment goes on here.', 'A second sentence follows.'],
    ],
  });
});

test('a sentence whose subject is a clause lacks a subject', () => {
  const sentences = ['What is left stays.', 'Whoever asks waits.', 'One that is gone.', 'Those who ask wait.'];
  expect(sentences.filter(lacksSubject)).toEqual(sentences);
  expect(['The rest stays.', 'Whether it is open.', 'One second.', 'Whole lines.'].filter(lacksSubject)).toEqual([]);
});

test('metaphors are found in any part of a name, vague words only as a whole name', () => {
  const sources = [
    { path: 'upstream/vigil.ts', exported: ['createVigil', 'vigilant'] },
    { path: 'listen/http-session.ts', exported: ['HttpSession'] },
  ];
  expect(opaqueNames(sources as never)).toEqual(['upstream/vigil.ts', 'upstream/vigil.ts: createVigil']);
});

test('a file name may occur twice only where the folder gives the direction', () => {
  const paths = ['listen/stdio.ts', 'upstream/transports/stdio.ts', 'config/names.ts', 'catalog/names.ts'];
  const sources = paths.map((path) => ({ path }));
  expect(duplicateNames(sources as never)).toEqual(['names.ts: config/names.ts, catalog/names.ts']);
});

test('files that import each other are one group, and a chain is none', () => {
  const graph = { a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: [], f: ['g'], g: ['f'] };
  const sources = Object.entries(graph).map(([path, imports]) => ({ path, imports }));
  expect(importCycles(sources as never)).toEqual([
    ['a', 'b', 'c'],
    ['f', 'g'],
  ]);
});

test('a number over its bar is said in the table, with what is counted where that is wanted', () => {
  const source = parseSource('a.ts', '/** What is this. */\nexport const a = 1;\n');
  const rows = rowsOf({ sources: [source], call: { files: ['a.ts'], frames: [] }, mapLines: 201 }, analysis);
  expect(rows.filter(isOver).map(({ name }) => name)).toEqual(['lines of ARCHITECTURE.md']);
  const shown = table(rows, { verbose: true });
  expect(shown).toMatch(/^lines of ARCHITECTURE\.md +201 {2}at most 200, over$/m);
  expect(shown).toMatch(/^comment sentences without a subject +1 {2}at most 50\n {4}a\.ts: What is this\.$/m);
});
