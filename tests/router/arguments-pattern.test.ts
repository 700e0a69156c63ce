/** Which patterns are enforced: only those that no text can stall. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePattern, sampleOf } from '../../src/router/regex-parse.ts';
import { isLinearPattern } from '../../src/router/regex-safety.ts';
import { processorTime } from '../setup/processor.ts';

const LINEAR = [
  '',
  '^$',
  '^a+$',
  '^.*$',
  '^[a-z0-9_-]+$',
  '^[A-Z]{3}-\\d{4}$',
  '^[0-9a-f]{8}-[0-9a-f]{4}$',
  '^[a-z]{1,3}$',
  '^[A-Z][A-Z0-9_]{1,1000}$',
  '^[a-z]+(-[a-z]+)*$',
  '^(\\w+\\.)+$',
  '^\\d+(\\.\\d+)?$',
  '^(asc|desc)$',
  '^(?:x|[yz])+?$',
  '^I?\\d+[:|-]\\d+(?:;\\d+[:|-]\\d+)*$',
  '\\.json$',
  'abc',
  '^a|^b+$',
  '^\\u0041\\x42\\t[\\]\\\\^-]$',
  '^[^,]+(,[^,]+)*$',
  '^a{2}a$',
  '^[ -~]*$',
];

const UNPROVEN = [
  '^(a+)+$',
  '^(a*)*$',
  '^(a?)*$',
  '^(a|aa)+$',
  '^(a|a)(a|a)$',
  '^(a?|b?)$',
  '^a{1,2}a$',
  '^a*a*$',
  '^\\w+\\s*\\w+$',
  '^([a-z]+-)*[a-z]+$',
  '^.+@.+$',
  'a+$',
  '.*',
  '^a+|b+',
  '(x+x+)+y',
  '^(?=a)a',
  '^(?!a)b',
  '(a)\\1',
  '^\\p{L}+$',
  '^(?<name>a)$',
  'a^b',
  'a$b',
  '(',
  '[z-a]',
  `${'('.repeat(30)}a${')'.repeat(30)}`,
  `^${'a?'.repeat(400)}$`,
  `^(${'[a-z]'.repeat(40)}){50}$`,
  '\\bword\\b',
];

test.each(LINEAR)('the pattern %j is linear', (pattern) => {
  expect(isLinearPattern(pattern)).toBe(true);
});

test.each(UNPROVEN)('the pattern %j is not proven', (pattern) => {
  expect(isLinearPattern(pattern)).toBe(false);
});

const pattern = fc
  .letrec<{ part: string }>((tie) => ({
    part: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('a', 'b', '[ab]', '[^a]', '.', '\\w', '\\d'),
      fc
        .tuple(tie('part'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{2,}'))
        .map(([part, sign]) => `(?:${part})${sign}`),
      fc.tuple(tie('part'), tie('part')).map(([left, right]) => left + right),
      fc.tuple(tie('part'), tie('part')).map(([left, right]) => `(${left}|${right})`),
    ),
  }))
  .part.chain((part) => fc.constantFrom(part, `^${part}`, `^${part}$`, `${part}$`));

test('no text stalls a pattern that was called linear', () => {
  const texts = ['a', 'b', 'ab', 'a1', 'aab'].map((unit) => `${unit.repeat(20_000)}!`);
  let proven = 0;
  fc.assert(
    fc.property(pattern, (source) => {
      if (!isLinearPattern(source)) return;
      proven += 1;
      const expression = new RegExp(source, 'u');
      const started = processorTime();
      for (const text of texts) expression.test(text);
      expect(processorTime() - started).toBeLessThan(500);
    }),
    { numRuns: 2000 },
  );
  expect(proven).toBeGreaterThan(100);
});

test('a sample fits its pattern', () => {
  fc.assert(
    fc.property(pattern, (source) => {
      const parsed = parsePattern(source);
      expect(parsed).toBeDefined();
      const sample = parsed && sampleOf(parsed.node);
      expect(sample).toMatch(new RegExp(source, 'u'));
    }),
  );
});

test('a set that nothing fits has no sample', () => {
  const parsed = parsePattern('^[]$');
  expect(parsed && sampleOf(parsed.node)).toBeUndefined();
});
