/** Reads an MCP bundle (`.mcpb`), and unpacks it into a folder of its own below `~/.mcpx/bundles`. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../config/environment.ts';
import { bundlesFolder } from '../config/paths.ts';
import { fileNameOf } from '../config/server-names.ts';
import { formatSize } from '../config/units.ts';
import { McpxError } from '../errors.ts';
import { codeOf, ensureFolder } from '../files.ts';
import { ARCHIVE_LIMITS, type ArchiveFile, isSigned, readArchive, readEntry, refused, unpack } from './archive.ts';
import { type Manifest, ManifestMistake, readManifest } from './manifest.ts';

/** The maximum size of `manifest.json` in bytes. */
const MAX_MANIFEST = 1024 * 1024;

export interface Bundle {
  file: string;
  sha256: string;
  isSigned: boolean;
  manifest: Manifest;
  files: ArchiveFile[];
}

export async function readBundle(file: string, { platform }: Pick<Environment, 'platform'>): Promise<Bundle> {
  const bytes = readBytes(file);
  const options = { file, platform };
  const files = await readArchive(bytes, options);
  const found = files.find(({ path }) => path === 'manifest.json');
  if (found === undefined) throw refused(options, 'it has no manifest.json');
  if (found.size > MAX_MANIFEST) throw refused(options, `manifest.json is larger than ${formatSize(MAX_MANIFEST)}`);
  const text = (await readEntry(found, options)).toString('utf8');
  const manifest = manifestOf(text, options);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { file, sha256, isSigned: isSigned(bytes), manifest, files };
}

function manifestOf(text: string, options: { file: string; platform: NodeJS.Platform }): Manifest {
  try {
    return readManifest(text, options.platform);
  } catch (error) {
    throw error instanceof ManifestMistake ? refused(options, error.message, error) : error;
  }
}

function readBytes(file: string): Buffer {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) {
    throw new McpxError('usage', `"${file}" does not exist`, { hint: 'name a .mcpb file that exists' });
  }
  if (!stats.isFile()) throw refused({ file }, 'it is not a file');
  if (stats.size > ARCHIVE_LIMITS.archive)
    throw refused({ file }, `it is larger than ${formatSize(ARCHIVE_LIMITS.archive)}`);
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new McpxError('failed', `"${file}" cannot be read (${codeOf(cause) ?? 'unknown reason'})`, {
      hint: 'allow your user to read it',
      cause,
    });
  }
}

/** Unpacks into a folder that nobody uses, and returns it. A failure leaves nothing behind. */
export async function unpackBundle(
  { file, sha256, files }: Bundle,
  { server, world, signal }: { server: string; world: Environment; signal: AbortSignal },
): Promise<string> {
  const parent = bundlesFolder(world);
  const temp = join(parent, `.unpack-${randomUUID()}`);
  try {
    ensureFolder(parent);
    mkdirSync(temp, { mode: 0o700 });
    await unpack(files, { folder: temp, file, platform: world.platform, signal });
    const folder = freeFolder(join(parent, `${fileNameOf(server)}-${sha256.slice(0, 8)}`));
    renameSync(temp, folder);
    return folder;
  } catch (error) {
    removeFolder(temp);
    if (error instanceof McpxError) throw error;
    throw new McpxError('failed', `the folder "${parent}" cannot be written (${codeOf(error) ?? 'unknown reason'})`, {
      hint: 'set MCPX_HOME to a writable folder',
      cause: error,
    });
  }
}

function freeFolder(wanted: string): string {
  let folder = wanted;
  for (let number = 2; existsSync(folder); number++) folder = `${wanted}-${number}`;
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
