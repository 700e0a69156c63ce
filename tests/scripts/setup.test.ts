/** An installation is skipped if node_modules fits the lockfile. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/project.mjs';
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

describe.skipIf(process.platform === 'win32')('a checkout without node_modules (needs a POSIX shell)', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  it.each(['start', 'test', 'build', 'packages', 'release:dry'])('is installed by npm run %s', (name) => {
    for (const part of ['scripts', 'package.json', 'package-lock.json']) {
      cpSync(join(ROOT, part), join(root, part), { recursive: true });
    }
    mkdirSync(join(root, 'bin'));
    writeFileSync(join(root, 'bin', 'npm'), '#!/bin/sh\necho "npm $*"\nexit 1\n', { mode: 0o755 });
    const PATH = [join(root, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
    const { stderr } = spawnSync('sh', ['-c', scripts[name] ?? ''], { cwd: root, env: { PATH }, encoding: 'utf8' });
    expect(stderr).toContain('npm ci');
    expect(stderr).toContain('error: "npm ci" failed');
  });
});
