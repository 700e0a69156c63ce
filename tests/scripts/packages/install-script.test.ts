/** install.sh, run by a shell in an empty home: what it verifies, refuses, installs and removes. */
import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { gzip, tar } from '../../../scripts/packages/archives.mjs';
import { writeSums } from '../../../scripts/packages/checksums.mjs';
import { hostTarget } from '../../../scripts/project.mjs';

const SCRIPT = resolve(import.meta.dirname, '../../../packaging/install.sh');
const TARGET = hostTarget();
const ARCHIVE = `mcpx-7.8.9-${TARGET}.tar.gz`;

const root = mkdtempSync(join(tmpdir(), 'mcpx-install-'));
const release = join(root, 'release');
let home = '';
let count = 0;

/** Stands for the executable: the script only asks it for its version. */
const PROGRAM = Buffer.from('#!/bin/sh\necho "mcpx/7.8.9 $1"\n');

beforeAll(() => {
  mkdirSync(release);
  const entries = [{ name: `mcpx-7.8.9-${TARGET}/mcpx`, data: PROGRAM, mode: 0o755 }];
  writeFileSync(join(release, ARCHIVE), gzip(tar(entries, 0)));
  writeFileSync(join(release, `mcpx-${TARGET}`), PROGRAM);
  writeSums(release);
});
beforeEach(() => {
  home = join(root, `home-${++count}`);
  mkdirSync(home);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Ran {
  code: number;
  said: string;
}

/** Runs the script with nothing but PATH and HOME. Programs in `fakes` come before those of the system. */
function install(args: string[], env: Record<string, string> = {}, fakes: Record<string, string> = {}): Promise<Ran> {
  const bin = join(home, 'fakes');
  mkdirSync(bin, { recursive: true });
  for (const [name, body] of Object.entries(fakes)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const PATH = `${bin}:/usr/local/bin:/usr/bin:/bin`;
  const options = { cwd: home, env: { PATH, HOME: home, TMPDIR: home, ...env } };
  return new Promise((done) => {
    execFile('/bin/sh', [SCRIPT, ...args], options, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), said: stdout + stderr });
    });
  });
}

const installed = (folder = join(home, '.local/bin')) => join(folder, 'mcpx');
const isInstalled = () => existsSync(installed());
const releaseUrl = () => `file://${release}`;

