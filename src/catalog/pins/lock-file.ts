/** The lock file: accepted and waiting definitions by server. It is replaced atomically under a lock, and only its owner can read it. */
import { renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from '../../errors.ts';
import { codeOf, ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../../files.ts';
import { isRecord } from '../../wire/message.ts';
import type { Tool } from '../listing.ts';

export interface Locked {
  /** Every field that the server sent. */
  definition: Tool;
  /**
   * True if it was accepted with an older mcpx, which kept only `FIRST_FORMAT_FIELDS`: the other fields were not
   * compared.
   */
  partial?: true;
}

/** The locked definitions of one server; only data that the server sent. */
export interface LockedServer {
  /** The server's last name in the config. */
  name: string;
  version: string;
  tools: Map<string, Locked>;
  /** Definitions that a running mcpx has seen and that are not accepted. */
  waiting: Map<string, Locked>;
}

/** Servers by launch key, because the same name may denote different servers in two profiles. */
export type LockState = Map<string, LockedServer>;

/**
 * The contents of the file. A file that cannot be used locks everything, because the accepted definitions are unknown.
 */
export type LockReading =
  | { kind: 'missing' }
  | { kind: 'read'; state: LockState }
  /** `unread` is true if the system could not read the file; its contents may be valid. */
  | { kind: 'broken'; error: McpxError; unread: boolean };

export interface LockFile {
  readonly path: string;
  /** Returns the current contents; the file is parsed again only if it was written since. */
  read(): LockReading;
  /** Reads, changes and writes the file exclusively. Rejects without a change if the file cannot be used. */
  change(edit: (state: LockState) => void): Promise<void>;
  /** Renames a file that cannot be used and returns its new name; undefined if the file is missing or usable. */
  setAside(): Promise<string | undefined>;
}

/** Version of the file format. */
const FORMAT = 2;
/** The first format: entries with a digest, and only these fields of the definition. */
const FIRST_FORMAT = 1;
export const FIRST_FORMAT_FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'];

export function createLockFile({ path }: { path: string }): LockFile {
  let known: { stamp: string; reading: LockReading } | undefined;
  /** Queues the changes of this process, so that they do not compete for the lock on disk. */
  let last: Promise<unknown> = Promise.resolve();

  const read = (): LockReading => {
    const stamp = stampOf(path);
    if (known?.stamp === stamp) return known.reading;
    const reading = load(path);
    // A file that cannot be read now, for example without a free file handle, may be readable a moment later.
    known = reading.kind === 'broken' ? undefined : { stamp, reading };
    return reading;
  };
  const alone = <T>(work: () => T): Promise<T> => {
    const done = last.then(() => withLock(path, work));
    last = done.catch(() => undefined);
    return done;
  };
  return {
    path,
    read,
    change: (edit) =>
      alone(() => {
        known = undefined;
        const reading = read();
        if (reading.kind === 'broken') throw reading.error;
        const state = reading.kind === 'missing' ? new Map() : reading.state;
        edit(state);
        ensureFolder(dirname(path));
        writeFileAtomic(path, `${JSON.stringify(toJson(state), null, 1)}\n`);
        known = { stamp: stampOf(path), reading: { kind: 'read', state } };
      }),
    setAside: () =>
      alone(() => {
        known = undefined;
        const reading = read();
        if (reading.kind !== 'broken') return undefined;
        if (isTransient(reading.error.cause)) throw reading.error;
        const aside = `${path}.damaged-${Date.now()}`;
        renameSync(path, aside);
        known = undefined;
        return aside;
      }),
  };
}

/** Returns a text that changes with the file, also if only its permissions change. */
function stampOf(path: string): string {
  try {
    const { ino, mtimeMs, ctimeMs, size } = statSync(path);
    return `${ino} ${mtimeMs} ${ctimeMs} ${size}`;
  } catch (error) {
    return String(codeOf(error));
  }
}

function load(path: string): LockReading {
  try {
    const text = readIfPresent(path);
    return text === undefined ? { kind: 'missing' } : { kind: 'read', state: parse(text) };
  } catch (error) {
    // If a parent of the path is a file, there is no lock file.
    if (codeOf(error) === 'ENOTDIR') return { kind: 'missing' };
    const unread = codeOf(error) !== undefined;
    return { kind: 'broken', error: unusable(path, error, unread ? 'read' : 'used'), unread };
  }
}

/** True for errors of a system that lacks resources; they do not concern the file itself. */
function isTransient(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY'].includes(codeOf(error) ?? '');
}

function unusable(path: string, cause: unknown, verb: 'read' | 'used'): McpxError {
  return new McpxError('refused', `the lock file "${path}" cannot be ${verb}: ${messageOf(cause)}`, {
    hint: 'put back a copy of it, or run: mcpx lock, which sets it aside and locks what every tool is now',
    cause,
  });
}

function toJson(state: LockState): unknown {
  const servers = [...state].map(([key, { name, version, tools, waiting }]) => ({
    key,
    name,
    version,
    tools: sorted(tools),
    ...(waiting.size > 0 && { waiting: sorted(waiting) }),
  }));
  return { format: FORMAT, servers };
}

function sorted(tools: Map<string, Locked>): Locked[] {
  return [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, locked]) => locked);
}

function parse(text: string): LockState {
  if (text.trim() === '') throw new Error('it is empty');
  const value: unknown = JSON.parse(text);
  if (!isRecord(value) || !Array.isArray(value.servers)) throw new Error('it has no list of servers');
  const { format, servers } = value;
  if (format !== FORMAT && format !== FIRST_FORMAT)
    throw new Error(`its format is ${JSON.stringify(format)}, and this mcpx knows only ${FIRST_FORMAT} and ${FORMAT}`);
  return new Map(servers.map((server) => readServer(server, format === FIRST_FORMAT)));
}

function readServer(value: unknown, isFirstFormat: boolean): [string, LockedServer] {
  if (!isRecord(value)) throw new Error('an entry is no server');
  const { key, name, version, tools, waiting = [] } = value;
  if (typeof key !== 'string' || typeof name !== 'string' || typeof version !== 'string')
    throw new Error('a server has no key, name or version');
  const accepted = readTools(tools, name, isFirstFormat);
  // The next list finds all waiting changes again.
  return [
    key,
    { name, version, tools: accepted, waiting: isFirstFormat ? new Map() : readTools(waiting, name, false) },
  ];
}

function readTools(value: unknown, server: string, isFirstFormat: boolean): Map<string, Locked> {
  if (!Array.isArray(value)) throw new Error(`server "${server}" has no list of tools`);
  return new Map(
    value.map((entry) => {
      const { definition, partial } = isRecord(entry) ? entry : {};
      if (!isRecord(definition) || typeof definition.name !== 'string')
        throw new Error(`a tool of server "${server}" has no definition`);
      const isPartial = isFirstFormat || partial === true;
      return [definition.name, { definition: definition as Tool, ...(isPartial && { partial: true as const }) }];
    }),
  );
}
