/** Installs the packages when node_modules is missing or older than the lockfile; otherwise costs a few milliseconds. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { log, logStep } from './log.mjs';
import { npm } from './npm.mjs';
import { BuildError, hostTarget, isMain, ROOT, readJson, runMain, sha256 } from './project.mjs';

const INSTALL = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-update-notifier'];

/** Returns the inputs of an installation: the lockfile, and the machine, because some packages contain native code. */
function fingerprint(root) {
  return `${hostTarget()} ${sha256(readFileSync(join(root, 'package-lock.json')))}\n`;
}

/**
 * True when npm's own record of node_modules has every package of the lockfile in its version.
 * Somebody who ran `npm ci` by hand is not made to wait for a second one.
 */
export function matchesLockfile(root) {
  const recordFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(recordFile)) return false;
  const installed = new Map(Object.entries(readJson(recordFile).packages));
  return Object.entries(readJson(join(root, 'package-lock.json')).packages)
    .filter(([path, wanted]) => path !== '' && !wanted.optional && !wanted.devOptional)
    .every(([path, wanted]) => installed.get(path)?.version === wanted.version);
}

/** Returns `missing` if `npm ci` must run; otherwise the proof that it need not: our `stamp`, or npm's `record`. */
export function installState(root) {
  const stampFile = join(root, 'node_modules', '.mcpx-install');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprint(root)) return 'stamp';
  return matchesLockfile(root) ? 'record' : 'missing';
}

/** Makes node_modules fit the lockfile. Says something only when there is something to do. */
export async function ensureInstalled(root = ROOT) {
  const state = installState(root);
  if (state === 'stamp') return;
  if (state === 'missing') {
    log('install', 'npm ci, this can take a minute');
    await logStep('install', () => {
      const { status } = npm(INSTALL, { cwd: root, inherit: true });
      if (status !== 0) throw new BuildError('"npm ci" failed', { hint: 'npm ci --ignore-scripts' });
      return 'packages are in node_modules';
    });
  }
  writeFileSync(join(root, 'node_modules', '.mcpx-install'), fingerprint(root));
}

if (isMain(import.meta.url)) await runMain(() => ensureInstalled());
