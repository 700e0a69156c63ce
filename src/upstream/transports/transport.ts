/** The types and limits that all upstream transports share. */
import type { Launch } from '../../config/env.ts';
import type { Log } from '../../observe/log.ts';
import type { Channel } from '../../wire/peer.ts';
import type { Authorization } from '../http/authorization.ts';
import type { Redactor } from '../secret-redactor.ts';

/** The steps of a stop in ms: the wait after stdin is closed, then the wait after SIGTERM. SIGKILL follows. */
export interface StopBounds {
  eof: number;
  term: number;
}

export const STOP: StopBounds = { eof: 1000, term: 2000 };
/** The bounds after a second signal, and for a failed process. */
export const STOP_FAST: StopBounds = { eof: 300, term: 700 };

/** A channel to an upstream that can be stopped and diagnosed. */
export interface Transport extends Channel {
  readonly pid?: number | undefined;
  /** Returns the last lines that the process wrote to stderr. */
  stderr?(): string[];
  /** Stops the transport; a second call with smaller bounds shortens the stop. */
  close(bounds?: StopBounds): Promise<void>;
  /** Kills the process synchronously; for use while mcpx itself exits. */
  killNow?(): void;
  /** The transport that was detected for a URL without a type. */
  readonly found?: 'http' | 'sse';
  /** The detected framing; undefined for newline-delimited messages. */
  readonly framing?: 'content-length' | undefined;
}

export interface TransportOptions {
  /** The server's name for messages. */
  name: string;
  /** The maximum size of one message in bytes. */
  maxBytes: number;
  log: Log;
  /** Removes secrets from quoted output of the upstream. */
  redactor: Redactor;
  /** The credentials for a URL; a transport without a URL does not use it. */
  authorization: Authorization;
  /** Receives every line that a process writes to stderr. */
  stderr?: (line: string) => void;
  /** The cached transport of a URL without a type; it is tried first. */
  remembered?: 'http' | 'sse' | undefined;
  /** Reserves a second process and returns the function that releases it; undefined if only one may run. */
  reserveSecond?: (() => (() => void) | undefined) | undefined;
  /** The cached framing of a program; undefined if it has to be detected. */
  framing?: 'newline' | 'content-length' | undefined;
}

/** The launch parameters of one type. */
export type LaunchOf<T extends Launch['type']> = Launch & { type: T };

/** The maximum number of queued characters (roughly bytes) for an upstream that does not read. */
export const MAX_QUEUED = 2 * 1024 * 1024;

/** The hidden command of this program that serves one local module on stdin and stdout. */
export const MODULE_COMMAND = '__module';
/** The hidden command of the executable that runs a script as Node does. */
export const NODE_COMMAND = '__node';

/** A transport with the HTTP status of its refusal. */
export interface Refusable extends Transport {
  readonly refused: number | undefined;
}
