/** The archives of a release: other programs can read them, and the same entries give the same bytes. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { gzip, tar, zip } from '../../../scripts/packages/archives.mjs';
import { readFromTar } from '../../../scripts/release/tar.mjs';

const TIME = 1_700_000_000;
const folder = mkdtempSync(join(tmpdir(), 'mcpx-archives-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const entries = [
  { name: 'mcpx-1/mcpx', data: Buffer.from('#!/bin/sh\necho hello\n'), mode: 0o755 },
  { name: 'mcpx-1/LICENSE', data: Buffer.from('text\n'.repeat(300)) },
];

test.skipIf(process.platform === 'win32')('tar unpacks an archive with its modes and times', () => {
  const file = join(folder, 'a.tar.gz');
  writeFileSync(file, gzip(tar(entries, TIME)));
  execFileSync('tar', ['-xzf', file, '-C', folder]);
  expect(execFileSync(join(folder, 'mcpx-1/mcpx'), { encoding: 'utf8' })).toBe('hello\n');
  expect(readFileSync(join(folder, 'mcpx-1/LICENSE'), 'utf8')).toBe('text\n'.repeat(300));
  expect(statSync(join(folder, 'mcpx-1/mcpx')).mtimeMs).toBe(TIME * 1000);
});

test('an archive has the same bytes whenever it is made, and no name of the system in it', () => {
  const [first, second] = [gzip(tar(entries, TIME)), gzip(tar(entries, TIME))];
  expect(first.equals(second)).toBe(true);
  expect([...first.subarray(4, 10)]).toEqual([0, 0, 0, 0, 2, 255]);
  expect(zip(entries, TIME).equals(zip(entries, TIME))).toBe(true);
});

test('the reader of tar archives reads what the writer writes', () => {
  const archive = gunzipSync(gzip(tar(entries, TIME)));
  expect(readFromTar(archive, 'mcpx-1/mcpx')?.toString()).toContain('hello');
});

test('a name that does not fit into a header is refused', () => {
  expect(() => tar([{ name: 'x'.repeat(101), data: Buffer.alloc(0) }], TIME)).toThrow('too long for a tar archive');
});

/** Reads a zip by its central directory, as every program does. */
function unzip(bytes: Buffer): Map<string, { text: string; mode: number }> {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  const files = new Map<string, { text: string; mode: number }>();
  let at = bytes.readUInt32LE(end + 16);
  for (let count = bytes.readUInt16LE(end + 10); count > 0; count--) {
    const [packed, size, name] = [
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 24),
      bytes.readUInt16LE(at + 28),
    ];
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = inflateRawSync(bytes.subarray(start, start + packed));
    expect(data).toHaveLength(size);
    files.set(bytes.toString('utf8', at + 46, at + 46 + name), {
      text: data.toString(),
      mode: (bytes.readUInt32LE(at + 38) >>> 16) & 0o777,
    });
    at += 46 + name + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  expect(at).toBe(end);
  return files;
}

test('a zip has its files, with modes', () => {
  const files = unzip(zip(entries, TIME));
  expect([...files.keys()]).toEqual(['mcpx-1/mcpx', 'mcpx-1/LICENSE']);
  expect(files.get('mcpx-1/mcpx')).toEqual({ text: '#!/bin/sh\necho hello\n', mode: 0o755 });
  expect(files.get('mcpx-1/LICENSE')?.mode).toBe(0o644);
});
