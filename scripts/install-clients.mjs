/**
 * node scripts/install-clients.mjs: installs the MCP clients that tests/clients drives into .cache/clients, in the pinned versions.
 *   --all   those too that are tested only where they are present
 * Exits with 3 where the registry does not answer, which says nothing about mcpx.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { logStep } from './log.mjs';
import { npm } from './npm.mjs';
import { at, BuildError, hostTarget, isMain, readJson, runMain, sha256 } from './project.mjs';

const LOCK = ['package.json', 'package-lock.json'];

/** Exit code for a registry that does not answer. */
const UNREACHABLE = 3;

/** Messages of npm that mean a failure of the registry or of the network. */
const SILENCE =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|E5\d\d|E429)\b/;

export const isSilence = (said) => SILENCE.test(said);

const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-update-notifier'];

/** Runs npm in the folder unless the stamp says that the same has been done there; answers whether the registry did. */
async function install(folder, args, fingerprint) {
  const stamp = join(folder, '.mcpx-install');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) return true;
  let isAnswered = true;
  await logStep('clients', () => {
    const { status, stderr } = npm([...args, ...QUIET], { cwd: folder });
    if (status === 0) return `installed in ${folder}`;
    if (!isSilence(stderr)) throw new BuildError(`"npm ${args[0]}" failed: ${stderr.trim()}`);
    isAnswered = false;
    return `the registry does not answer, and tests of clients that are not installed are skipped: ${stderr.trim()}`;
  });
  if (isAnswered) writeFileSync(stamp, fingerprint);
  return isAnswered;
}

async function main(args) {
  const [folder, more] = [at('.cache', 'clients'), at('.cache', 'more-clients')];
  for (const one of [folder, more]) mkdirSync(one, { recursive: true });
  for (const file of LOCK) copyFileSync(at('scripts', 'clients', file), join(folder, file));
  const pinned = LOCK.map((file) => sha256(readFileSync(join(folder, file)))).join(' ');
  const fingerprint = `${hostTarget()} ${pinned}\n`;
  if (!(await install(folder, ['ci'], fingerprint))) return UNREACHABLE;
  if (!args.includes('--all')) return 0;
  const { whereInstalled } = readJson(join(folder, 'package.json'));
  const packages = Object.entries(whereInstalled).map(([name, version]) => `${name}@${version}`);
  writeFileSync(join(more, 'package.json'), '{"private":true}');
  return (await install(more, ['install', '--legacy-peer-deps', ...packages], fingerprint)) ? 0 : UNREACHABLE;
}

if (isMain(import.meta.url)) await runMain(main);
