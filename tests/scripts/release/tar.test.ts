/** The tar reader, on archives made here byte by byte. */
import { describe, expect, it } from 'vitest';
import { readFromTar, tarEntries } from '../../../scripts/release/tar.mjs';

interface Entry {
  name: string;
  data?: string;
  prefix?: string;
  kind?: string;
}

function block({ name, data = '', prefix = '', kind = '0' }: Entry): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write(kind, 156);
  header.write('ustar\0' + '00', 257);
  header.write(prefix, 345);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(data.length / 512) * 512);
  body.write(data);
  return Buffer.concat([header, body]);
}

const tar = (...entries: Entry[]) => Buffer.concat([...entries.map(block), Buffer.alloc(1024)]);

describe('a tar archive', () => {
  it('gives its files by name, with exactly their bytes', () => {
    const archive = tar({ name: 'package/a', data: 'x'.repeat(512) }, { name: 'package/b', data: 'hello' });
    expect(readFromTar(archive, 'package/a')?.toString()).toBe('x'.repeat(512));
    expect(readFromTar(archive, 'package/b')?.toString()).toBe('hello');
  });

  it('gives nothing for a name that it does not have', () => {
    expect(readFromTar(tar({ name: 'package/a' }), 'package/b')).toBeUndefined();
  });

  it('joins the two halves of a long name', () => {
    expect(readFromTar(tar({ name: 'node', prefix: 'package/bin', data: 'n' }), 'package/bin/node')?.toString()).toBe(
      'n',
    );
  });

  it('lists files only, not folders, links or extended headers', () => {
    const archive = tar(
      { name: 'package/', kind: '5' },
      { name: 'package/link', kind: '2' },
      { name: 'PaxHeader', kind: 'x', data: '11 path=zzz\n' },
      { name: 'package/file', data: '1' },
    );
    expect([...tarEntries(archive)].map((entry) => entry.name)).toEqual(['package/file']);
  });

  it('that is damaged is refused', () => {
    const archive = tar({ name: 'package/a', data: 'hello' });
    archive.write('z', 0);
    expect(() => readFromTar(archive, 'package/a')).toThrow('the archive is damaged at byte 0');
  });

  it('that is cut short is refused', () => {
    const archive = tar({ name: 'package/a', data: 'x'.repeat(2000) }).subarray(0, 1024);
    expect(() => readFromTar(archive, 'package/a')).toThrow('the archive is cut short');
  });
});
