/** An installation is skipped if node_modules fits the lockfile. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureInstalled, installState } from '../../scripts/setup.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mcpx-skip-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: unknown): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

describe('an installation', () => {
  const lock = (version: string) => ({
    packages: { '': {}, 'node_modules/a': { version }, 'node_modules/native': { version: '1.0.0', optional: true } },
  });

  beforeEach(() => write('package-lock.json', lock('1.0.0')));

  it('is needed in a fresh checkout', () => {
    expect(installState(root)).toBe('missing');
  });

  it('made by hand is found and remembered, without optional packages for other machines', async () => {
    write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.0.0' } } });
    expect(installState(root)).toBe('record');
    await ensureInstalled(root);
    expect(installState(root)).toBe('stamp');
  });

  it('is needed again when the lockfile asks for another version', async () => {
    write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.0.0' } } });
    await ensureInstalled(root);
    write('package-lock.json', lock('1.0.1'));
    expect(installState(root)).toBe('missing');
  });
});
