/** `mcpx exec`: one form for results and their parts, a limit of time, and the signature after wrong arguments. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { resultText, valueText } from '../../src/cli/result-text.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

/** A config with servers of the fixtures: `tiny.echo` answers its arguments as JSON, `slow.sleep` waits. */
function servers(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-exec-')), 'config.json');
  const server = (name: string) => ({
    command: process.execPath,
    args: [join(import.meta.dirname, '..', 'fixtures', 'servers', name)],
  });
  writeFileSync(file, JSON.stringify({ mcpServers: { tiny: server('tiny.mjs'), slow: server('stdio.mjs') } }));
  return file;
}

describe('a result is printed in one way', () => {
  test.each([
    [{ a: 1 }, '{"a":1}'],
    ['text', '"text"'],
    [[], '[]'],
    [{ a: 'x'.repeat(80) }, `{\n  "a": "${'x'.repeat(80)}"\n}`],
  ])('the value %j', (value, text) => expect(valueText(value)).toBe(text));

  test.each([
    ['plain text', 'plain text'],
    ['{"id":12345678901234567890,"a":[1]}', '{"id":12345678901234567890,"a":[1]}'],
    ['{ "a": 1 }', '{"a":1}'],
    ['[not json', '[not json'],
    ['5', '5'],
  ])('the text %j', (text, printed) => {
    expect(resultText({ content: [{ type: 'text', text }] })).toBe(printed);
  });

  test('structured content without a text is printed as JSON', () => {
    expect(resultText({ content: [], structuredContent: { a: 1 } })).toBe('{"a":1}');
  });

  test('with and without --select', async () => {
    const big = `list:=${JSON.stringify(Array.from({ length: 40 }, (_, at) => at))}`;
    const call = ['exec', '-c', servers(), 'tiny.echo', big];
    expect(await mcpx(...call)).toBe(0);
    const whole = shown.stdout;
    shown.stdout = '';
    expect(await mcpx(...call, '--select', '@')).toBe(0);
    expect(shown.stdout).toBe(whole);
    expect(whole).toMatch(/^\{\n {2}"list": \[\n/);
  });
});

describe('--timeout', () => {
  test.each(['0', '-1', 'soon', '5 days'])('refuses %j', async (text) => {
    expect(await mcpx('exec', '--demo', 'math.calculate', `--timeout=${text}`)).toBe(2);
    expect(shown.stderr).toContain(`"${text}" is not a duration`);
  });

  test('ends a call that takes longer, and says after which time', async () => {
    expect(await mcpx('exec', '-c', servers(), 'slow.sleep', 'ms:=600000', '--timeout', '2s')).toBe(1);
    expect(shown.stderr).toMatch(/^error: "slow\.sleep" was stopped after 2s\n\nhint: set a longer --timeout\n$/);
    expect(shown.stdout).toBe('');
  });

  test('does not change a call that ends before; a number is in seconds', async () => {
    expect(await mcpx('exec', '--demo', 'math.calculate', 'expression=6*7', '--timeout', '30')).toBe(0);
    expect(shown.stdout).toContain('42');
  });
});

test('an error of the tool shows the signature on stderr, and with --json only the result', async () => {
  expect(await mcpx('exec', '--demo', 'math.calculate', 'expression=1/')).toBe(5);
  expect(shown.stdout).toBe('');
  expect(shown.stderr).toMatch(/^error: .*\n\ncalculate\(\{ expression: string/s);
  shown.stderr = '';
  expect(await mcpx('exec', '--demo', 'math.calculate', 'expression=1/', '--json')).toBe(5);
  expect(shown.stderr).toBe('');
});

test('a JSON object as an argument: the hint has the option for it', async () => {
  expect(await mcpx('exec', '--demo', 'math.calculate', '{"expression":"1"}')).toBe(2);
  expect(shown.stderr).toContain(`hint: arguments in JSON follow --args: --args '{"expression":"1"}'`);
});

test('wrong arguments show the signature on stderr', async () => {
  expect(await mcpx('exec', '--demo', 'math.convert_base', 'nummer=255')).toBe(2);
  expect(shown.stdout).toBe('');
  expect(shown.stderr).toContain('\n\nconvert_base({ number: string');
  expect(shown.stderr).toMatch(/\n\nhint: mcpx inspect --demo math\.convert_base\n$/);
});
