/** JSON files with mode 0600: cached reads, changes under a lock, damaged files. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPrivateFile } from '../src/private-file.ts';

function open(file = join(mkdtempSync(join(tmpdir(), 'mcpx-private-')), 'home', 'numbers.json')) {
  onTestFinished(() => rmSync(join(file, '..', '..'), { recursive: true, force: true }));
  const warnings: string[] = [];
  const parsed: unknown[] = [];
  const numbers = createPrivateFile<number[]>({
    ...{ file, empty: [], remedy: 'Count again', warn: (message) => void warnings.push(message) },
    parse(value) {
      parsed.push(value);
      if (!Array.isArray(value)) throw new Error('it is no list');
      return value;
    },
  });
  return { file, numbers, warnings, parsed };
}

test('a file is created with its folder when it is changed, and not when it is read', async () => {
  const { file, numbers } = open();
  expect(numbers.read()).toEqual([]);
  expect(existsSync(join(file, '..'))).toBe(false);
  await numbers.change((all) => [...all, 1]);
  expect(numbers.read()).toEqual([1]);
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('an unchanged file is parsed once, and a replaced one again', async () => {
  const { file, numbers, parsed } = open();
  await numbers.change(() => [1]);
  const first = numbers.read();
  expect(numbers.read()).toBe(first);
  const before = parsed.length;
  await open(file).numbers.change((all) => [...all, 2]);
  expect(numbers.read()).toEqual([1, 2]);
  expect(parsed.length).toBe(before + 1);
});

test('changes of several owners at once are all kept', async () => {
  const { file, numbers } = open();
  const owners = [numbers, open(file).numbers, open(file).numbers];
  await Promise.all(Array.from({ length: 30 }, (_, i) => owners[i % 3]?.change((all) => [...all, i])));
  expect([...numbers.read()].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i));
});

test('an edit that throws changes nothing and releases the lock', async () => {
  const { numbers } = open();
  await numbers.change(() => [1]);
  const failing = numbers.change(() => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await numbers.change((all) => [...all, 2]);
  expect(numbers.read()).toEqual([1, 2]);
});

test('a damaged file is moved aside and never overwritten', async () => {
  const { file, numbers, warnings } = open();
  await numbers.change(() => [1]);
  writeFileSync(file, '{"a":', { mode: 0o600 });
  expect(numbers.read()).toEqual([]);
  expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('{"a":');
  expect(warnings.join()).toMatch(/is not valid .* it is now ".*\.damaged"\. Count again/);
  writeFileSync(file, '{}', { mode: 0o600 });
  await numbers.change((all) => [...all, 3]);
  expect(numbers.read()).toEqual([3]);
  expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('{}');
});

test('a file that cannot be read is named with what to do, and is neither replaced nor changed', async () => {
  const { file, numbers } = open();
  // A folder in its place: the tests may run as root, who may read every file.
  mkdirSync(file, { recursive: true });
  const expected = { message: `"${file}" cannot be read (EISDIR)`, hint: expect.stringContaining('Count again') };
  expect(() => numbers.read()).toThrow(expect.objectContaining(expected));
  await expect(numbers.change(() => [1])).rejects.toMatchObject(expected);
  expect(statSync(file).isDirectory()).toBe(true);
});
