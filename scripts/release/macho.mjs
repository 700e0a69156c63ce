/**
 * macOS: an ad-hoc code signature for a thin 64-bit Mach-O, in plain JavaScript, and its check. macOS refuses to start
 * an executable whose signature does not fit its bytes; this makes one that does, on a machine without `codesign`.
 * Layout: https://github.com/apple-oss-distributions/xnu/blob/main/osfmk/kern/cs_blobs.h
 */
import { createHash } from 'node:crypto';
import { BuildError } from '../project.mjs';

const MAGIC_64 = 0xfeedfacf;
const HEADER_SIZE = 32;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const SIGNATURE_COMMAND_SIZE = 16;

const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const REQUIREMENTS = 0xfade0c01;
const CMS_WRAPPER = 0xfade0b01;
/** Slots of the super blob. */
const SLOT = { codeDirectory: 0, requirements: 2, cms: 0x10000 };

/** Version 0x20400 is the first with the executable segment, which newer systems want to see. */
const DIRECTORY_VERSION = 0x20400;
const DIRECTORY_SIZE = 88;
const FLAG_AD_HOC = 2;
const EXEC_SEGMENT_MAIN_BINARY = 1n;
const SHA256_TYPE = 2;
const HASH_SIZE = 32;
const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;
/** Slots -1 (Info.plist, none here) and -2 (requirements). */
const SPECIAL_SLOTS = 2;
/** Segments end on the larger of the page sizes in use, that of arm64. */
const SEGMENT_ALIGNMENT = 0x4000;

const align = (value, unit) => Math.ceil(value / unit) * unit;
const hash = (bytes) => createHash('sha256').update(bytes).digest();

