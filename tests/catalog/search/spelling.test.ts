/** Words that are spelt like an unknown one. */
import { describe, expect, test } from 'vitest';
import { isOneEditAway, nearWords } from '../../../src/catalog/search/spelling.ts';

describe('one edit', () => {
  const NEAR: [string, string][] = [
    ['directroy', 'directory'],
    ['caculate', 'calculate'],
    ['searchh', 'search'],
    ['mesage', 'message'],
    ['calender', 'calendar'],
    ['xile', 'file'],
  ];
  test.each(NEAR)('makes %s %s, and back', (a, b) => {
    expect(isOneEditAway(a, b)).toBe(true);
    expect(isOneEditAway(b, a)).toBe(true);
  });

  const FAR: [string, string][] = [
    ['file', 'file'],
    ['file', 'fence'],
    ['abcd', 'badc'],
    ['file', 'files2'],
    ['', 'ab'],
  ];
  test.each(FAR)('does not make "%s" "%s"', (a, b) => {
    expect(isOneEditAway(a, b)).toBe(false);
  });
});

test('misspelt words come before words that begin so, and short words are never corrected', () => {
  const known = ['search', 'searching', 'auth', 'authenticate', 'cat'];
  expect(nearWords('serach', known)).toEqual(['search']);
  expect(nearWords('authent', known)).toEqual(['authenticate']);
  expect(nearWords('cta', known)).toEqual([]);
});
