/** `mcpx config set` and `mcpx config unset`: one value changes, comments stay, and the config still loads. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { formatKey, parseKey } from '../../src/cli/config-key.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();

async function config(...words: string[]): Promise<number> {
  Object.assign(shown, { stdout: '', stderr: '' });
  const stop = new AbortController().signal;
  return runCli({ words: ['config', ...words], stdinIsTerminal: true, stop, atExit: () => undefined });
}

function written(text: string): { file: string; text(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-set-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, text);
  return { file, text: () => readFileSync(file, 'utf8') };
}

const TEXT = '{\n  // mine\n  "mcpServers": { "a": { "command": "x", "args": ["1", "2"] } } // too\n}\n';

test.each([
  ['http.port', '3096', '"port": 3096'],
  ['mcpServers.a.startupTimeout', '2m', '"startupTimeout": "2m"'],
  ['mcpServers.a.args.1', '"3"', '"args": ["1", "3"]'],
  ['mcpServers.a.args', '["y"]', '"args": ["y"]'],
  ['mcpServers.a.env.REGION', '${REGION}', '"REGION":"${REGION}"'],
  ['offline', 'true', '"offline": true'],
])('set %s %s', async (key, value, expected) => {
  const { file, text } = written(TEXT);
  expect(await config('set', key, value, '--config', file)).toBe(0);
  expect(text()).toContain(expected);
  expect(text()).toMatch(/\/\/ mine\n[\s\S]*\/\/ too/);
  expect(shown.stderr).toBe(`changed ${key} in ${file}\n`);
  expect(readFileSync(`${file}.bak`, 'utf8')).toBe(TEXT);
});

test('unset removes a value, and changes nothing if there is none', async () => {
  const { file, text } = written(TEXT);
  expect(await config('unset', 'mcpServers.a.args', '--config', file)).toBe(0);
  expect(text()).not.toContain('args');
  const after = text();
  expect(await config('unset', 'mcpServers.a.args', '--config', file)).toBe(0);
  expect(shown.stderr).toContain('nothing has to be changed');
  expect(text()).toBe(after);
});

test('a change with which the config would not load is refused', async () => {
  const { file, text } = written(TEXT);
  expect(await config('set', 'http.port', 'many', '--config', file)).toBe(6);
  expect(await config('unset', 'mcpServers.a.command', '--config', file)).toBe(6);
  expect(text()).toBe(TEXT);
});

test('a config with two mistakes is corrected one by one, and an unknown key is warned about', async () => {
  const { file } = written('{ "mcpServers": {}, "http": { "port": "a" }, "connect": { "concurrency": "b" } }');
  expect(await config('set', 'http.port', '3096', '--config', file)).toBe(6);
  expect(shown.stderr).toContain('concurrency');
  expect(await config('set', 'connect.concurrency', '4', '--config', file)).toBe(0);
  expect(await config('set', 'htp.port', '1', '--config', file)).toBe(0);
  expect(shown.stderr).toMatch(/warning: .*"htp"/);
});

test('without a config, one is made', async () => {
  const file = join(homedir(), '.mcpx', 'config.json');
  onTestFinished(() => rmSync(join(homedir(), '.mcpx'), { recursive: true, force: true }));
  expect(existsSync(file)).toBe(false);
  expect(await config('set', 'http.port', '3096')).toBe(0);
  expect(readFileSync(file, 'utf8')).toContain('"port": 3096');
});

test.each<[string, (string | number)[]]>([
  ['a.b', ['a', 'b']],
  ['a."b.c".d', ['a', 'b.c', 'd']],
  ['list.0.x', ['list', 0, 'x']],
])('the key %s', (key, path) => {
  expect(parseKey(key, { list: [{}] })).toEqual(path);
  expect(formatKey(path)).toBe(key);
});

test.each(['', 'a..b', '.a', 'a.', 'a"b'])('%j is no key', (key) => {
  expect(() => parseKey(key, {})).toThrow('is not a key');
});