/** Big-endian 32-bit words: the byte order of everything inside a signature. */
function words(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

const blob = (magic, body) => Buffer.concat([words(magic, body.length + 8), body]);

/** The load commands that matter: every segment, the signature, and how much room is left behind the last command. */
function parse(bytes) {
  if (bytes.length < HEADER_SIZE || bytes.readUInt32LE(0) !== MAGIC_64) {
    throw new BuildError('not a thin 64-bit Mach-O executable');
  }
  const image = { segments: new Map(), signature: undefined, count: bytes.readUInt32LE(16), contentStart: Infinity };
  let at = HEADER_SIZE;
  for (let i = 0; i < image.count; i++) {
    const command = bytes.readUInt32LE(at);
    if (command === LC_SEGMENT_64) addSegment(image, bytes, at);
    if (command === LC_CODE_SIGNATURE) {
      image.signature = { at, offset: bytes.readUInt32LE(at + 8), size: bytes.readUInt32LE(at + 12) };
    }
    at += bytes.readUInt32LE(at + 4);
  }
  return { ...image, commandsEnd: at };
}

function addSegment(image, bytes, at) {
  const number = (offset) => Number(bytes.readBigUInt64LE(at + offset));
  const name = bytes.toString('latin1', at + 8, at + 24).split('\0', 1)[0];
  image.segments.set(name, {
    at,
    address: number(24),
    addressSize: number(32),
    offset: number(40),
    size: number(48),
  });
  for (let i = 0; i < bytes.readUInt32LE(at + 64); i++) {
    const offset = bytes.readUInt32LE(at + 72 + 80 * i + 48);
    if (offset > 0) image.contentStart = Math.min(image.contentStart, offset);
  }
}

/** Where each segment lies in memory and in the file, as text to compare. */
export function segmentLayout(bytes) {
  const segments = [...parse(bytes).segments];
  return new Map(segments.map(([name, s]) => [name, `${s.address}+${s.addressSize}@${s.offset}+${s.size}`]));
}

/** Describes the code: a hash per page, and of the requirements. `code` is everything before the signature. */
function codeDirectory(code, { identifier, requirements, text }) {
  const name = Buffer.from(`${identifier}\0`);
  const pages = Math.ceil(code.length / PAGE);
  const hashOffset = DIRECTORY_SIZE + name.length + SPECIAL_SLOTS * HASH_SIZE;
  const total = hashOffset + pages * HASH_SIZE;
  const directory = Buffer.alloc(total);
  words(CODE_DIRECTORY, total, DIRECTORY_VERSION, FLAG_AD_HOC, hashOffset, DIRECTORY_SIZE).copy(directory);
  words(SPECIAL_SLOTS, pages, code.length).copy(directory, 24);
  directory.set([HASH_SIZE, SHA256_TYPE, 0, PAGE_BITS], 36);
  directory.writeBigUInt64BE(BigInt(text.offset), 64);
  directory.writeBigUInt64BE(BigInt(text.size), 72);
  directory.writeBigUInt64BE(EXEC_SEGMENT_MAIN_BINARY, 80);
  name.copy(directory, DIRECTORY_SIZE);
  hash(requirements).copy(directory, hashOffset - 2 * HASH_SIZE);
  for (let page = 0; page < pages; page++) {
    hash(code.subarray(page * PAGE, (page + 1) * PAGE)).copy(directory, hashOffset + page * HASH_SIZE);
  }
  return directory;
}

/** The blobs behind an index of where each begins. */
function superBlob(entries) {
  let offset = 12 + 8 * entries.length;
  const index = [];
  for (const [slot, bytes] of entries) {
    index.push(slot, offset);
    offset += bytes.length;
  }
  return Buffer.concat([words(SUPER_BLOB, offset, entries.length, ...index), ...entries.map(([, bytes]) => bytes)]);
}

/** Makes sure there is a signature command, at the end of the others, and returns where it is. */
function signatureCommand(head, image) {
  if (image.signature !== undefined) return image.signature.at;
  if (image.commandsEnd + SIGNATURE_COMMAND_SIZE > image.contentStart) {
    throw new BuildError('the Mach-O executable has no room for a signature command');
  }
  head.writeUInt32LE(image.count + 1, 16);
  head.writeUInt32LE(image.commandsEnd + SIGNATURE_COMMAND_SIZE - HEADER_SIZE, 20);
  head.writeUInt32LE(LC_CODE_SIGNATURE, image.commandsEnd);
  head.writeUInt32LE(SIGNATURE_COMMAND_SIZE, image.commandsEnd + 4);
  return image.commandsEnd;
}

/** The executable with a fresh ad-hoc signature in place of any it had. */
export function signAdHoc(bytes, identifier) {
  const image = parse(bytes);
  const text = image.segments.get('__TEXT');
  const linkEdit = image.segments.get('__LINKEDIT');
  if (text === undefined || linkEdit === undefined) throw new BuildError('the Mach-O executable lacks a segment');
  const codeEnd = image.signature?.offset ?? linkEdit.offset + linkEdit.size;
  const code = Buffer.alloc(align(codeEnd, 16));
  bytes.copy(code, 0, 0, codeEnd);

  const requirements = blob(REQUIREMENTS, words(0));
  const sign = () =>
    superBlob([
      [SLOT.codeDirectory, codeDirectory(code, { identifier, requirements, text })],
      [SLOT.requirements, requirements],
      [SLOT.cms, blob(CMS_WRAPPER, Buffer.alloc(0))],
    ]);
  // The size is known before the hashes are: sign once to measure, write the size into the code, sign again.
  const size = align(sign().length, 16);
  const command = signatureCommand(code, image);
  code.writeUInt32LE(code.length, command + 8);
  code.writeUInt32LE(size, command + 12);
  const linkEditSize = code.length + size - linkEdit.offset;
  code.writeBigUInt64LE(BigInt(align(linkEditSize, SEGMENT_ALIGNMENT)), linkEdit.at + 32);
  code.writeBigUInt64LE(BigInt(linkEditSize), linkEdit.at + 48);
  const signature = Buffer.alloc(size);
  sign().copy(signature);
  return Buffer.concat([code, signature]);
}

/** Returns the faults of an executable's signature; an empty list means that it is valid. */
export function signatureProblems(bytes) {
  const { signature, segments } = parse(bytes);
  if (signature === undefined) return ['there is no signature'];
  const area = bytes.subarray(signature.offset, signature.offset + signature.size);
  const problems = [];
  const expect = (fits, problem) => fits || problems.push(problem);
  expect(signature.offset + signature.size === bytes.length, 'the signature is not at the end of the file');
  if (area.length < 12 || area.readUInt32BE(0) !== SUPER_BLOB) return [...problems, 'the signature has no super blob'];

  const slots = readSlots(area);
  const directory = slots.get(SLOT.codeDirectory);
  if (directory === undefined) return [...problems, 'the signature has no code directory'];
  const hashOffset = directory.readUInt32BE(16);
  const limit = directory.readUInt32BE(32);
  expect(limit === signature.offset, 'the signature covers another length of code');
  expect(Number(directory.readBigUInt64BE(72)) === segments.get('__TEXT')?.size, 'the text segment has another size');
  const stored = (slot) => directory.subarray(hashOffset + slot * HASH_SIZE, hashOffset + (slot + 1) * HASH_SIZE);
  const requirements = slots.get(SLOT.requirements) ?? Buffer.alloc(0);
  expect(hash(requirements).equals(stored(-2)), 'the requirements have another hash');
  expect(directory.readUInt32BE(28) === Math.ceil(limit / PAGE), 'the signature has another number of pages');
  for (let page = 0; page * PAGE < limit; page++) {
    const code = bytes.subarray(page * PAGE, Math.min((page + 1) * PAGE, limit));
    expect(hash(code).equals(stored(page)), `page ${page} has another hash`);
  }
  return problems;
}

function readSlots(area) {
  const slots = new Map();
  for (let i = 0; i < area.readUInt32BE(8); i++) {
    const offset = area.readUInt32BE(12 + 8 * i + 4);
    slots.set(area.readUInt32BE(12 + 8 * i), area.subarray(offset, offset + area.readUInt32BE(offset + 4)));
  }
  return slots;
}
