/** Checks the folder of mcpx: whether it can be written, its size, the free space, secrets that others can read, and orphans. */
import { accessSync, constants, readdirSync, statfsSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { homeFolder } from '../../config/paths.ts';
import { codeOf, ensureFolder } from '../../files.ts';
import { SILENT } from '../../observe/log.ts';
import { createChildRecords } from '../../upstream/process/orphans.ts';
import { shellWord } from '../shell-word.ts';
import type { Examined, Finding } from './finding.ts';

const MB = 1024 * 1024;
/** Free space below which writes fail soon, and below which the user should know. */
const FULL = 20 * MB;
const NEARLY_FULL = 200 * MB;

export async function checkHome(world: Environment): Promise<Examined> {
  const home = homeFolder(world);
  const unwritable = unwritableFinding(home, world);
  if (unwritable !== undefined) return { facts: [home], findings: [unwritable] };
  const free = freeBytes(home);
  const space = free === undefined ? '' : `, ${sizeText(free)} free`;
  const parts = partsOf(home).map(({ name, size }) => `${name} ${sizeText(size)}`);
  const orphans = await createChildRecords({ folder: join(home, 'run'), log: SILENT }).reap();
  return {
    facts: [
      `${home}${space}${parts.length === 0 ? '' : `; ${parts.join(', ')}`}`,
      orphans === 0
        ? 'no process is left from an mcpx that was killed'
        : `${orphans} ${orphans === 1 ? 'process' : 'processes'} left from an mcpx that was killed, ended now`,
    ],
    findings: [...spaceFinding(home, free), ...openSecrets(home, world)],
  };
}

function unwritableFinding(home: string, world: Environment): Finding | undefined {
  const own = { area: 'home', code: 'home-not-writable', level: 'error' } as const;
  const message = `the folder "${home}" cannot be written`;
  try {
    ensureFolder(home);
    accessSync(home, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const lost = 'lists of tools, sign-ins and output of servers are not stored, and every start is slow';
    const blocking = blockingFile(home);
    if (blocking !== undefined) {
      const command = `mv ${shellWord(blocking)} ${shellWord(`${blocking}.old`)}`;
      return { ...own, message, reason: `"${blocking}" is a file and not a folder; ${lost}`, command };
    }
    const code = codeOf(error) ?? 'unknown';
    return {
      ...own,
      message,
      reason: `the system refuses it (${code}); ${lost}`,
      command: permissionCommand(home, code, world),
    };
  }
}

/** Returns the nearest existing ancestor if it is a file. */
function blockingFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return found.isDirectory() ? undefined : path;
  const parent = dirname(path);
  return parent === path ? undefined : blockingFileOf(parent);
}

function blockingFileOf(path: string): string | undefined {
  try {
    return blockingFile(path);
  } catch {
    // A path below a file cannot be examined; the file itself can.
    return blockingFile(dirname(path));
  }
}

function permissionCommand(home: string, code: string, { platform, home: user }: Environment): string {
  if (platform === 'win32') return `icacls "${home}" /grant "%USERNAME%":(OI)(CI)F`;
  const found = statSync(home, { throwIfNoEntry: false });
  if (found === undefined || code === 'EROFS')
    return `export MCPX_HOME=${shellWord(join(user, '.local', 'share', 'mcpx'))}`;
  const { uid, username } = userInfo();
  return found.uid === uid ? `chmod -R u+rwX ${shellWord(home)}` : `sudo chown -R ${username} ${shellWord(home)}`;
}

function spaceFinding(home: string, free: number | undefined): Finding[] {
  if (free === undefined || free >= NEARLY_FULL) return [];
  const isFull = free < FULL;
  return [
    {
      area: 'home',
      code: 'disk-full',
      level: isFull ? 'error' : 'warning',
      message: `the disk of "${home}" has only ${sizeText(free)} left`,
      reason:
        'lists, sign-ins and large results cannot be stored on a full disk; stored lists and logs are made again when needed',
      command: `rm -rf ${shellWord(join(home, 'cache'))} ${shellWord(join(home, 'logs'))}`,
    },
  ];
}

/** Secrets that other users of the machine can read. */
function openSecrets(home: string, { platform }: Environment): Finding[] {
  if (platform === 'win32') return [];
  const files = ['secrets.env', 'tokens.json', 'secret.key'].map((name) => join(home, name));
  const open = files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  return open.map((file) => ({
    area: 'home',
    code: 'secrets-readable',
    level: 'warning',
    message: `other users of this machine can read "${file}"`,
    reason: 'it holds secrets, so only you should read it',
    command: `chmod 600 ${shellWord(file)}`,
  }));
}

function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** The largest number of files that are counted. */
const MAX_FILES = 20_000;

function partsOf(home: string): { name: string; size: number }[] {
  return ['cache', 'logs', 'results', 'sessions', 'bundles']
    .map((name) => ({ name, size: sizeOf(join(home, name)) }))
    .filter(({ size }) => size > 0);
}

function sizeOf(folder: string): number {
  try {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).slice(0, MAX_FILES);
    return files.reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  } catch {
    return 0;
  }
}

function sizeText(bytes: number): string {
  if (bytes >= 1024 * MB) return `${(bytes / (1024 * MB)).toFixed(1)} GB`;
  return bytes >= MB ? `${Math.round(bytes / MB)} MB` : `${Math.ceil(bytes / 1024)} KB`;
}
