/** Records deleted sessions on disk until their ids expire, so that no process with the same home resumes one. */
import { appendFileSync, closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { ensureFolder } from '../../files.ts';
import type { Log } from '../../observe/log.ts';
import { type Claims, LIFETIME } from './session-id.ts';

type Ended = Pick<Claims, 'nonce' | 'expires'>;

export interface EndedSessions {
  /** Marks a session as ended in this process. */
  add(session: Ended): void;
  /** Marks a session as ended in every process with the same home, including later ones. */
  addForAll(session: Ended): void;
  /** Returns true if a session must not be resumed, including sessions that other processes have ended. */
  has(session: Ended): boolean;
  /** Reads the sessions that other processes have ended, at most once a second; returns true if there are new ones. */
  refresh(): boolean;
}

export interface EndedSessionsOptions {
  /** The folder of the records; if absent, other processes do not know of ended sessions. */
  folder?: string | undefined;
  log?: Pick<Log, 'warn'> | undefined;
}

/** The ended sessions whose ids expire on one day. */
interface Day {
  nonces: Set<string>;
  /** Number of bytes of the day's file that are read already. */
  read: number;
}

const DAY = 24 * 60 * 60_000;
/**
 * Maximum ended sessions per day of expiry. Beyond it, all sessions of that day count as ended and cannot be resumed.
 */
const MAX_PER_DAY = 50_000;
/** Characters of a line: the nonce and the newline. */
const LINE = 17;
/** Milliseconds between two reads of the records of other processes. */
const LOOK = 1000;

export function createEndedSessions({ folder, log }: EndedSessionsOptions = {}): EndedSessions {
  const days = new Map<string, Day>();
  let looked = 0;
  let told = false;

  const dayOf = ({ expires }: Pick<Ended, 'expires'>): [string, Day] => {
    const name = new Date(expires).toISOString().slice(0, 10);
    const day = days.get(name) ?? { nonces: new Set(), read: 0 };
    days.set(name, day);
    return [name, day];
  };
  const isFull = ({ nonces }: Day) => nonces.size >= MAX_PER_DAY;
  const note = (day: Day, nonce: string) => {
    if (!isFull(day)) day.nonces.add(nonce);
  };
  /** Reads the lines appended since the last read; returns true if there are any. */
  const readDay = (name: string, day: Day): boolean => {
    if (folder === undefined || isFull(day)) return false;
    const lines = linesAfter(join(folder, name), day.read);
    day.read += lines.length * LINE;
    for (const line of lines) note(day, line);
    return lines.length > 0;
  };
  const failed = (error: unknown) => {
    if (!told)
      log?.warn(
        `"${folder}" cannot be written (${messageOf(error)}): sessions that clients delete may be resumed later`,
      );
    told = true;
  };
  const forgetExpired = () => {
    const today = new Date().toISOString().slice(0, 10);
    for (const name of days.keys()) if (name < today) days.delete(name);
    if (folder !== undefined) removeBefore(folder, today);
  };

  return {
    add: (session) => note(dayOf(session)[1], session.nonce),
    addForAll(session) {
      const [name, day] = dayOf(session);
      if (isFull(day) || day.nonces.has(session.nonce)) return;
      note(day, session.nonce);
      if (folder === undefined) return;
      try {
        ensureFolder(folder);
        // Several processes append to one file; a line is short enough to be written atomically.
        appendFileSync(join(folder, name), `${session.nonce}\n`, { mode: 0o600 });
      } catch (error) {
        failed(error);
      }
    },
    has(session) {
      const [name, day] = dayOf(session);
      readDay(name, day);
      return isFull(day) || day.nonces.has(session.nonce);
    },
    refresh() {
      const now = Date.now();
      if (now - looked < LOOK) return false;
      // This is the first call, or the first one of a new day.
      if (Math.floor(now / DAY) !== Math.floor(looked / DAY)) forgetExpired();
      looked = now;
      const expiring = Array.from({ length: LIFETIME / DAY + 1 }, (_, index) => now + index * DAY);
      return expiring.map((expires) => readDay(...dayOf({ expires }))).includes(true);
    },
  };
}

/** Returns the complete lines of a file after `start` bytes. */
function linesAfter(file: string, start: number): string[] {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const count = Math.min(Math.floor((size - start) / LINE), MAX_PER_DAY);
  if (count <= 0) return [];
  const bytes = Buffer.alloc(count * LINE);
  const handle = openSync(file, 'r');
  try {
    const got = readSync(handle, bytes, 0, bytes.length, start);
    return bytes.toString('latin1', 0, got).split('\n').slice(0, -1);
  } finally {
    closeSync(handle);
  }
}

/** Deletes expired files; a file is named after the day on which its ids expire. */
function removeBefore(folder: string, today: string): void {
  try {
    for (const name of readdirSync(folder))
      if (/^\d{4}-\d\d-\d\d$/.test(name) && name < today) rmSync(join(folder, name), { force: true });
  } catch {
    // The folder does not exist before the first session is deleted.
  }
}
