/** Files in, Config or error text out: every pair in fixtures/config. `UPDATE_FIXTURES=1` writes the expected side. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, parse, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brief, createHome, failure } from './world.ts';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'config');

function inputs(folder: string): string[] {
  return readdirSync(join(FIXTURES, folder)).filter((name) => !name.includes('.expected.'));
}

/** Paths of the machine are not part of what is expected. */
function check(expected: string, actual: string, folder: string): void {
  const text = `${actual.replaceAll(join(folder, sep), '<folder>/')}\n`;
  if (process.env.UPDATE_FIXTURES === '1') writeFileSync(expected, text);
  expect(text).toBe(readFileSync(expected, 'utf8'));
}

describe('a file of this shape is accepted as it is', () => {
  test.each(inputs('shapes'))('%s', (name) => {
    const home = createHome();
    const file = home.write(name, readFileSync(join(FIXTURES, 'shapes', name), 'utf8'));
    const actual = JSON.stringify(brief(home.load({ files: [file] })), null, 2);
    check(join(FIXTURES, 'shapes', `${parse(name).name}.expected.json`), actual, home.folder);
  });
});

describe('a mistake is told with its place and a hint', () => {
  test.each(inputs('mistakes'))('%s', (name) => {
    const home = createHome();
    const file = home.write(name, readFileSync(join(FIXTURES, 'mistakes', name), 'utf8'));
    const error = failure(() => home.load({ files: [file] }));
    expect(error.code).toBe('config');
    const actual = `error: ${error.message}\n\nhint: ${error.hint}`;
    check(join(FIXTURES, 'mistakes', `${parse(name).name}.expected.txt`), actual, home.folder);
  });
});
