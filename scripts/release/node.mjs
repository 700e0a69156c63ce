/** The Node that is embedded: one pinned version, fetched from npm or from nodejs.org, checked against the committed hashes on every use. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { formatSize, log, logStep } from '../log.mjs';
import { npm } from '../npm.mjs';
import { at, BuildError, readJson, sha256 } from '../project.mjs';
import { releasedNode, verifySha256 } from './node-release.mjs';
import { readFromTar } from './tar.mjs';

/**
 * The committed pins: `{version, targets}`. A target is `{package, binary, integrity, sha256}` with the hash of the binary if
 * npm has a package of it, else `{download, binary, sha256}` with the hash of the file in the release of Node.
 */
export const nodeLock = () => readJson(at('scripts', 'release', 'node.lock.json'));

/** Throws unless the bytes have the pinned hash. `integrity` is in the form that npm uses: `sha512-<base64>`. */
export function verifyIntegrity(bytes, integrity, subject) {
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (found === integrity) return;
  throw new BuildError(`"${subject}" is not the pinned one: expected ${integrity}, found ${found}`, {
    hint: 'do not use this download; check which registry npm is set to: npm config get registry',
  });
}

/** The package as npm serves it. Some versions are missing from the package's list and still served by address. */
function download(name, version, folder) {
  const byName = npm(['pack', `${name}@${version}`, '--silent'], { cwd: folder });
  if (byName.status !== 0) {
    const registry = npm(['config', 'get', 'registry'], { cwd: folder }).stdout.trim().replace(/\/*$/, '/');
    const byAddress = npm(['pack', `${registry}${name}/-/${name}-${version}.tgz`, '--silent'], { cwd: folder });
    if (byAddress.status !== 0) {
      throw new BuildError(`cannot fetch "${name}@${version}" from the npm registry: ${byName.stderr.trim()}`, {
        hint: `npm pack ${name}@${version}`,
      });
    }
  }
  const file = readdirSync(folder).find((entry) => entry.endsWith('.tgz'));
  if (file === undefined) throw new BuildError(`npm fetched "${name}@${version}" and left no file`);
  return readFileSync(join(folder, file));
}

/** Downloads, checks and unpacks one target's Node into its cache folder. */
function fetchNode(pin, version, folder) {
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    const tarball = download(pin.package, version, work);
    const id = `${pin.package}@${version}`;
    verifyIntegrity(tarball, pin.integrity, id);
    const archive = gunzipSync(tarball);
    const binary = readFromTar(archive, `package/${pin.binary}`);
    if (binary === undefined) throw new BuildError(`"${id}" has no file "${pin.binary}"`);
    verifySha256(binary, pin.sha256, `${id}/${pin.binary}`);
    const unpacked = join(work, 'unpacked');
    mkdirSync(unpacked);
    writeFileSync(join(unpacked, basename(pin.binary)), binary, { mode: 0o755 });
    const licence = readFromTar(archive, 'package/LICENSE');
    if (licence !== undefined) writeFileSync(join(unpacked, 'LICENSE'), licence);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
    return formatSize(tarball.length);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A cached download is used only when it still has the pinned hash. */
function isCached(file, expected) {
  if (!existsSync(file)) return false;
  if (sha256(readFileSync(file)) === expected) return true;
  log('node', `${file} is not what was downloaded, fetching it again`);
  return false;
}

/** The pinned Node of a target, from the cache or from its source: `{file, version}`. */
export async function pinnedNode(target) {
  const { version, targets } = nodeLock();
  const pin = Object.hasOwn(targets, target) ? targets[target] : undefined;
  if (pin === undefined) throw new BuildError(`there is no Node for "${target}"`, { code: 'no-node' });
  const folder = at('.cache', 'node', version, target);
  if (pin.download !== undefined) return { file: await releasedNode(pin, { version, folder }), version };
  const file = join(folder, basename(pin.binary));
  if (!isCached(file, pin.sha256)) {
    await logStep(
      'node',
      () => `fetched Node ${version} for ${target}, ${fetchNode(pin, version, folder)}, hashes fit`,
    );
  }
  return { file, version };
}

/** Node's licence text, a file. Not every target's package carries it; the one for linux-x64 does. */
export async function nodeLicence() {
  const { file } = await pinnedNode('linux-x64');
  return join(dirname(file), 'LICENSE');
}
