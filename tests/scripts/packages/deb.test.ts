/** The packages for Debian and Fedora: dpkg-deb reads the one, and the spec of the other names its files. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { deb, debVersion } from '../../../scripts/packages/deb.mjs';
import { placed, spec } from '../../../scripts/packages/rpm.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-deb-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FILES = [
  { name: 'mcpx', system: 'usr/bin/mcpx', data: Buffer.from('#!/bin/sh\necho mcpx\n'), mode: 0o755 },
  { name: 'LICENSE', system: 'usr/share/doc/mcpx/copyright', data: Buffer.from('MIT\n') },
];

test('a pre-release is older than its release for dpkg', () => {
  expect(debVersion('1.0.0-rc.1')).toBe('1.0.0~rc.1');
});

describe.skipIf(spawnSync('dpkg-deb', ['--version']).status !== 0)('dpkg-deb (needs dpkg-deb)', () => {
  const dpkg = (...args: string[]) => execFileSync('dpkg-deb', args, { encoding: 'utf8' });

  test.each([
    ['linux-x64', 'amd64'],
    ['linux-arm64', 'arm64'],
  ])('reads the package for %s, with its architecture and what it depends on', (target, architecture) => {
    const file = join(folder, `${architecture}.deb`);
    writeFileSync(file, deb(target, FILES));
    const facts = dpkg('--info', file);
    expect(facts).toContain(`Architecture: ${architecture}`);
    expect(facts).toContain('Package: mcpx');
    expect(facts).toContain('Depends: libc6 (>= 2.28), libstdc++6 (>= 8)');
  });

  test('unpacks the files with their modes, owned by root', () => {
    const file = join(folder, 'files.deb');
    writeFileSync(file, deb('linux-x64', FILES));
    expect(dpkg('--contents', file)).toMatch(/^-rwxr-xr-x root\/root +\d+ \S+ \S+ \.\/usr\/bin\/mcpx$/m);
    dpkg('--extract', file, join(folder, 'root'));
    expect(readFileSync(join(folder, 'root/usr/share/doc/mcpx/copyright'), 'utf8')).toBe('MIT\n');
    expect(statSync(join(folder, 'root/usr/bin/mcpx')).mode & 0o777).toBe(0o755);
    dpkg('--control', file, join(folder, 'control'));
    const sums = join(folder, 'control', 'md5sums');
    expect(existsSync(sums)).toBe(true);
    execFileSync('md5sum', ['--check', '--quiet', sums], { cwd: join(folder, 'root') });
  });

  test('is the same in every build', () => {
    expect(deb('linux-x64', FILES).equals(deb('linux-x64', FILES))).toBe(true);
  });
});

test('the RPM lists every file, strips nothing and searches for no dependencies', () => {
  const text = spec(FILES);
  for (const { system } of FILES) expect(text).toMatch(new RegExp(`^(?:%doc )?/${system}$`, 'm'));
  expect(text).toContain('AutoReqProv: no');
  expect(text).toContain('%global __os_install_post %{nil}');
});

test('the RPM has licence and completions where Fedora has them, and its own folders', () => {
  const zsh = { name: '_mcpx', system: 'usr/share/zsh/vendor-completions/_mcpx', data: Buffer.from('') };
  const text = spec(placed([...FILES, zsh]));
  const lines = ['%license /usr/share/licenses/mcpx/LICENSE', '/usr/share/zsh/site-functions/_mcpx'];
  for (const line of [...lines, '%dir /usr/share/licenses/mcpx']) expect(text.split('\n')).toContain(line);
  expect(text).not.toContain('copyright');
});
