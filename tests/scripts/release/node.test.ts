/** The pinned Node: its lock file is complete, and nothing that differs from it is ever used. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sha256, TARGETS } from '../../../scripts/project.mjs';
import { nodeLock, verifyIntegrity } from '../../../scripts/release/node.mjs';
import { releasedNode, verifySha256 } from '../../../scripts/release/node-release.mjs';

const { version, targets } = nodeLock();

describe('the lock file', () => {
  it('pins one exact Node 24', () => {
    expect(version).toMatch(/^24\.\d+\.\d+$/);
  });

  it('has a hash for every target', () => {
    expect(Object.keys(targets).sort()).toEqual([...TARGETS].sort());
    for (const { sha256 } of Object.values(targets)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  const packages = Object.entries(targets).filter(([, pin]) => pin.package !== undefined);
  const downloads = Object.entries(targets).filter(([, pin]) => pin.package === undefined);

  it.each(downloads)('names the file of %s in the release of Node', (target, pin) => {
    expect(pin.download).toMatch(new RegExp(`^(node-v${version}-${target}\\.tar\\.gz|${target}/node\\.exe)$`));
  });

  it.each(packages)('names the package, the binary and both hashes of %s', (target, pin) => {
    expect(pin.package).toBe(`node-${target}`);
    expect(pin.binary).toBe(target.startsWith('win-') ? 'bin/node.exe' : 'bin/node');
    expect(Buffer.from(pin.integrity.replace(/^sha512-/, ''), 'base64')).toHaveLength(64);
    expect(pin.integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  });

  it('has no hash twice', () => {
    const hashes = [...Object.values(targets).map((pin) => pin.sha256), ...packages.map(([, pin]) => pin.integrity)];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('a download', () => {
  const bytes = Buffer.from('abc');
  const integrity = 'sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==';
  const hash = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

  it('with the pinned hashes is accepted', () => {
    verifyIntegrity(bytes, integrity, 'node-x@1');
    verifySha256(bytes, hash, 'node-x@1');
  });

  it('with another hash is refused, by name and with both hashes', () => {
    const other = Buffer.from('abd');
    expect(() => verifyIntegrity(other, integrity, 'node-x@1')).toThrow(
      /"node-x@1" is not the pinned one: expected sha512-3a81/,
    );
    expect(() => verifySha256(other, hash, 'node-x@1')).toThrow(/"node-x@1" is not the pinned one: expected ba78/);
  });
});

describe('a Node that npm has no package of', () => {
  const binary = Buffer.from('the binary');
  const pin = { download: 'win-arm64/node.exe', binary: 'node.exe', sha256: sha256(binary) };
  let folder: string;
  let dist: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mcpx-node-'));
    mkdirSync(join(folder, 'dist', 'v1.2.3', 'win-arm64'), { recursive: true });
    writeFileSync(join(folder, 'dist', 'v1.2.3', 'win-arm64', 'node.exe'), binary);
    dist = pathToFileURL(join(folder, 'dist')).href;
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true, force: true });
  });

  const take = (change = {}) =>
    releasedNode({ ...pin, ...change }, { version: '1.2.3', folder: join(folder, 'cache'), dist });

  it('is downloaded once, and comes from the cache afterwards', async () => {
    expect(readFileSync(await take())).toEqual(binary);
    rmSync(join(folder, 'dist'), { recursive: true });
    expect(readFileSync(await take())).toEqual(binary);
  });

  it('is refused with another hash', async () => {
    await expect(take({ sha256: '0'.repeat(64) })).rejects.toThrow(/"win-arm64\/node\.exe" is not the pinned one/);
  });

  it('is named with the reason if it cannot be downloaded', async () => {
    rmSync(join(folder, 'dist'), { recursive: true });
    await expect(take()).rejects.toMatchObject({
      code: 'no-node',
      message: expect.stringMatching(/^cannot download "file:.*node\.exe" \(ENOENT\), and npm has no package of it$/),
      hint: expect.stringContaining('MCPX_NODE_DIST'),
    });
  });
});
