/** Facts about this checkout that every script needs: where it is, its version, the names of targets, and how scripts fail. */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A path inside the checkout. */
export const at = (...parts) => join(ROOT, ...parts);

export const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** The version that `mcpx --version` names. */
export const projectVersion = () => readJson(at('package.json')).version;

export const sha256 = (data) => createHash('sha256').update(data).digest('hex');

const SYSTEMS = { linux: 'linux', darwin: 'darwin', win32: 'win' };

/** Every target. npm has a package of Node for the first four; the others need a download from the release of Node. */
export const TARGETS = ['linux-x64', 'linux-arm64', 'win-x64', 'darwin-x64', 'darwin-arm64', 'win-arm64'];

/** The target of a machine, such as `linux-x64`. */
export function hostTarget(platform = process.platform, arch = process.arch) {
  return `${SYSTEMS[platform] ?? platform}-${arch}`;
}

/** Returns the value of `process.platform` on a target. */
export function platformOf(target) {
  const system = target.slice(0, target.lastIndexOf('-'));
  return Object.keys(SYSTEMS).find((platform) => SYSTEMS[platform] === system) ?? system;
}

/** The line that the executable of a target must print for `--version`. */
export function expectedVersionLine(target, nodeVersion) {
  const arch = target.slice(target.lastIndexOf('-') + 1);
  return `mcpx/${projectVersion()} ${platformOf(target)}-${arch} node-v${nodeVersion}`;
}

/** The executable's file name: plain for this machine, with the target in it when the target was asked for by name. */
export function executableName(target, { named }) {
  return `mcpx${named ? `-${target}` : ''}${target.startsWith('win-') ? '.exe' : ''}`;
}

/** A failure that the person can act on: shown without a stack. `code` tells callers which one it is. */
export class BuildError extends Error {
  constructor(message, { hint, code, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BuildError';
    this.hint = hint;
    this.code = code;
  }
}

/** True in the file that `node` was asked to run. */
export function isMain(metaUrl) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(metaUrl);
}

/** Runs a script's main function: its return value is the exit code, its failure an error and a hint on stderr. */
export async function runMain(main) {
  try {
    process.exitCode = (await main(process.argv.slice(2))) ?? 0;
  } catch (error) {
    tellError(error);
    process.exitCode = 1;
  }
}

/** An error and its hint on stderr; with the stack unless the person can act on it. */
export function tellError(error) {
  const text = error instanceof BuildError ? error.message : error?.stack;
  process.stderr.write(`error: ${text}\n${error?.hint ? `\nhint: ${error.hint}\n` : ''}`);
}
