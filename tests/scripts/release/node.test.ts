/** The pinned Node: its lock file is complete, and nothing that differs from it is ever used. */
import { describe, expect, it } from 'vitest';
import { nodeLock, ownNode, verifyBinary, verifyIntegrity } from '../../../scripts/release/node.mjs';

const { version, targets } = nodeLock();

describe('the lock file', () => {
  it('pins one exact Node 24', () => {
    expect(version).toMatch(/^24\.\d+\.\d+$/);
  });

  it('has the four targets that npm has packages of', () => {
    expect(Object.keys(targets).sort()).toEqual(['darwin-x64', 'linux-arm64', 'linux-x64', 'win-x64']);
  });

  it.each(Object.entries(targets))('names the package, the binary and both hashes of %s', (target, pin) => {
    expect(pin.package).toBe(`node-${target}`);
    expect(pin.binary).toBe(target.startsWith('win-') ? 'bin/node.exe' : 'bin/node');
    expect(Buffer.from(pin.integrity.replace(/^sha512-/, ''), 'base64')).toHaveLength(64);
    expect(pin.integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
    expect(pin.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('has no hash twice', () => {
    const hashes = Object.values(targets).flatMap((pin) => [pin.integrity, pin.sha256]);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('a download', () => {
  const bytes = Buffer.from('abc');
  const integrity = 'sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==';
  const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

  it('with the pinned hashes is accepted', () => {
    verifyIntegrity(bytes, integrity, 'node-x@1');
    verifyBinary(bytes, sha256, 'node-x@1');
  });

  it('with another hash is refused, by name and with both hashes', () => {
    const other = Buffer.from('abd');
    expect(() => verifyIntegrity(other, integrity, 'node-x@1')).toThrow(
      /"node-x@1" is not the pinned one: expected sha512-3a81/,
    );
    expect(() => verifyBinary(other, sha256, 'node-x@1')).toThrow(
      /binary in "node-x@1" is not the pinned one: expected ba78/,
    );
  });
});

describe('a target without a package', () => {
  const self = { platform: 'darwin', arch: 'arm64', versions: { node: version }, execPath: '/opt/node/bin/node' };

  it('takes the Node that runs the build when it is the pinned one', () => {
    expect(ownNode('darwin-arm64', version, self)).toEqual({ file: '/opt/node/bin/node', version });
  });

  it.each([
    ['another version', 'darwin-arm64', { ...self, versions: { node: '22.1.0' } }],
    ['another machine', 'win-arm64', self],
  ])('is refused on %s', (_name, target, other) => {
    expect(() => ownNode(target, version, other)).toThrow(
      expect.objectContaining({ code: 'no-node', message: expect.stringContaining(`"${target}" can only be built`) }),
    );
  });
});
