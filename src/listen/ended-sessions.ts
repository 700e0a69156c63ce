/** Sessions that ended before their ids expire: those that a client deleted are written down, so that no process of this home takes one up again. */
import { appendFileSync, closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder } from '../files.ts';
import type { Log } from '../observe/log.ts';
import { type Claims, LIFETIME } from './session-id.ts';

type Ended = Pick<Claims, 'nonce' | 'expires'>;

export interface EndedSessions {
  /** Ended for this process. */
  add(session: Ended): void;
  /** Ended for every process of this home, also later ones. */
  addForAll(session: Ended): void;
  /** Whether it must not be taken up again, by what all processes have written down so far. */
  has(session: Ended): boolean;
  /** Looks for sessions that other processes ended, at most once a second; true where there are some. */
  refresh(): boolean;
}

export interface EndedSessionsOptions {
  /** Without one nothing is known to other processes. */
  folder?: string | undefined;
  log?: Pick<Log, 'warn'> | undefined;
}

/** What is known of the ids that expire on one day. */
interface Day {
  nonces: Set<string>;
  /** Bytes of its file that were read. */
  read: number;
}

const DAY = 24 * 60 * 60_000;
/** Ids of one day. Where more than that ended, all of that day count as ended, and none is taken up again. */
const MAX_PER_DAY = 50_000;
/** Characters of a nonce and the end of its line. */
const LINE = 17;
/** ms between two looks at what other processes ended. */
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
  /** Takes over the lines that were appended since; true where there are some. */
  const readDay = (name: string, day: Day): boolean => {
    if (folder === undefined || isFull(day)) return false;
    const lines = linesAfter(join(folder, name), day.read);
    day.read += lines.length * LINE;
    for (const line of lines) note(day, line);
    return lines.length > 0;
  };
  const failed = (error: unknown) => {
    if (!told)
      log?.warn(`"${folder}" cannot be written (${messageOf(error)}): sessions that clients end may begin again later`);
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
        // Processes append to one file at once: a line is short enough to be written in one piece.
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
      // A day has passed, or this is the first look.
      if (Math.floor(now / DAY) !== Math.floor(looked / DAY)) forgetExpired();
      looked = now;
      const expiring = Array.from({ length: LIFETIME / DAY + 1 }, (_, index) => now + index * DAY);
      return expiring.map((expires) => readDay(...dayOf({ expires }))).includes(true);
    },
  };
}

/** Whole lines of a file after so many bytes. */
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

/** Files are named for the day on which the last of their ids expires. */
function removeBefore(folder: string, today: string): void {
  try {
    for (const name of readdirSync(folder))
      if (/^\d{4}-\d\d-\d\d$/.test(name) && name < today) rmSync(join(folder, name), { force: true });
  } catch {
    // There is no folder before the first session was ended.
  }
}
