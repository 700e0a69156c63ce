/** The key that seals what clients carry: one for all processes of a home, for its owner only, and never one that others saw. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSecretKey } from '../../../src/listen/mcp/secret-key.ts';

const run = promisify(execFile);
const onPosix = test.runIf(process.platform !== 'win32');

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'mcpx-key-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** The key for a purpose as the next process would have it, and what it says of the file. */
function keyIn(file: string, purpose = 'test'): { key: string; said: string[] } {
  const said: string[] = [];
  const log = { warn: (text: string) => void said.push(text) };
  return { key: createSecretKey({ file, log }).derive(purpose).toString('hex'), said };
}

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('is made by the first use, and not before', () => {
  const home = join(folder(), '.mcpx');
  const file = join(home, 'secret.key');
  const secret = createSecretKey({ file });
  expect(() => statSync(home)).toThrow('ENOENT');
  expect(secret.derive('a')).toHaveLength(32);
  expect(readdirSync(home)).toEqual(['secret.key']);
});

onPosix('is for its owner only, and so is its folder', () => {
  const home = join(folder(), '.mcpx');
  keyIn(join(home, 'secret.key'));
  expect([modeOf(home), modeOf(join(home, 'secret.key'))]).toEqual([0o700, 0o600]);
});

test('is the same after a restart, and another one in another home', () => {
  const file = join(folder(), 'secret.key');
  const { key, said } = keyIn(file);
  expect(keyIn(file)).toEqual({ key, said: [] });
  expect(said).toEqual([]);
  expect(keyIn(join(folder(), 'secret.key')).key).not.toBe(key);
  expect(createSecretKey().derive('test').toString('hex')).not.toBe(key);
});

test('is another one for each purpose, and none of them is in the file', () => {
  const file = join(folder(), 'secret.key');
  const keys = ['a', 'b'].map((purpose) => Buffer.from(keyIn(file, purpose).key, 'hex').toString('base64url'));
  expect(new Set([...keys, readFileSync(file, 'utf8').trim()]).size).toBe(3);
});

describe('a file that cannot be trusted is set aside, and that is said', () => {
  const good = Buffer.alloc(32, 7).toString('base64url');
  test.each([
    ['empty', '', 0o600],
    ['too short', good.slice(2), 0o600],
    ['too long', `${good}AA`, 0o600],
    ['something else', 'this is no key, but it is a file all the same', 0o600],
    ['readable by all', good, 0o644],
    ['readable by a group', good, 0o640],
  ])('%s', (_, text, mode) => {
    if (process.platform === 'win32' && mode !== 0o600) return;
    const home = folder();
    const file = join(home, 'secret.key');
    writeFileSync(file, text);
    chmodSync(file, mode);
    const { key, said } = keyIn(file);
    expect(said).toEqual([expect.stringMatching(/the key file ".*secret\.key" is not used, because .*damaged/)]);
    expect(readFileSync(`${file}.damaged`, 'utf8')).toBe(text);
    expect(keyIn(file)).toEqual({ key, said: [] });
    expect(readdirSync(home).sort()).toEqual(['secret.key', 'secret.key.damaged']);
  });
});

test('is known to the process alone where nothing can be written, and that is said', () => {
  const file = join(folder(), 'a file');
  writeFileSync(file, '');
  const one = keyIn(join(file, 'secret.key'));
  expect(one.said).toEqual([expect.stringContaining('cannot be used')]);
  expect(keyIn(join(file, 'secret.key')).key).not.toBe(one.key);
});

test.each([
  ['nothing is there', undefined],
  ['a damaged file is there', 'damaged'],
])('processes that start together agree on one key where %s', async (_, text) => {
  const home = folder();
  const file = join(home, 'secret.key');
  if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
  const script = join(home, 'key.mjs');
  const contents = `import { createSecretKey } from './src/listen/mcp/secret-key.ts';
    console.log(createSecretKey({ file: process.argv[2] }).derive('test').toString('hex'));`;
  await build({
    stdin: { contents, resolveDir: process.cwd() },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: script, logLevel: 'error' },
  });
  const outputs = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, [script, file])));
  expect(new Set(outputs.map(({ stdout }) => stdout.trim()))).toEqual(new Set([keyIn(file).key]));
});
