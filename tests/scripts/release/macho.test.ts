/** The ad-hoc signature of macOS executables: made, checked, and broken by any change. */
import { describe, expect, it } from 'vitest';
import { segmentLayout, signAdHoc, signatureProblems } from '../../../scripts/release/macho.mjs';

const PAGE = 4096;

interface Segment {
  name: string;
  offset: number;
  size: number;
  /** File offset of the segment's only section. */
  section?: number;
}

function segmentCommand({ name, offset, size, section }: Segment): Buffer {
  const command = Buffer.alloc(72 + (section === undefined ? 0 : 80));
  command.writeUInt32LE(0x19, 0);
  command.writeUInt32LE(command.length, 4);
  command.write(name, 8, 'latin1');
  command.writeBigUInt64LE(0x100000000n + BigInt(offset), 24);
  command.writeBigUInt64LE(BigInt(size), 32);
  command.writeBigUInt64LE(BigInt(offset), 40);
  command.writeBigUInt64LE(BigInt(size), 48);
  if (section !== undefined) {
    command.writeUInt32LE(1, 64);
    command.write('__text', 72, 'latin1');
    command.writeUInt32LE(section, 72 + 48);
  }
  return command;
}

/** A thin Mach-O of three pages of text and an odd number of bytes of link data, with `room` bytes behind the commands. */
function unsigned(room = 64): Buffer {
  const linkEdit = 1001;
  const commands = (section: number) => [
    segmentCommand({ name: '__TEXT', offset: 0, size: 3 * PAGE, section }),
    segmentCommand({ name: '__LINKEDIT', offset: 3 * PAGE, size: linkEdit }),
  ];
  const sizeOfCommands = Buffer.concat(commands(0)).length;
  const header = Buffer.alloc(32);
  header.writeUInt32LE(0xfeedfacf, 0);
  header.writeUInt32LE(0x01000007, 4);
  header.writeUInt32LE(2, 16);
  header.writeUInt32LE(sizeOfCommands, 20);
  const file = Buffer.alloc(3 * PAGE + linkEdit);
  for (let i = 0; i < file.length; i++) file[i] = (i * 7) % 251;
  const head = Buffer.concat([header, ...commands(32 + sizeOfCommands + room), Buffer.alloc(room)]);
  head.copy(file);
  return file;
}

describe('an ad-hoc signature', () => {
  it('fits the executable that it was made for', () => {
    const signed = signAdHoc(unsigned(), 'mcpx');
    expect(signatureProblems(signed)).toEqual([]);
    expect(signed.includes('mcpx\0')).toBe(true);
  });

  it('is missing before', () => {
    expect(signatureProblems(unsigned())).toEqual(['there is no signature']);
  });

  it('is the same every time, and replaces an older one', () => {
    const signed = signAdHoc(unsigned(), 'mcpx');
    expect(signAdHoc(unsigned(), 'mcpx').equals(signed)).toBe(true);
    const other = signAdHoc(signAdHoc(unsigned(), 'another'), 'mcpx');
    expect(signatureProblems(other)).toEqual([]);
    expect(other.equals(signed)).toBe(true);
  });

  it('leaves the input and the text segment as they were', () => {
    const input = unsigned();
    const copy = Buffer.from(input);
    const signed = signAdHoc(input, 'mcpx');
    expect(input.equals(copy)).toBe(true);
    expect(segmentLayout(signed).get('__TEXT')).toBe(segmentLayout(input).get('__TEXT'));
    expect(segmentLayout(signed).get('__LINKEDIT')).not.toBe(segmentLayout(input).get('__LINKEDIT'));
  });

  it.each([
    ['the first page', 700, 'page 0 has another hash'],
    ['the second page', PAGE + 1, 'page 1 has another hash'],
    ['the last code byte', 3 * PAGE + 1000, 'page 3 has another hash'],
  ])('breaks when a byte changes in %s', (_name, offset, problem) => {
    const signed = signAdHoc(unsigned(), 'mcpx');
    signed.writeUInt8(signed.readUInt8(offset) ^ 1, offset);
    expect(signatureProblems(signed)).toEqual([problem]);
  });

  it('breaks when the file grows behind it', () => {
    const longer = Buffer.concat([signAdHoc(unsigned(), 'mcpx'), Buffer.alloc(16)]);
    expect(signatureProblems(longer)).toEqual(['the signature is not at the end of the file']);
  });

  it('needs room for its load command', () => {
    expect(() => signAdHoc(unsigned(8), 'mcpx')).toThrow('no room for a signature command');
  });

  it.each([
    ['another format', Buffer.from('\x7fELF'.padEnd(64, '\0'))],
    ['an empty file', Buffer.alloc(0)],
  ])('is refused for %s', (_name, bytes) => {
    expect(() => signAdHoc(bytes, 'mcpx')).toThrow('not a thin 64-bit Mach-O executable');
  });
});
