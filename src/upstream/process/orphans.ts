/** Records on disk which mcpx owns which child, so that the next start can end the orphans of a killed mcpx. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { ensureFolder, removeAbandonedTemps } from '../../files.ts';
import type { Log } from '../../observe/log.ts';
import { isRecord } from '../../wire/message.ts';
import { processGroup } from './process-group.ts';

export interface ChildRecords {
  /** Records a started child that leads its own process group. */
  started(pid: number): void;
  /** Deletes the record of a child that has ended completely. */
  ended(pid: number): void;
  /** Ends the children of owners that no longer run; resolves with the number of orphans found. */
  reap(): Promise<number>;
}

export interface ChildRecordsOptions {
  /** The folder, which is created with mode 0700 when the first child is recorded. */
  folder: string;
  log: Log;
  platform?: NodeJS.Platform;
}

/** Identifies a process, also if its pid is reused later. */
interface Identity {
  pid: number;
  /** The start time as the system reports it. */
  started: string;
}

interface ChildRecord {
  child: Identity;
  owner: Identity;
  /** The host, boot and pid namespace in which the pids are valid. */
  world: string;
}

/** Milliseconds between SIGTERM and SIGKILL of an orphan. */
const TERM_WAIT = 2000;
const POLL = 50;

export function createChildRecords({ folder, log, platform = process.platform }: ChildRecordsOptions): ChildRecords {
  // On Windows a child ends with the job of its console, and no start time identifies it.
  if (platform === 'win32') return { started: () => undefined, ended: () => undefined, reap: async () => 0 };
  const world = worldOf(platform);
  let self: Identity | undefined;
  let isCreated = false;
  let told = false;

  const fileOf = (pid: number) => join(folder, `${process.pid}-${pid}.json`);
  const tell = (error: unknown) => {
    if (!told) {
      const lost = 'processes that a killed mcpx leaves behind are not ended by the next one';
      log.warn(`child processes cannot be recorded in "${folder}", ${lost}: ${messageOf(error)}`);
    }
    told = true;
  };

  return {
    started(pid) {
      try {
        self ??= identityOf(process.pid, platform);
        const child = identityOf(pid, platform);
        // A child that has already ended needs no record.
        if (!self || !child) return;
        const record: ChildRecord = { child, owner: self, world };
        if (!isCreated) ensureFolder(folder);
        isCreated = true;
        writeRecord(folder, `${process.pid}-${pid}.json`, JSON.stringify(record));
      } catch (error) {
        isCreated = false;
        tell(error);
      }
    },
    ended: (pid) => rmSync(fileOf(pid), { force: true }),
    async reap() {
      removeAbandonedTemps(folder);
      const outcomes = filesIn(folder).map(async (name) => {
        try {
          return await reapOne(join(folder, name), { world, platform, log });
        } catch (error) {
          log.debug(`"${name}" in "${folder}" is left alone: ${messageOf(error)}`);
          return false;
        }
      });
      return (await Promise.all(outcomes)).filter(Boolean).length;
    },
  };
}

/**
 * Writes a record, which no other process writes: readers see all of it or no file. This takes a third of the system calls
 * of `writeFileAtomic`, and the file may be lost in a crash of the machine, after which it is useless.
 */
function writeRecord(folder: string, name: string, text: string): void {
  const temp = join(folder, `.${name}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`);
  try {
    writeFileSync(temp, text, { flag: 'wx', mode: 0o600 });
    renameSync(temp, join(folder, name));
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+-\d+\.json$/.test(name));
  } catch {
    return []; // The folder does not exist: no child was ever recorded.
  }
}

interface Surroundings {
  world: string;
  platform: NodeJS.Platform;
  log: Log;
}

/** Returns true if the child was running and has been ended. */
async function reapOne(file: string, surroundings: Surroundings): Promise<boolean> {
  const record = readRecord(file);
  const fate = record === undefined ? 'forget' : fateOf(record, surroundings);
  if (record !== undefined && fate === 'end') {
    surroundings.log.info(`ending process ${record.child.pid}, which an mcpx that was killed left behind`);
    await endGroup(record.child, surroundings.platform);
  }
  if (fate !== 'keep') rmSync(file, { force: true });
  return fate === 'end';
}

function fateOf({ world, owner, child }: ChildRecord, here: Surroundings): 'keep' | 'forget' | 'end' {
  if (world !== here.world) {
    const [host, boot] = world.split('/');
    const [ourHost, ourBoot] = here.world.split('/');
    // After a reboot of this host no process is left; processes of another host or container cannot be checked from
    // here.
    return host === ourHost && boot !== ourBoot ? 'forget' : 'keep';
  }
  if (isAlive(owner, here.platform)) return 'keep';
  return isAlive(child, here.platform) ? 'end' : 'forget';
}

async function endGroup(child: Identity, platform: NodeJS.Platform): Promise<void> {
  const group = processGroup(child.pid, platform);
  group.terminate();
  const end = Date.now() + TERM_WAIT;
  while (group.alive() && Date.now() < end) await delay(POLL, undefined, { ref: false });
  group.kill();
}

function readRecord(file: string): ChildRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isRecord(value) || !isIdentity(value.child) || !isIdentity(value.owner)) return undefined;
    return { child: value.child, owner: value.owner, world: String(value.world) };
  } catch {
    return undefined; // A process that was killed left an incomplete file.
  }
}

function isIdentity(value: unknown): value is Identity {
  return isRecord(value) && Number.isInteger(value.pid) && Number(value.pid) > 1 && typeof value.started === 'string';
}

function isAlive({ pid, started }: Identity, platform: NodeJS.Platform): boolean {
  return identityOf(pid, platform)?.started === started;
}

/** Returns undefined if there is no such process or it is a zombie. */
export function identityOf(pid: number, platform: NodeJS.Platform = process.platform): Identity | undefined {
  try {
    const started = platform === 'linux' ? ticksOf(pid) : dateOf(pid);
    return started ? { pid, started } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the start time in clock ticks since boot: field 22 of the stat file, counted after the process name, which
 * may contain any character.
 */
function ticksOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function dateOf(pid: number): string {
  const env = { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin' };
  return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env, timeout: 2000 }).trim();
}

/** Returns `host/boot/namespace` on Linux; elsewhere the host, because the start time of a process is a date. */
function worldOf(platform: NodeJS.Platform): string {
  const host = hostname().replaceAll('/', '');
  if (platform !== 'linux') return host;
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${host}/${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return host;
  }
}
