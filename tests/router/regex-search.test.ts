/** The search of a pattern in a text: the matches of RegExp, in linear time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileSearch } from '../../src/router/regex-search.ts';

const search = (pattern: string, text: string, isCaseless?: boolean) => {
  const found = compileSearch(pattern, isCaseless)?.(text);
  return found && [...found];
};

describe('a search', () => {
  test.each<[string, string]>([
    ['ERROR', 'an ERROR here'],
    ['id: (\\d+)', 'no id: x, id: 42, id: 7'],
    ['(\\w+)@(\\w+)\\.com', 'mail ada@example.com now'],
    ['a|ab', 'ab'],
    ['(a+)+$', 'aaab aaa'],
    ['(a|b)*?c', 'ababc'],
    ['.*: (.*)', 'key: value: more'],
    ['.*?: (.*)', 'key: value: more'],
    ['\\bfoo\\b', 'foobar foo'],
    ['\\Boo', 'oo foo'],
    ['^$', ''],
    ['^b', 'ab'],
    ['x{2,3}', 'xxxxx'],
    ['x{2,3}?', 'xxxxx'],
    ['(x){0}y', 'xy'],
    ['(?:a(b)?)+', 'aba'],
    ['[^\\s,]+', '  one,two'],
    ['é.', 'caf\u00e9\u{1F600}!'],
    ['never', 'x'],
    ['', 'x'],
  ])('%s in %j gives the same as RegExp', (pattern, text) => {
    const expected = new RegExp(pattern, 'u').exec(text);
    const found = search(pattern, text);
    expect(found?.[0]).toBe(expected?.[0]);
    if (!/\)[?*+{]/.test(pattern)) expect(found).toEqual(expected === null ? undefined : [...expected]);
  });

  test('may ignore case', () => {
    expect(search('err(or)?', 'An ERROR', true)).toEqual(['ERROR', 'OR']);
    expect(search('É', 'caf\u00e9', true)).toEqual(['\u00e9']);
    expect(search('err', 'An ERROR')).toBeUndefined();
  });

  test.each(['(?=a)b', '(a)\\1', '\\p{L}', '(', 'x{0,100000}'])('%s is not supported', (pattern) => {
    expect(compileSearch(pattern)).toBeUndefined();
  });

  test('follows RegExp for any pattern of a small alphabet', () => {
    const atom = fc.constantFrom('a', 'b', '[ab]', '.', '(?:a|b)', '(?:ab?)', '\\b', '^', '$');
    const part = fc.tuple(atom, fc.constantFrom('', '', '?', '+', '*', '{2}', '*?', '+?'));
    const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => {
      return parts.map(([one, many]) => (/^(?:\\b|\^|\$)$/.test(one) ? one : one + many)).join('');
    });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, subject) => {
        expect(search(source, subject)?.[0]).toBe(new RegExp(source, 'u').exec(subject)?.[0]);
      }),
    );
  });

  test('takes no longer for a pattern that makes RegExp take for ever', () => {
    expect(search('(a+)+b', 'a'.repeat(20_000))).toBeUndefined();
    expect(search('(a|aa)+$', `${'a'.repeat(20_000)}!`)).toBeUndefined();
  });
});
