/** `mcpx logs`: stored output of servers and the log of mcpx, merged by time, and followed. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';
import { until } from '../setup/until.ts';

const shown = captureOutput();
const LOGS = join(homedir(), '.mcpx', 'logs');
afterEach(() => rmSync(LOGS, { recursive: true, force: true }));

async function mcpx(words: string[], stop = new AbortController()): Promise<number> {
  Object.assign(shown, { stdout: '', stderr: '' });
  return runCli({ words, stdinIsTerminal: true, stop: stop.signal, atExit: () => undefined });
}

function configured(settings: object = {}): { file: string; log: string } {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-logs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'x' }, b: { command: 'y' } }, ...settings }));
  return { file, log: join(folder, 'mcpx.log') };
}

function stored(server: string, text: string): string {
  mkdirSync(LOGS, { recursive: true });
  const file = join(LOGS, `${server}.log`);
  writeFileSync(file, text);
  return file;
}

test('the lines of all servers and of mcpx are in the order of time', async () => {
  const { file, log } = configured({ log: { file: './mcpx.log' } });
  stored('a', '2026-01-01T00:00:01.000Z one\n2026-01-01T00:00:04.000Z four\n');
  stored('b', '2026-01-01T00:00:02.000Z two\n');
  writeFileSync(log, '2026-01-01T00:00:03.000Z mcpx info: three\n  more of it\n');
  expect(await mcpx(['logs', '--config', file])).toBe(0);
  expect(shown.stdout).toBe(
    [
      '2026-01-01T00:00:01.000Z a one',
      '2026-01-01T00:00:02.000Z b two',
      '2026-01-01T00:00:03.000Z mcpx mcpx info: three',
      'mcpx   more of it',
      '2026-01-01T00:00:04.000Z a four\n',
    ].join('\n'),
  );
  await mcpx(['logs', '--config', file, '-n', '1']);
  expect(shown.stdout).toBe('2026-01-01T00:00:04.000Z a four\n');
  await mcpx(['logs', '--config', file, 'b', '--json']);
  expect(JSON.parse(shown.stdout)).toEqual([{ time: '2026-01-01T00:00:02.000Z', source: 'b', text: 'two' }]);
  await mcpx(['logs', '--config', file, 'mcpx', '-n', '1']);
  expect(shown.stdout).toBe('  more of it\n');
});

test('a log in JSON keeps its fields', async () => {
  const { file, log } = configured({ log: { file: './mcpx.log', format: 'json' } });
  writeFileSync(log, '{"time":"2026-01-01T00:00:03.000Z","level":"info","message":"hello"}\n');
  await mcpx(['logs', '--config', file, 'mcpx']);
  expect(shown.stdout).toBe('2026-01-01T00:00:03.000Z {"level":"info","message":"hello"}\n');
});

test('-f prints new lines until it is stopped, as JSON one per line', async () => {
  const { file } = configured();
  const log = stored('a', '2026-01-01T00:00:01.000Z one\n');
  const stop = new AbortController();
  const ended = mcpx(['logs', 'a', '-f', '--json', '--config', file], stop);
  await until(() => shown.stdout.includes('one'));
  appendFileSync(log, '2026-01-01T00:00:02.000Z two\n');
  await until(() => shown.stdout.includes('two'));
  stop.abort();
  expect(await ended).toBe(0);
  expect(
    shown.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).text),
  ).toEqual(['one', 'two']);
});

test('where nothing is stored, a sentence says why', async () => {
  const { file } = configured();
  expect(await mcpx(['logs', '--config', file])).toBe(0);
  expect(shown.stderr).toContain('no server has written to stderr');
  expect(await mcpx(['logs', 'a', '--config', file])).toBe(0);
  expect(shown.stderr).toContain('server "a": it was never started, or has written nothing to stderr');
  expect(await mcpx(['logs', 'mcpx', '--config', file])).toBe(0);
  expect(shown.stderr).toContain('set "log.file" in the config');
  expect(shown.stdout).toBe('');
});

test('an unknown server and a wrong number are errors; a server that was removed still has its lines', async () => {
  const { file } = configured();
  expect(await mcpx(['logs', 'aa', '--config', file])).toBe(7);
  expect(shown.stderr).toContain('there is no server "aa"');
  expect(await mcpx(['logs', '-n', 'many', '--config', file])).toBe(2);
  expect(shown.stderr).toContain('"many" is not a number of lines');
  stored('gone', '2026-01-01T00:00:01.000Z one\n');
  expect(await mcpx(['logs', 'gone', '--config', file])).toBe(0);
  expect(shown.stdout).toBe('2026-01-01T00:00:01.000Z one\n');
});
