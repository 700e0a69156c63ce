/** Where one kept result lies: in a file without a name, which is gone when it is closed and with the process, or in memory. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { ensureFolder } from '../files.ts';

export interface Cell {
  read(): Promise<string[]>;
  /** Called once. */
  remove(): void;
}

export interface CellOptions {
  folder: string | undefined;
  /** Bytes of all texts together, as UTF-8. */
  bytes: number;
  /** Bytes that may still be kept in memory, which is counted here. */
  memory: { left: number };
}

/** Bytes from which on a result is worth a file. */
const LARGE = 64 * 1024;

/** Throws where there is room neither on the disk nor in memory, saying so. */
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

/** Half of a surrogate pair has no UTF-8. */
function encode(text: string): Encoded {
  const encoding = LONE_SURROGATE.test(text) ? 'utf16le' : 'utf8';
  return { bytes: Buffer.from(text, encoding), encoding };
}

function decode({ bytes, encoding }: Encoded): string {
  return bytes.toString(encoding);
}

/** One text in a file. */
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
    // Waits for reads that are under way.
    remove: () => void handle.close().catch(() => undefined),
  };
}

/** The file has a name only until it is open: nobody else can open it, and nothing of it is left whatever ends the process. */
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
