/** Archives of strangers: what is unpacked, and what is refused before or while it is unpacked. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ARCHIVE_LIMITS,
  type ArchiveLimits,
  isSigned,
  readArchive,
  unpack,
} from '../../src/server-packages/archive.ts';
import { unsafePath } from '../../src/server-packages/entry-path.ts';
import { buildZip, type ZipEntry } from './zip-builder.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'archive-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Case {
  platform?: NodeJS.Platform;
  limits?: Partial<ArchiveLimits>;
}

async function unpacked(bytes: Buffer, { platform = 'linux', limits = {} }: Case = {}): Promise<string[]> {
  const options = { file: 'x.mcpb', platform, limits: { ...ARCHIVE_LIMITS, ...limits } };
  const files = readArchive(bytes, options);
  const folder = join(root, 'inner', 'folder');
  mkdirSync(folder, { recursive: true });
  await unpack(files, { ...options, folder, signal: new AbortController().signal });
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}

const zip = (...entries: ZipEntry[]) => buildZip(entries);

test('files and folders are unpacked for their owner only; a program stays executable', async () => {
  const bytes = zip(
    { path: 'a/', mode: 0o040755 },
    { path: 'a/run', content: 'x'.repeat(5000), mode: 0o100755 },
    { path: 'b\\c.txt', content: 'stored', method: 0 },
    { path: '__proto__', content: 'plain' },
  );
  expect(await unpacked(bytes)).toEqual(['__proto__', 'a', 'a/run', 'b', 'b/c.txt'].map((path) => join(path)));
  const at = (path: string) => join(root, 'inner', 'folder', path);
  expect(readFileSync(at('a/run'), 'utf8')).toBe('x'.repeat(5000));
  expect(readFileSync(at('b/c.txt'), 'utf8')).toBe('stored');
  if (process.platform === 'win32') return;
  expect(statSync(at('a/run')).mode & 0o777).toBe(0o700);
  expect(statSync(at('b/c.txt')).mode & 0o777).toBe(0o600);
});

const REFUSED: [name: string, bytes: () => Buffer, reason: RegExp, options?: Case][] = [
  ['a path that leaves the folder', () => zip({ path: '../evil' }), /"\.\.\/evil" is refused: it leaves its folder/],
  ['such a path in the middle', () => zip({ path: 'a/../../evil' }), /it leaves its folder/],
  ['such a path with backslashes', () => zip({ path: '..\\evil' }), /it leaves its folder/],
  ['an absolute path', () => zip({ path: '/etc/evil' }), /it is absolute/],
  ['a path with a drive', () => zip({ path: 'C:\\evil' }), /it is absolute/],
  ['a path to another machine', () => zip({ path: '\\\\host\\evil' }), /it is absolute/],
  ['a stream of NTFS', () => zip({ path: 'a.txt:evil' }), /it has a colon/],
  ['a control character', () => zip({ path: 'a\0b' }), /control character/],
  ['a device of Windows', () => zip({ path: 'a/NUL.txt' }), /name of a device/, { platform: 'win32' }],
  ['a symbolic link', () => zip({ path: 'link', content: '/etc/passwd', mode: 0o120777 }), /it is a symbolic link/],
  ['a pipe', () => zip({ path: 'pipe', mode: 0o010644 }), /neither a file nor a folder/],
  ['an encrypted file', () => zip({ path: 'a', content: 'x', flags: 0x801 }), /it is encrypted/],
  ['an unknown compression', () => zip({ path: 'a', content: 'x', method: 93 }), /its compression is unknown/],
  ['one path twice', () => zip({ path: 'a' }, { path: 'a' }), /it has "a" twice/],
  ['one path in two cases', () => zip({ path: 'a' }, { path: 'A' }), /it has "A" twice/, { platform: 'darwin' }],
  ['a file that is a folder too', () => zip({ path: 'a' }, { path: 'a/b' }), /it has "a" twice/],
  ['a folder that is a file too', () => zip({ path: 'a/b' }, { path: 'a' }), /it has "a" twice/],
  [
    'too many files',
    () => zip(...['a', 'b', 'c'].map((path) => ({ path }))),
    /more than 2 files/,
    { limits: { entries: 2 } },
  ],
  [
    'too many folders',
    () => zip({ path: 'a/b/c/d/e' }, { path: 'f' }),
    /more than 4 files/,
    { limits: { entries: 4 } },
  ],
  [
    'too much content',
    () => zip({ path: 'a', content: 'x'.repeat(2000) }),
    /unpacks to more than/,
    { limits: { unpacked: 1024 } },
  ],
  [
    'a bomb',
    () => zip({ path: 'a', content: Buffer.alloc(4 * 1024 * 1024) }),
    /more than 100 times its size/,
    { limits: { ratioFrom: 1024 * 1024 } },
  ],
  [
    'a size that is too small',
    () => zip({ path: 'a', content: 'x'.repeat(5000), declared: 10 }),
    /"a" is damaged: it has more than the 10 bytes that it declares/,
  ],
  [
    'a size that is too large',
    () => zip({ path: 'a', content: 'x', declared: 5000 }),
    /"a" is damaged: it has 1 bytes and declares 5000/,
  ],
  [
    'a stored file with another size',
    () => zip({ path: 'a', content: 'x', declared: 5, method: 0 }),
    /its sizes contradict each other/,
  ],
  ['no archive at all', () => Buffer.from('hello'), /it is not a ZIP archive/],
  ['half an archive', () => zip({ path: 'a', content: 'x'.repeat(99) }).subarray(0, 60), /it is not a ZIP archive/],
  ['a directory outside of the file', () => falseOffset(zip({ path: 'a' })), /its directory is damaged/],
  ['a wrong checksum', () => zip({ path: 'a', content: 'x', crc: 1 }), /"a" is damaged: its checksum is wrong/],
  ['content that is no deflate', () => broken(zip({ path: 'a', content: 'x'.repeat(99) })), /"a" is damaged: /],
  [
    'a header outside of the file',
    () => movedHeader(zip({ path: 'a', content: 'x' })),
    /"a" is damaged: its header is damaged/,
  ],
  ['ZIP64', () => zip64(zip({ path: 'a' })), /it is in the ZIP64 format/],
];

function broken(bytes: Buffer): Buffer {
  return Buffer.from(bytes).fill(0xff, 31, 33);
}

function movedHeader(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(0x7fffffff, copy.length - 22 - 47 + 42);
  return copy;
}

function zip64(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt16LE(0xffff, copy.length - 22 + 10);
  return copy;
}

function falseOffset(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(0x7ffffff0, copy.length - 6);
  return copy;
}

test.each(REFUSED)('%s is refused, and nothing is written outside', async (_name, bytes, reason, options) => {
  await expect(unpacked(bytes(), options)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(reason),
  });
  expect(readdirSync(root).filter((name) => name !== 'inner')).toEqual([]);
  expect(existsSync(join(root, 'evil'))).toBe(false);
});

test('a stop ends the unpacking', async () => {
  const options = { file: 'x.mcpb', platform: 'linux' as const };
  const files = readArchive(zip({ path: 'a' }), options);
  const unpacking = unpack(files, { ...options, folder: root, signal: AbortSignal.abort() });
  await expect(unpacking).rejects.toMatchObject({ code: 'cancelled' });
  expect(readdirSync(root)).toEqual([]);
});

describe('a signed bundle', () => {
  const plain = zip({ path: 'a', content: 'x' });
  const signature = Buffer.from('MCPB_SIG_V1\x04\0\0\0abcdMCPB_SIG_END');
  test('is unpacked, whether or not the archive declares the block', async () => {
    expect(isSigned(plain)).toBe(false);
    const appended = Buffer.concat([plain, signature]);
    expect(isSigned(appended)).toBe(true);
    expect(await unpacked(appended)).toEqual(['a']);
    rmSync(join(root, 'inner'), { recursive: true });
    expect(await unpacked(buildZip([{ path: 'a', content: 'x' }], signature.toString('latin1')))).toEqual(['a']);
  });
});

test.each([
  ['a/b.js', undefined],
  ['.hidden/..name', undefined],
  ['ünï/文件.txt', undefined],
  ['aux.js', undefined],
  ['', 'it is empty'],
  ['.', 'it has an empty part'],
  ['a//b', 'it has an empty part'],
  [`${'a/'.repeat(70)}b`, 'it is deeper than 64 folders'],
  [`${'文'.repeat(86)}/a`, 'a part is longer than 255 bytes'],
  ['x'.repeat(1100), 'it is longer than 1024 characters'],
])('the path %j: %s', (path, reason) => {
  expect(unsafePath(path, 'linux')).toBe(reason);
});
