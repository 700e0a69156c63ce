/** Help at 80 columns, held in files: `npx vitest run tests/cli/help.test.ts -u` writes them after a change of the table. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { nameOf } from '../../src/cli/command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../../src/cli/commands.ts';
import { TOPICS, type Topic } from '../../src/cli/help-topics.ts';
import { manualPage } from '../../src/cli/man.ts';
import { EXIT_CODES } from '../../src/errors.ts';
import { widthOf } from '../../src/render/columns.ts';
import { textOf } from '../setup/documents.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();
const GOLDEN = join(import.meta.dirname, '..', 'fixtures', 'help');

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

const TOPIC_NAMES = ['', ...COMMANDS.map(({ usage }) => nameOf(usage)), ...Object.keys(TOPICS)];

describe('mcpx help', () => {
  test.each(TOPIC_NAMES)('%s', async (topic) => {
    expect(await mcpx('help', ...topic.split(' ').filter((word) => word !== ''))).toBe(0);
    const file = `${topic === '' ? 'mcpx' : topic.replace(' ', '-')}.txt`;
    await expect(shown.stdout).toMatchFileSnapshot(join(GOLDEN, file));
    const tooLong = shown.stdout.split('\n').filter((line) => widthOf(line) > 80);
    // A command to type and a word without spaces stay on one line.
    expect(tooLong.filter((line) => line.trim().includes(' ') && !line.startsWith('  mcpx '))).toEqual([]);
  });

  test('there is no file for help that does not exist', () => {
    const names = TOPIC_NAMES.map((topic) => `${topic === '' ? 'mcpx' : topic.replace(' ', '-')}.txt`);
    expect(readdirSync(GOLDEN).sort()).toEqual([...new Set(names)].sort());
  });

  test('--json prints the table of commands, or a part of it', async () => {
    expect(await mcpx('help', '--json')).toBe(0);
    const all = JSON.parse(shown.stdout);
    expect(all.commands).toHaveLength(COMMANDS.length);
    expect(Object.keys(all.topics)).toEqual(Object.keys(TOPICS));
    shown.stdout = '';
    expect(await mcpx('help', 'exec', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout).commands).toMatchObject([{ name: 'exec', group: 'Use' }]);
    expect(await mcpx('help', 'nonsense', '--json')).toBe(2);
  });
});

const termsOf = ({ parts }: Topic) => parts.flatMap((part) => (typeof part === 'string' ? [] : part.terms));

describe('the topics', () => {
  test('environment names every variable that the source reads, and no other', () => {
    const source = readdirSync(join(import.meta.dirname, '../../src/config'))
      .map((file) => textOf(join('src/config', file)))
      .join('\n');
    const read = [...source.matchAll(/'(MCPX_[A-Z_]*[A-Z])'/g)].map(([, name]) => name);
    const terms = termsOf(TOPICS.environment);
    const named = terms.map(([name]) => name).filter((name) => /^MCPX_[A-Z_]+$/.test(name));
    expect(named.sort()).toEqual([...new Set(read)].sort());
  });

  test('exit-codes names every exit code', () => {
    const terms = termsOf(TOPICS['exit-codes']);
    const codes = [...new Set([0, 130, ...Object.values(EXIT_CODES)])].sort((a, b) => a - b);
    expect(terms.map(([code]) => Number(code))).toEqual(codes);
  });
});

describe('the man page', () => {
  const lines = manualPage(COMMANDS, GLOBAL_OPTIONS).split('\n');

  test('has every command, option and topic', () => {
    for (const { usage } of COMMANDS) expect(lines.join('\n')).toContain(`.SS mcpx ${nameOf(usage)}`);
    for (const title of ['NAME', 'SYNOPSIS', 'OPTIONS', 'ENVIRONMENT', 'FILES', 'EXIT STATUS', 'SECURITY'])
      expect(lines).toContain(`.SH ${title}`);
    expect(lines).toContain('.B \\-\\-select <expression>');
  });

  test('has only requests of the man macros, and no line of text that looks like one', () => {
    const requests = lines.filter((line) => /^[.']/.test(line)).map((line) => line.split(' ')[0]);
    const known = ['.TH', '.SH', '.SS', '.TP', '.B', '.RI', '.PP', '.nf', '.fi', '.RS', '.RE'];
    expect([...new Set(requests)].filter((one) => !known.includes(one ?? ''))).toEqual([]);
    expect(lines.filter((line) => line.trim() === '')).toEqual([]);
  });
});
