/** The line before the cursor as each shell splits it, and words quoted for a shell. */
import { describe, expect, test } from 'vitest';
import { quoteForBash, quoteForPowerShell, type Shell, splitLine } from '../../../src/cli/completion/shell-words.ts';

const LINES: [shell: Shell, line: string, values: string[], quote?: string][] = [
  ['bash', 'mcpx exec ', ['mcpx', 'exec', '']],
  ['bash', 'mcpx  a\\ b c', ['mcpx', 'a b', 'c']],
  ['bash', `mcpx 'a b`, ['mcpx', 'a b'], "'"],
  ['bash', 'mcpx "a \\" b', ['mcpx', 'a " b'], '"'],
  ['bash', `x 'a\\' b`, ['x', 'a\\', 'b']],
  ['bash', `x a'b'"c"d`, ['x', 'abcd']],
  ['fish', `x 'it\\'s`, ['x', "it's"], "'"],
  ['powershell', `x 'it''s' "a\`"b"`, ['x', "it's", 'a"b']],
  ['powershell', 'x a` b', ['x', 'a b']],
  ['powershell', 'x C:\\a\\b', ['x', 'C:\\a\\b']],
];

test.each(LINES)('%s: %s', (shell, line, values, quote = '') => {
  const words = splitLine(line, shell);
  expect(words.map(({ value }) => value)).toEqual(values);
  expect(words.at(-1)?.quote).toBe(quote);
});

describe('a quoted word is read back as it was', () => {
  const values = [
    'plain',
    'a b',
    "it's",
    'say "x"',
    '$(rm -rf ~)',
    '`x`',
    'a;b',
    'a&b|c',
    'back\\slash',
    '数据',
    '*?[x]',
    '#x',
  ];
  test.each(values)('%s', (value) => {
    expect(splitLine(quoteForBash(value, ''), 'bash')).toMatchObject([{ value, quote: '' }]);
    expect(splitLine(`'${quoteForBash(value, "'")}'`, 'bash')).toMatchObject([{ value, quote: '' }]);
    expect(splitLine(`"${quoteForBash(value, '"')}"`, 'bash')).toMatchObject([{ value, quote: '' }]);
    expect(splitLine(quoteForPowerShell(value), 'powershell')).toMatchObject([{ value, quote: '' }]);
  });
});
