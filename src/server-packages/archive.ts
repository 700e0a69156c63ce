/** Reads a ZIP archive from a stranger: lists its files within limits, and unpacks them below one folder. */
import { chmodSync, createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Entry, ZipFile } from 'yauzl';
import { formatSize } from '../config/units.ts';
import { McpxError, messageOf } from '../errors.ts';
import { foldersAbove, pathKey, unsafePath } from './entry-path.ts';

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
  entries: 100_000,
  unpacked: 2048 * MIB,
  ratio: 100,
  ratioFrom: 32 * MIB,
};

export interface ArchiveFile {
  path: string;
  size: number;
  isExecutable: boolean;
  open(): Promise<Readable>;
}

export interface ArchiveOptions {
  /** The path of the archive, for messages. */
  file: string;
  platform: NodeJS.Platform;
  limits?: ArchiveLimits;
}

/** Lists the files, without folders. Throws `refused` for an archive that is damaged, too large, or that could write elsewhere. */
export async function readArchive(bytes: Buffer, options: ArchiveOptions): Promise<ArchiveFile[]> {
  const { limits = ARCHIVE_LIMITS } = options;
  // Only a bundle needs the package.
  const { fromBufferPromise, getFileNameLowLevel } = await import('yauzl');
  const zip = await openZip(bytes, fromBufferPromise, options);
  if (zip.entryCount > limits.entries) throw refused(options, `it has more than ${limits.entries} files`);
  const listed = createListing(options, bytes.length);
  try {
    for await (const entry of zip.eachEntry()) {
      const path = pathOf(entry, getFileNameLowLevel);
      if (listed.add(path, entry) === 'file') {
        const isExecutable = (modeOf(entry) & 0o111) !== 0;
        listed.files.push({
          path,
          size: entry.uncompressedSize,
          isExecutable,
          open: () => zip.openReadStreamPromise(entry),
        });
      }
    }
  } catch (error) {
    throw error instanceof McpxError ? error : refused(options, messageOf(error), error);
  }
  return listed.files;
}

type OpenBuffer = typeof import('yauzl').fromBufferPromise;
type DecodeName = typeof import('yauzl').getFileNameLowLevel;

async function openZip(bytes: Buffer, open: OpenBuffer, options: ArchiveOptions): Promise<ZipFile> {
  try {
    // Names are decoded here, so that a refusal names the path and the reason.
    return await open(bytes, { decodeStrings: false, validateEntrySizes: true });
  } catch (cause) {
    const unsigned = withoutSignature(bytes);
    if (unsigned !== undefined) return openZip(unsigned, open, options);
    throw refused(options, `it is not a ZIP archive (${messageOf(cause)})`, cause);
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

function pathOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry, decode: DecodeName): string {
  return decode(generalPurposeBitFlag, fileNameRaw, extraFields, false).replaceAll('\\', '/');
}

function modeOf({ externalFileAttributes }: Entry): number {
  return externalFileAttributes >>> 16;
}

const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;
const LINK = 0o120000;

interface Listing {
  files: ArchiveFile[];
  /** Throws for an entry that breaks a rule. */
  add(path: string, entry: Entry): 'file' | 'folder';
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
    files: [],
    add(path, entry) {
      const reason = unsafePath(path, platform) ?? unfit(entry);
      if (reason !== undefined)
        throw refused(options, `the path ${JSON.stringify(shortened(path))} is refused: ${reason}`);
      if (kinds.size > limits.entries) throw refused(options, `it has more than ${limits.entries} files`);
      total += entry.uncompressedSize;
      if (total > limits.unpacked) throw refused(options, `it unpacks to more than ${formatSize(limits.unpacked)}`);
      if (total > limits.ratioFrom && total > archiveSize * limits.ratio)
        throw refused(options, `it unpacks to more than ${limits.ratio} times its size`);
      const kind = path.endsWith('/') ? 'folder' : 'file';
      for (const folder of foldersAbove(path.replace(/\/$/, ''))) take(folder, 'folder');
      take(path, kind);
      return kind;
    },
  };
}

function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 99)}…` : path;
}

/** Returns the reason for which the type or coding of an entry is refused. */
function unfit(entry: Entry): string | undefined {
  const type = modeOf(entry) & FILE_TYPE;
  if (type === LINK) return 'it is a symbolic link';
  if (type !== 0 && type !== REGULAR && type !== FOLDER) return 'it is neither a file nor a folder';
  if (entry.isEncrypted()) return 'it is encrypted';
  return entry.compressionMethod === 0 || entry.compressionMethod === 8 ? undefined : 'its compression is unknown';
}

/** Returns the content of a small file of the archive. */
export async function readEntry(file: ArchiveFile, options: ArchiveOptions): Promise<Buffer> {
  try {
    const parts: Buffer[] = [];
    for await (const part of await file.open()) parts.push(part);
    return Buffer.concat(parts);
  } catch (cause) {
    throw refused(options, `"${file.path}" is damaged (${messageOf(cause)})`, cause);
  }
}

export interface UnpackOptions extends ArchiveOptions {
  /** An existing empty folder. */
  folder: string;
  signal: AbortSignal;
}

/** Writes the files. yauzl ends a stream that gives more or fewer bytes than declared. */
export async function unpack(
  files: readonly ArchiveFile[],
  { folder, signal, ...options }: UnpackOptions,
): Promise<void> {
  for (const file of files) {
    if (signal.aborted) throw interrupted();
    const target = join(folder, file.path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const source = await file.open().catch((cause: unknown) => {
      throw refused(options, `"${file.path}" is damaged (${messageOf(cause)})`, cause);
    });
    await pipeline(source, createWriteStream(target, { flags: 'wx', mode: 0o600 }), { signal }).catch(
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
  if (!isOfDisk) return refused(options, `"${path}" is damaged (${messageOf(cause)})`, cause);
  return new McpxError('failed', `"${path}" of "${options.file}" cannot be written: ${messageOf(cause)}`, { cause });
}

export function refused({ file }: Pick<ArchiveOptions, 'file'>, reason: string, cause?: unknown): McpxError {
  return new McpxError('refused', `"${file}" is not a bundle that mcpx unpacks: ${reason}`, {
    hint: 'get the file again from its author; mcpx has written nothing',
    cause,
  });
}
