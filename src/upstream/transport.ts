/** What every way to reach an upstream has in common. */
import type { Launch } from '../config/env.ts';
import type { Log } from '../observe/log.ts';
import type { Channel } from '../wire/peer.ts';
import type { Redactor } from './secrets.ts';

/** How long a stop waits, in ms: for the end after stdin was closed, then for the end after SIGTERM. SIGKILL follows. */
export interface StopBounds {
  eof: number;
  term: number;
}

export const STOP: StopBounds = { eof: 1000, term: 2000 };
/** For a second signal, and for a process that is given up. */
export const STOP_FAST: StopBounds = { eof: 300, term: 700 };

/** A channel to an upstream, with what is needed to stop and to diagnose it. */
export interface Transport extends Channel {
  readonly pid?: number | undefined;
  /** The last lines that it wrote to stderr. */
  stderr?(): string[];
  /** A second call with smaller bounds hurries the first. */
  close(bounds?: StopBounds): Promise<void>;
  /** Ends it at once and synchronously: for the way out of a dying process. */
  killNow?(): void;
  /** Which of the two a URL without a type turned out to need. */
  readonly found?: 'http' | 'sse';
  /** How messages are separated, where a program that was spoken to in lines turned out to want frames. */
  readonly framing?: 'content-length' | undefined;
}

export interface TransportOptions {
  /** The server's name, for messages. */
  name: string;
  /** Bound of one message, in bytes. */
  maxBytes: number;
  log: Log;
  /** For everything that is quoted of what the upstream says. */
  redactor: Redactor;
  /** Told of every line that a process writes to stderr. */
  stderr?: (line: string) => void;
  /** What a URL without a type needed the last time. */
  remembered?: 'http' | 'sse' | undefined;
  /** What a program understood the last time; undefined where that has to be found out. */
  framing?: 'newline' | 'content-length' | undefined;
}

/** The launch form of one type. */
export type LaunchOf<T extends Launch['type']> = Launch & { type: T };

/** Characters (roughly bytes) that may wait for an upstream that does not read. */
export const MAX_QUEUED = 2 * 1024 * 1024;

/** The hidden command of this program that serves one local module on stdin and stdout. */
export const MODULE_COMMAND = '__module';
