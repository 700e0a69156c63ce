/** The command line between the shell and cac: values stay as typed, wherever their option stands. */
import { describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { namesOf } from '../../src/cli/command.ts';
import { asTyped, forCac, readCommandLine } from '../../src/cli/command-line.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../../src/cli/commands.ts';
import { captureOutput } from '../setup/output.ts';
import { typedFlags } from '../setup/typed-flags.ts';

const shown = captureOutput();

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

describe('the values of an option', () => {
  test.each([
    [['list', '--config', '007'], 'config', ['007']],
    [['list', '--config', '12345678901234567890'], 'config', ['12345678901234567890']],
    [['list', '-c', 'a', '--config=b=c'], 'config', ['a', 'b=c']],
    [['list', '--config', '-'], 'config', ['-']],
    [['list', '--config='], 'config', ['']],
    [['exec', '--args', '--json', 'x'], 'args', ['--json']],
    [['exec', '-yc', '007', 'x'], 'config', ['007']],
    [['serve', '--log-level', 'debug'], 'log-level', ['debug']],
    [['serve', '--http', '--strict'], 'http', []],
    [['serve', '--http', '1:2'], 'http', ['1:2']],
    [['--http', 'serve', '--strict'], 'http', []],
    [['--config', 'x', 'list'], 'config', ['x']],
    [['exec', '--', '--config', 'x'], 'config', []],
  ])('of %j: --%s is %j', (words, name, values) => {
    expect(typedFlags(...words).values(name)).toEqual(values);
  });

  test('an option without a value is there, an absent one is not', () => {
    const flags = typedFlags('serve', '--strict', '--http');
    expect([flags.has('strict'), flags.has('http'), flags.has('watch'), flags.value('http')]).toEqual([
      true,
      true,
      false,
      undefined,
    ]);
  });

  test('an option that begins with "no-" is there only if it was typed', () => {
    const [typed, other] = [typedFlags('login', 'x', '--no-browser'), typedFlags('login', 'x', '--json')];
    expect([typed.has('no-browser'), typed.has('browser')]).toEqual([true, false]);
    expect([other.has('no-browser'), typedFlags('add', 'x', '--no-check').has('check')]).toEqual([false, false]);
  });

  test('an option takes a value in all commands or in none', () => {
    const kinds = new Map<string, string>();
    for (const { flags } of [...GLOBAL_OPTIONS, ...COMMANDS.flatMap(({ options }) => options)]) {
      const kind = /[<[]/.exec(flags)?.[0] ?? 'none';
      for (const name of namesOf(flags)) {
        expect(kinds.get(name) ?? kind, name).toBe(kind);
        kinds.set(name, kind);
      }
    }
  });
});

test.each([
  [
    ['config', 'validate', 'x'],
    ['config:validate', 'x'],
  ],
  [
    ['-c', 'a', 'config', 'show'],
    ['config:show', '--config=a'],
  ],
  [
    ['exec', 'a.b', 'n=007', '-', '--', '--json'],
    ['exec', 'a.b', 'n=007', '-', '--json'],
  ],
])('%j is given to cac as %j', (words, given) => {
  expect(forCac(readCommandLine(words)).map(asTyped)).toEqual(given);
});

test('a group and a command have help wherever --help stands', async () => {
  expect(await mcpx('config', '--help')).toBe(0);
  expect(shown.stdout).toContain('mcpx config schema');
  for (const words of [
    ['--help', 'exec', 'time.now'],
    ['exec', 'time.now', '-h'],
  ]) {
    shown.stdout = '';
    expect(await mcpx(...words)).toBe(0);
    expect(shown.stdout).toMatch(/^mcpx exec <target>/);
  }
});

test('words after -- are arguments, even if they look like options', async () => {
  expect(await mcpx('list', '--', '-x')).toBe(2);
  expect(shown.stderr).toContain('"list" does not take "-x"');
  expect(await mcpx('exec', '--demo', '--', 'math.calculate', 'expression=6*7')).toBe(0);
  expect(shown.stdout).toContain('42');
});
