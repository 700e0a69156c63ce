/** The Node that is embedded: one pinned version, fetched from npm, checked against the committed hashes on every use. */
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
import { at, BuildError, hostTarget, readJson, sha256 } from '../project.mjs';
import { readFromTar } from './tar.mjs';

/** The committed pins: `{version, targets: {target: {package, binary, integrity, sha256}}}`. */
export const nodeLock = () => readJson(at('scripts', 'release', 'node.lock.json'));

/** Throws unless the bytes have the pinned hash. `integrity` is in the form that npm uses: `sha512-<base64>`. */
export function verifyIntegrity(bytes, integrity, subject) {
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (found === integrity) return;
  throw new BuildError(`"${subject}" is not the pinned one: expected ${integrity}, found ${found}`, {
    hint: 'do not use this download; check which registry npm is set to: npm config get registry',
  });
}

/** Throws unless the binary has the pinned hash. */
export function verifyBinary(bytes, expected, subject) {
  const found = sha256(bytes);
  if (found === expected) return;
  throw new BuildError(`the binary in "${subject}" is not the pinned one: expected ${expected}, found ${found}`, {
    hint: 'rm -rf .cache && npm run build',
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
    verifyBinary(binary, pin.sha256, id);
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

/**
 * The Node that runs this script, for targets that npm has no package of.
 * It must be the pinned version, on the target itself, and an ordinary Node without an application inside.
 */
export function ownNode(target, version, self = process) {
  const hint = `install Node ${version} on a ${target} machine and run the build there with it`;
  if (hostTarget(self.platform, self.arch) !== target || self.versions.node !== version) {
    const here = `${hostTarget(self.platform, self.arch)} with Node ${self.versions.node}`;
    throw new BuildError(`"${target}" can only be built on such a machine by Node ${version}; this is ${here}`, {
      hint,
      code: 'no-node',
    });
  }
  return { file: self.execPath, version };
}

/** The pinned Node of a target, from the cache or from npm: `{file, version}`. */
export async function pinnedNode(target) {
  const { version, targets } = nodeLock();
  if (!Object.hasOwn(targets, target)) return ownNode(target, version);
  const pin = targets[target];
  const folder = at('.cache', 'node', version, target);
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
