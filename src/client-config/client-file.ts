/** Reads one file of a client: its bytes, its text, and the encoding in which a changed text has to be written. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { McpxError } from '../errors.ts';
import { codeOf } from '../files.ts';
import type { Format } from './text-editor.ts';

export interface ClientFile {
  file: string;
  format: Format;
  /** Undefined if the file does not exist. */
  bytes: Buffer | undefined;
  /** The text without a byte order mark; empty if the file does not exist. */
  text: string;
  encode(text: string): Buffer;
  /** Decodes other bytes in the same encoding. */
  decode(bytes: Buffer): string;
}

export function readClientFile(file: string): ClientFile {
  const bytes = readBytes(file);
  const { encoding, mark } = encodingOf(bytes);
  const encode = (text: string) => Buffer.concat([mark, Buffer.from(text, encoding)]);
  const decode = (other: Buffer) => other.subarray(mark.length).toString(encoding);
  const text = bytes === undefined ? '' : decode(bytes);
  if (bytes !== undefined && !encode(text).equals(bytes)) {
    throw new McpxError('config', `"${file}" is not valid UTF-8`, { hint: 'save it as UTF-8' });
  }
  return { file, format: formatOf(file), bytes, text, encode, decode };
}

/** Returns the SHA-256 of a file's content; undefined for a file that does not exist. */
export function digestOf(bytes: Buffer | undefined): string | undefined {
  return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex');
}

export function readBytes(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const reason = code === 'EISDIR' ? 'is a folder' : `cannot be read (${code ?? 'unknown reason'})`;
    throw new McpxError('config', `"${file}" ${reason}`, { hint: 'allow your user to read it', cause });
  }
}

export function formatOf(file: string): Format {
  if (/\.toml$/i.test(file)) return 'toml';
  return /\.ya?ml$/i.test(file) ? 'yaml' : 'json';
}

/** A byte order mark stays: programs that wrote one may need it. PowerShell writes UTF-16. */
function encodingOf(bytes: Buffer | undefined): { encoding: 'utf8' | 'utf16le'; mark: Buffer } {
  if (bytes?.[0] === 0xff && bytes[1] === 0xfe) return { encoding: 'utf16le', mark: bytes.subarray(0, 2) };
  const isMarked = bytes?.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf)) === true;
  return { encoding: 'utf8', mark: isMarked ? Buffer.of(0xef, 0xbb, 0xbf) : Buffer.alloc(0) };
}
