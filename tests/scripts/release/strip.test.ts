/** The built-in strip: it removes what the loader does not read, and moves nothing else. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stripElf } from '../../../scripts/release/strip.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-strip-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Section {
  name: string;
  mapped: boolean;
  data: string;
}

/** An ELF file with one segment over its mapped sections. */
function elf(sections: Section[]): Buffer {
  const all = [{ name: '', mapped: false, data: '' }, ...sections, { name: '.shstrtab', mapped: false, data: '' }];
  const names = all.map(({ name }) => `${name}\0`).join('');
  let offset = 64 + 56;
  const tables: Buffer[] = [];
  const bodies: Buffer[] = [];
  for (const [index, { name, mapped, data }] of all.entries()) {
    const body = Buffer.from(index === all.length - 1 ? names : data);
    const header = Buffer.alloc(64);
    header.writeUInt32LE(names.indexOf(`${name}\0`), 0);
    header.writeUInt32LE(index === 0 ? 0 : 1, 4);
    header.writeBigUInt64LE(mapped ? 2n : 0n, 8);
    header.writeBigUInt64LE(BigInt(index === 0 ? 0 : offset), 24);
    header.writeBigUInt64LE(BigInt(body.length), 32);
    offset += body.length;
    tables.push(header);
    bodies.push(body);
  }
  const head = Buffer.alloc(64 + 56);
  head.write('\x7fELF\x02\x01\x01', 0, 'latin1');
  head.writeBigUInt64LE(64n, 32);
  head.writeBigUInt64LE(BigInt(offset), 40);
  head.writeUInt16LE(1, 56);
  head.writeUInt16LE(all.length, 60);
  head.writeUInt16LE(all.length - 1, 62);
  const mappedSize = sections.filter(({ mapped }) => mapped).reduce((sum, { data }) => sum + data.length, 0);
  head.writeBigUInt64LE(BigInt(64 + 56 + mappedSize), 64 + 32);
  return Buffer.concat([head, ...bodies, ...tables]);
}

const TEXT = { name: '.text', mapped: true, data: 'code' };
const SYMBOLS = { name: '.symtab', mapped: false, data: 'symbols' };

describe('a stripped file', () => {
  it('has its mapped bytes where they were, and no symbols', () => {
    const before = elf([TEXT, SYMBOLS]);
    const after = stripElf(before);
    expect(after.indexOf('code')).toBe(before.indexOf('code'));
    expect(after.includes('symbols')).toBe(false);
    expect(after.length).toBeLessThan(before.length);
    expect(after.subarray(64, 120)).toEqual(before.subarray(64, 120));
  });

  it('is the same when it is stripped again', () => {
    const once = stripElf(elf([TEXT, SYMBOLS]));
    expect(stripElf(once)).toEqual(once);
  });

  it('is refused if a number of a section would change', () => {
    expect(() => stripElf(elf([SYMBOLS, TEXT]))).toThrow(/"\.symtab" is not mapped and precedes a mapped one/);
  });

  it('is refused if it is no ELF file', () => {
    expect(() => stripElf(Buffer.from('MZ'))).toThrow(/not a little-endian 64-bit ELF file/);
  });

  it.runIf(process.platform === 'linux')('runs as before', () => {
    const file = join(folder, 'node');
    writeFileSync(file, stripElf(readFileSync(process.execPath)), { mode: 0o755 });
    const { stdout } = spawnSync(file, ['-p', 'process.version'], { encoding: 'utf8' });
    expect(stdout).toBe(`${process.version}\n`);
  });
});
