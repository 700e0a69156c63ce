/** Reads the directory of a ZIP archive and the content of its files, with sizes and checksums compared (PKWARE APPNOTE 6.3.10, no ZIP64).
 * It is mcpx's own: packages for ZIP hide the types of files and duplicates, or are ten times as large.
 */
import * as zlib from 'node:zlib';

export interface ZipFile {
  name: string;
  flags: number;
  /** 0 is stored, 8 is deflate. */
  method: number;
  crc: number;
  compressed: number;
  size: number;
  /** The type and the permissions of Unix; 0 if another system made the archive. */
  mode: number;
  /** The offset of the file's own header. */
  offset: number;
}

/** A mistake in an archive. Its text is the reason in the message about the bundle. */
export class ZipMistake extends Error {
  override readonly name = 'ZipMistake';
}

const END = 0x06054b50;
const END_SIZE = 22;
const MAX_COMMENT = 0xffff;
const ENTRY = 0x02014b50;
const ENTRY_SIZE = 46;
const LOCAL = 0x04034b50;
const LOCAL_SIZE = 30;

/** Returns the number of files that the end of the archive declares, and where their directory begins. */
export function findDirectory(bytes: Buffer): { count: number; offset: number } {
  const lowest = Math.max(0, bytes.length - END_SIZE - MAX_COMMENT);
  for (let at = bytes.length - END_SIZE; at >= lowest; at -= 1) {
    const isEnd = bytes.readUInt32LE(at) === END && at + END_SIZE + bytes.readUInt16LE(at + 20) === bytes.length;
    if (!isEnd) continue;
    const [count, offset] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 16)];
    if (bytes.readUInt16LE(at + 4) !== 0) throw new ZipMistake('it is a part of several archives');
    if (count === 0xffff || offset === 0xffffffff) throw new ZipMistake('it is in the ZIP64 format');
    return { count, offset };
  }
  throw new ZipMistake('it is not a ZIP archive');
}

/** Yields the entries of the directory. */
export function* readDirectory(bytes: Buffer): Generator<ZipFile> {
  const { count, offset } = findDirectory(bytes);
  let at = offset;
  for (let index = 0; index < count; index += 1) {
    const isEntry = at + ENTRY_SIZE <= bytes.length && bytes.readUInt32LE(at) === ENTRY;
    const names = isEntry ? [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) : [];
    const [nameLength = 0, extraLength = 0, commentLength = 0] = names;
    const end = at + ENTRY_SIZE + nameLength + extraLength + commentLength;
    if (!isEntry || end > bytes.length) throw new ZipMistake('its directory is damaged');
    const flags = bytes.readUInt16LE(at + 8);
    yield {
      name: decoded(bytes.subarray(at + ENTRY_SIZE, at + ENTRY_SIZE + nameLength)),
      flags,
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      compressed: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      mode: bytes.readUInt16LE(at + 40),
      offset: bytes.readUInt32LE(at + 42),
    };
    at = end;
  }
}

/** Several systems write UTF-8 without its flag; a name in another encoding keeps its ASCII letters. */
function decoded(name: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name);
  } catch {
    return name.toString('latin1');
  }
}

/** Yields the content of a file. Throws `ZipMistake` as soon as it is longer than declared, and at the end if anything else differs. */
export async function* contentOf(bytes: Buffer, file: ZipFile): AsyncGenerator<Buffer> {
  const data = compressedData(bytes, file);
  let length = 0;
  let crc = 0;
  for await (const chunk of file.method === 0 ? [data] : inflated(data)) {
    length += chunk.length;
    if (length > file.size) throw new ZipMistake(`it has more than the ${file.size} bytes that it declares`);
    // Node has the function since 20.15.
    crc = zlib.crc32?.(chunk, crc) ?? file.crc;
    yield chunk;
  }
  if (length < file.size) throw new ZipMistake(`it has ${length} bytes and declares ${file.size}`);
  if (length > 0 && crc !== file.crc) throw new ZipMistake('its checksum is wrong');
}

function compressedData(bytes: Buffer, { offset, compressed }: ZipFile): Buffer {
  const isLocal = offset + LOCAL_SIZE <= bytes.length && bytes.readUInt32LE(offset) === LOCAL;
  if (!isLocal) throw new ZipMistake('its header is damaged');
  const start = offset + LOCAL_SIZE + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
  if (start + compressed > bytes.length) throw new ZipMistake('it is not complete');
  return bytes.subarray(start, start + compressed);
}

/** A stream, because only a stream decompresses no more than its reader takes. */
function inflated(data: Buffer): AsyncIterable<Buffer> {
  const stream = zlib.createInflateRaw();
  stream.end(data);
  return stream;
}
