/** Reads a ZIP archive from a stranger: lists its files within limits, and unpacks them below one folder. */
import { chmodSync, createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { formatSize } from '../config/units.ts';
import { McpxError, messageOf } from '../errors.ts';
import { foldersAbove, pathKey, unsafePath } from './entry-path.ts';
import { contentOf, findDirectory, readDirectory, type ZipFile, ZipMistake } from './zip-directory.ts';

/** Limits in bytes and numbers. Bundles with their dependencies have up to 300 MB and some ten thousand files. */
export interface ArchiveLimits {
  archive: number;
  entries: number;
  unpacked: number;
  /** The unpacked size as a multiple of the archive's size, for archives that unpack to more than `ratioFrom` bytes. */
  ratio: number;
  ratioFrom: number;
}

const MIB = 1024 * 1024;

export const ARCHIVE_LIMITS: ArchiveLimits = {
  archive: 512 * MIB,
  entries: 50_000,
  unpacked: 2048 * MIB,
  ratio: 100,
  ratioFrom: 32 * MIB,
};

export interface ArchiveFile {
  path: string;
  size: number;
  isExecutable: boolean;
  content(): AsyncIterable<Buffer>;
}

export interface ArchiveOptions {
  /** The path of the archive, for messages. */
  file: string;
  platform: NodeJS.Platform;
  limits?: ArchiveLimits;
}

/** Lists the files, without folders. Throws `refused` for an archive that is damaged, too large, or that could write elsewhere. */
export function readArchive(given: Buffer, options: ArchiveOptions): ArchiveFile[] {
  try {
    const bytes = isArchive(given) ? given : (withoutSignature(given) ?? given);
    const listed = createListing(options, bytes.length);
    const files: ArchiveFile[] = [];
    for (const file of readDirectory(bytes)) {
      const path = file.name.replaceAll('\\', '/');
      if (listed.add(path, file) === 'folder') continue;
      const content = () => contentOf(bytes, file);
      files.push({ path, size: file.size, isExecutable: (file.mode & 0o111) !== 0, content });
    }
    return files;
  } catch (error) {
    throw error instanceof ZipMistake ? refused(options, error.message, error) : error;
  }
}

function isArchive(bytes: Buffer): boolean {
  try {
    return findDirectory(bytes).count >= 0;
  } catch {
    return false;
  }
}

/** The block with the signature follows the archive; older tools did not declare it as the archive's comment. */
function withoutSignature(bytes: Buffer): Buffer | undefined {
  if (!isSigned(bytes)) return undefined;
  const start = bytes.lastIndexOf('MCPB_SIG_V1');
  return start < 0 ? undefined : bytes.subarray(0, start);
}

/** True if a bundle ends with a signature. */
export function isSigned(bytes: Buffer): boolean {
  return bytes.subarray(-12).toString('latin1') === 'MCPB_SIG_END';
}

const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;
const LINK = 0o120000;

interface Listing {
  /** Throws for an entry that breaks a rule. */
  add(path: string, entry: ZipFile): 'file' | 'folder';
}

function createListing(options: ArchiveOptions, archiveSize: number): Listing {
  const { platform, limits = ARCHIVE_LIMITS } = options;
  const kinds = new Map<string, 'file' | 'folder'>();
  let total = 0;
  const take = (path: string, kind: 'file' | 'folder') => {
    const key = pathKey(path, platform);
    const present = kinds.get(key);
    if (present !== undefined && (kind === 'file' || present === 'file'))
      throw refused(options, `it has "${path}" twice`);
    kinds.set(key, kind);
  };
  return {
    add(path, entry) {
      const reason = unsafePath(path, platform) ?? unfit(entry);
      if (reason !== undefined)
        throw refused(options, `the path ${JSON.stringify(shortened(path))} is refused: ${reason}`);
      total += entry.size;
      if (total > limits.unpacked) throw refused(options, `it unpacks to more than ${formatSize(limits.unpacked)}`);
      if (total > limits.ratioFrom && total > archiveSize * limits.ratio)
        throw refused(options, `it unpacks to more than ${limits.ratio} times its size`);
      const kind = path.endsWith('/') ? 'folder' : 'file';
      for (const folder of foldersAbove(path.replace(/\/$/, ''))) take(folder, 'folder');
      take(path, kind);
      if (kinds.size > limits.entries) throw refused(options, `it has more than ${limits.entries} files`);
      return kind;
    },
  };
}

function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 99)}…` : path;
}

/** The flag of an encrypted file. */
const ENCRYPTED = 1;

/** Returns the reason for which the type or coding of an entry is refused. */
function unfit({ mode, flags, method, size, compressed }: ZipFile): string | undefined {
  const type = mode & FILE_TYPE;
  if (type === LINK) return 'it is a symbolic link';
  if (type !== 0 && type !== REGULAR && type !== FOLDER) return 'it is neither a file nor a folder';
  if ((flags & ENCRYPTED) !== 0) return 'it is encrypted';
  if (method === 0 && size !== compressed) return 'its sizes contradict each other';
  return method === 0 || method === 8 ? undefined : 'its compression is unknown';
}

/** Returns the content of a small file of the archive. */
export async function readEntry(file: ArchiveFile, options: ArchiveOptions): Promise<Buffer> {
  try {
    const parts: Buffer[] = [];
    for await (const part of file.content()) parts.push(part);
    return Buffer.concat(parts);
  } catch (cause) {
    throw refused(options, `"${file.path}" is damaged: ${messageOf(cause)}`, cause);
  }
}

export interface UnpackOptions extends ArchiveOptions {
  /** An existing empty folder. */
  folder: string;
  signal: AbortSignal;
}

/** Writes the files; one whose content is not as declared is refused while it is written. */
export async function unpack(
  files: readonly ArchiveFile[],
  { folder, signal, ...options }: UnpackOptions,
): Promise<void> {
  for (const file of files) {
    if (signal.aborted) throw interrupted();
    const target = join(folder, file.path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    await pipeline(file.content(), createWriteStream(target, { flags: 'wx', mode: 0o600 }), { signal }).catch(
      (cause: unknown) => {
        throw signal.aborted ? interrupted(cause) : writeFailure(cause, file, options);
      },
    );
    if (file.isExecutable) chmodSync(target, 0o700);
  }
}

function interrupted(cause?: unknown): McpxError {
  return new McpxError('cancelled', 'interrupted: nothing was added', { cause });
}

function writeFailure(cause: unknown, { path }: ArchiveFile, options: ArchiveOptions): McpxError {
  const isOfDisk = cause instanceof Error && 'syscall' in cause;
  if (!isOfDisk) return refused(options, `"${path}" is damaged: ${messageOf(cause)}`, cause);
  return new McpxError('failed', `"${path}" of "${options.file}" cannot be written: ${messageOf(cause)}`, { cause });
}

export function refused({ file }: Pick<ArchiveOptions, 'file'>, reason: string, cause?: unknown): McpxError {
  return new McpxError('refused', `"${file}" is not a bundle that mcpx unpacks: ${reason}`, {
    hint: 'get the file again from its author; mcpx has written nothing',
    cause,
  });
}