describe.skipIf(process.platform === 'win32')('install.sh (needs a POSIX shell)', () => {
  test('a file that is here is verified, installed, started, and can be removed', async () => {
    const { code, said } = await install(['--file', join(release, ARCHIVE)]);
    expect(said).toContain(`installed mcpx/7.8.9 --version as ${installed()}`);
    expect(said).toContain('is not on your PATH');
    expect(said).toContain(`undo: rm "${installed()}"`);
    expect(code).toBe(0);
    expect(execFileSync(installed(), ['hello'], { encoding: 'utf8' })).toBe('mcpx/7.8.9 hello\n');
    const removed = await install(['--uninstall']);
    expect([removed.code, isInstalled()]).toEqual([0, false]);
    expect(removed.said).toContain('rm -r ~/.mcpx');
  });

  test('a bare executable can be installed into a folder of choice', async () => {
    const folder = join(home, 'tools');
    const { code } = await install(['--file', join(release, `mcpx-${TARGET}`)], { MCPX_INSTALL_DIR: folder });
    expect([code, existsSync(installed(folder)), isInstalled()]).toEqual([0, true, false]);
  });

  test('a release in a folder is found by its checksums', async () => {
    const { code, said } = await install([], { MCPX_DOWNLOAD_URL: releaseUrl(), MCPX_VERSION: 'v7.8.9' });
    expect([code, isInstalled()]).toEqual([0, true]);
    expect(said).toContain(`downloading file://${release}/${ARCHIVE}`);
  });

  test('a release is downloaded over HTTP', async () => {
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.end(readFileSync(join(release, url.replace('/files/', ''))));
    }).listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const { code, said } = await install([], { MCPX_DOWNLOAD_URL: `http://127.0.0.1:${port}/files/` });
    server.close();
    expect(said).toContain('installed');
    expect([code, asked]).toEqual([0, ['/files/SHA256SUMS', `/files/${ARCHIVE}`]]);
  });

  test.each([
    ['a space', 'my tools'],
    ['Chinese', '工具'],
  ])('folders with %s work: of the release, as a path and as a URL, and of the installation', async (_name, part) => {
    const [from, to] = [join(home, part, 'release'), join(home, part, 'bin')];
    cpSync(release, from, { recursive: true });
    for (const url of [`file://${from}`, pathToFileURL(from).href, `file://localhost${from}/`]) {
      const { code, said } = await install([], { MCPX_DOWNLOAD_URL: url, MCPX_INSTALL_DIR: to });
      expect([code, existsSync(installed(to))], said).toEqual([0, true]);
      const undo = /undo: (rm .*)/.exec(said)?.[1] ?? '';
      execFileSync('sh', ['-c', undo]);
      expect(existsSync(installed(to))).toBe(false);
    }
  });

  test('a folder may be relative, and temporary files may be where no program can run', async () => {
    // This tar leaves no file that can be executed, as on a file system that is mounted with noexec.
    const fakes = { tar: 'PATH=/usr/bin:/bin; tar "$@" && find "$4" -type f -exec chmod 644 {} +' };
    const { code, said } = await install(['--file', join(release, ARCHIVE)], { MCPX_INSTALL_DIR: 'bin' }, fakes);
    expect(said).toContain(`installed mcpx/7.8.9 --version as ${installed(join(home, 'bin'))}`);
    expect(code).toBe(0);
  });

  test('wget is enough, and without a program for checksums nothing is installed', async () => {
    const only = [
      'sh',
      'cat',
      'cp',
      'mv',
      'rm',
      'tar',
      'gzip',
      'awk',
      'sed',
      'cut',
      'uname',
      'getconf',
      'mktemp',
      'mkdir',
    ];
    const bin = join(home, 'few');
    mkdirSync(bin);
    for (const name of [...only, 'chmod', 'dirname', 'basename']) {
      symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), join(bin, name));
    }
    const env = { PATH: bin, MCPX_DOWNLOAD_URL: 'https://example.com/files' };
    expect((await install([], env)).said).toContain('neither curl nor wget is installed');
    writeFileSync(join(bin, 'wget'), `#!/bin/sh\ncp "${release}/$(basename "$4")" "$3"\n`, { mode: 0o755 });
    const unverified = await install([], env);
    expect([unverified.code, isInstalled()]).toEqual([1, false]);
    expect(unverified.said).toContain('neither sha256sum nor shasum is installed');
    const sum = execFileSync('sh', ['-c', 'command -v sha256sum || command -v shasum'], { encoding: 'utf8' }).trim();
    symlinkSync(sum, join(bin, basename(sum)));
    const { code, said } = await install([], env);
    expect([code, isInstalled()], said).toEqual([0, true]);
  });

  test('a file with another checksum is refused, and nothing is left', async () => {
    const folder = join(home, 'changed');
    mkdirSync(folder);
    writeFileSync(join(folder, ARCHIVE), 'something else');
    copyFileSync(join(release, 'SHA256SUMS'), join(folder, 'SHA256SUMS'));
    const { code, said } = await install(['--file', join(folder, ARCHIVE)]);
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(said).toMatch(/error: the checksum of ".*" is wrong: expected [0-9a-f]{64}, found [0-9a-f]{64}/);
    const downloaded = await install([], { MCPX_DOWNLOAD_URL: `file://${folder}` });
    expect([downloaded.code, isInstalled()]).toEqual([1, false]);
  });

  test('a file without a checksum is refused', async () => {
    writeFileSync(join(home, 'mcpx-other'), PROGRAM);
    expect((await install(['--file', join(home, 'mcpx-other')])).said).toContain('SHA256SUMS" to verify the file with');
    copyFileSync(join(release, 'SHA256SUMS'), join(home, 'SHA256SUMS'));
    const { code, said } = await install(['--file', join(home, 'mcpx-other')]);
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(said).toContain('SHA256SUMS has no checksum of "mcpx-other"');
  });

  test('another version than the one that was asked for is refused', async () => {
    const { code, said } = await install([], { MCPX_DOWNLOAD_URL: releaseUrl(), MCPX_VERSION: '1.0.0' });
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(said).toContain('MCPX_VERSION is 1.0.0');
  });

  test.each([
    ['musl', 'exit 1', 'this system has no glibc'],
    ['an old glibc', 'echo glibc 2.17', 'this system has glibc 2.17, and mcpx needs glibc 2.28 or later'],
  ])('a system with %s is refused with the reason', async (_name, getconf, reason) => {
    const { code, said } = await install(['--file', join(release, ARCHIVE)], {}, { getconf, uname: LINUX });
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(said).toContain(reason);
  });

  test('an unknown processor and an old macOS are refused with the reason', async () => {
    const processor = await install([], {}, { uname: 'echo riscv64' });
    expect(processor.said).toContain('there is no mcpx for the processor riscv64');
    const fakes = { uname: 'case $1 in -m) echo arm64;; *) echo Darwin;; esac', sw_vers: 'echo 13.4.1' };
    const system = await install([], {}, fakes);
    expect(system.said).toContain('this is macOS 13.4.1, and mcpx needs macOS 13.5 or later');
    expect([processor.code, system.code]).toEqual([1, 1]);
  });

  test('an executable that does not start is not installed', async () => {
    const folder = join(home, 'broken');
    mkdirSync(folder);
    writeFileSync(join(folder, 'mcpx-broken'), '#!/bin/sh\necho "libstdc++.so.6 is missing" >&2\nexit 127\n');
    writeSums(folder);
    const { code, said } = await install(['--file', join(folder, 'mcpx-broken')]);
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(said).toContain('the executable does not run here');
  });

  test('the copy in the repository belongs to no release and says so', async () => {
    const { code, said } = await install([]);
    expect(code).toBe(1);
    expect(said).toContain('this copy of install.sh belongs to no release');
  });

  test('--help prints how to use it, and an unknown option is refused', async () => {
    expect((await install(['--help'])).said).toContain('MCPX_DOWNLOAD_URL');
    expect((await install(['--fiel'])).said).toContain('unknown option "--fiel"');
  });
});

