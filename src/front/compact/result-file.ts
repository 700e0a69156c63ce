/** Stores one result: in memory, or in an unlinked file, which disappears with its handle or the process. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { McpxError, messageOf } from '../../errors.ts';
import { ensureFolder } from '../../files.ts';

export interface Cell {
  read(): Promise<string[]>;
  /** Frees the storage; must be called only once. */
  remove(): void;
}

export interface CellOptions {
  folder: string | undefined;
  /** Total UTF-8 bytes of all texts. */
  bytes: number;
  /** Bytes of memory that are still available; this file updates the number. */
  memory: { left: number };
}

/** Minimum bytes of a result that is stored in a file. */
const LARGE = 64 * 1024;

/** Stores the texts; throws overloaded if neither a file nor memory is available. */
export async function writeCell(texts: string[], { folder, bytes, memory }: CellOptions): Promise<Cell> {
  let failure: unknown;
  if (folder !== undefined && bytes >= LARGE) {
    try {
      return await inFile(texts, folder);
    } catch (error) {
      failure = error;
    }
  }
  if (bytes <= memory.left) return inMemory(texts, bytes, memory);
  const why = failure === undefined ? '' : `, and it cannot be written to "${folder}": ${messageOf(failure)}`;
  throw new McpxError('overloaded', `there is no memory left for it${why}`);
}

interface Encoded {
  bytes: Buffer;
  encoding: 'utf8' | 'utf16le';
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Uses UTF-16 for a text with a lone surrogate, which UTF-8 cannot represent. */
function encode(text: string): Encoded {
  const encoding = LONE_SURROGATE.test(text) ? 'utf16le' : 'utf8';
  return { bytes: Buffer.from(text, encoding), encoding };
}

function decode({ bytes, encoding }: Encoded): string {
  return bytes.toString(encoding);
}

/** The size and the encoding of one text in a file. */
interface Part {
  size: number;
  encoding: Encoded['encoding'];
}

function inMemory(texts: string[], bytes: number, memory: CellOptions['memory']): Cell {
  memory.left -= bytes;
  const buffers = texts.map(encode);
  return {
    read: async () => buffers.map(decode),
    remove: () => {
      memory.left += bytes;
    },
  };
}

async function inFile(texts: string[], folder: string): Promise<Cell> {
  const handle = await openUnnamed(folder);
  const parts: Part[] = [];
  try {
    for (const text of texts) {
      const encoded = encode(text);
      parts.push({ size: encoded.bytes.length, encoding: encoded.encoding });
      await handle.writeFile(encoded.bytes);
    }
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
  return {
    read: () => readAll(handle, parts),
    // `close` waits for pending reads.
    remove: () => void handle.close().catch(() => undefined),
  };
}

/** Opens a file and unlinks it at once: no other process can open it, and nothing remains when this process ends. */
async function openUnnamed(folder: string): Promise<FileHandle> {
  ensureFolder(folder);
  const file = join(folder, randomUUID());
  const handle = await open(file, 'wx+', 0o600);
  try {
    await unlink(file);
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
  return handle;
}

async function readAll(handle: FileHandle, parts: Part[]): Promise<string[]> {
  const texts: string[] = [];
  let position = 0;
  for (const { size, encoding } of parts) {
    const buffer = Buffer.allocUnsafeSlow(size);
    await readFully(handle, buffer, position);
    texts.push(decode({ bytes: buffer, encoding }));
    position += size;
  }
  return texts;
}

async function readFully(handle: FileHandle, buffer: Buffer, position: number): Promise<void> {
  for (let at = 0; at < buffer.length; ) {
    const { bytesRead } = await handle.read(buffer, at, buffer.length - at, position + at);
    if (bytesRead === 0) throw new McpxError('failed', 'a kept result is no longer there');
    at += bytesRead;
  }
}
