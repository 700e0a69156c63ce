/** Reads an MCP bundle (`.mcpb`), and unpacks it into a folder of its own below `~/.mcpx/bundles`. */
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Environment } from '../config/environment.ts';
import { bundlesFolder } from '../config/paths.ts';
import { fileNameOf } from '../config/server-names.ts';
import { formatSize } from '../config/units.ts';
import { McpxError } from '../errors.ts';
import { codeOf, ensureFolder } from '../files.ts';
import { ARCHIVE_LIMITS, type ArchiveFile, isSigned, readArchive, readEntry, refused, unpack } from './archive.ts';
import { pathKey, unsafePath } from './entry-path.ts';
import { type Manifest, ManifestMistake, readManifest } from './manifest.ts';
import { shownText } from './shown-text.ts';

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
  const files = readArchive(bytes, options);
  const found = files.find(({ path }) => path === 'manifest.json');
  if (found === undefined) throw refused(options, 'it has no manifest.json');
  if (found.size > MAX_MANIFEST) throw refused(options, `manifest.json is larger than ${formatSize(MAX_MANIFEST)}`);
  const text = (await readEntry(found, options)).toString('utf8');
  const manifest = manifestOf(text, options);
  checkEntryPoint(manifest, files, options);
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

/** Throws for an entry point that is outside the bundle or not in it, before anything is unpacked. */
function checkEntryPoint(
  { entryPoint, type }: Manifest,
  files: readonly ArchiveFile[],
  options: { file: string; platform: NodeJS.Platform },
): void {
  const path = entryPoint.replaceAll('\\', '/').replace(/^(?:\$\{__dirname\}\/|\.\/)+/, '');
  const unsafe = unsafePath(path, options.platform);
  const shown = shownText(entryPoint);
  if (unsafe !== undefined) throw refused(options, `its entry point "${shown}" cannot be used: ${unsafe}`);
  const names = new Set(files.map((one) => pathKey(one.path, options.platform)));
  const wanted = pathKey(path, options.platform);
  // On Windows a manifest may leave out the extension of a program.
  const isThere = names.has(wanted) || (type === 'binary' && names.has(`${wanted}.exe`));
  if (!isThere) throw refused(options, `its entry point "${shown}" is not in it`);
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
  { file, sha256, files, manifest }: Bundle,
  { server, world, signal }: { server: string; world: Environment; signal: AbortSignal },
): Promise<string> {
  const parent = bundlesFolder(world);
  const temp = join(parent, `${TEMP}${randomUUID()}`);
  try {
    ensureFolder(parent);
    removeLeftovers(parent);
    mkdirSync(temp, { mode: 0o700 });
    await unpack(files, { folder: temp, file, platform: world.platform, signal });
    if (manifest.type === 'binary') makeExecutable(temp, [manifest.entryPoint, manifest.launch?.command ?? '']);
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

/** A bundle that was packed on Windows has no modes. */
function makeExecutable(folder: string, paths: string[]): void {
  for (const path of paths) {
    const program = resolve(folder, path.replace(/^\$\{__dirname\}[\\/]/, ''));
    const isInside = program.startsWith(folder + sep);
    if (isInside && statSync(program, { throwIfNoEntry: false })?.isFile() === true) chmodSync(program, 0o700);
  }
}

const TEMP = '.unpack-';
/** Milliseconds after which a folder with an unfinished bundle belongs to a process that was killed. */
const ABANDONED = 60 * 60_000;

function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name);
    const changed = name.startsWith(TEMP) ? (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) : Date.now();
    if (Date.now() - changed > ABANDONED) removeFolder(folder);
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