const LINUX = 'case $1 in -m) echo x86_64;; *) echo Linux;; esac';

describe('install.ps1', () => {
  const text = readFileSync(SCRIPT.replace('.sh', '.ps1'), 'utf8');

  test('reads the same variables as install.sh, and has one place for the address of the releases', () => {
    for (const name of ['MCPX_INSTALL_DIR', 'MCPX_VERSION', 'MCPX_DOWNLOAD_URL'])
      expect(text).toContain(`$env:${name}`);
    expect(text.match(/'@RELEASES@'/g)).toHaveLength(1);
  });

  test('compares the checksum before it unpacks, starts or copies anything', () => {
    const steps = ['Test-Sum $Path', 'Expand-Archive', '& $Executable --version', 'Copy-Item -LiteralPath $Executable'];
    const places = steps.map((step) => text.indexOf(step));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test('uses nothing that Windows PowerShell 5.1 lacks, and only ASCII, which it reads without a BOM', () => {
    expect(text).not.toMatch(/\?\?|\?\.|&&|\|\||-Parallel|ternary/);
    expect([...text].every((letter) => letter.charCodeAt(0) < 128)).toBe(true);
  });

  test('has a closing bracket for every opening one', () => {
    const code = text.replace(/<#[\s\S]*?#>|#.*$|'[^'\n]*'/gm, '');
    for (const [open = '', close = ''] of ['{}', '()', '[]'].map((pair) => [...pair])) {
      expect(code.split(open).length, `${open}${close}`).toBe(code.split(close).length);
    }
  });
});
