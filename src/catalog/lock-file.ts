/** The lock file: accepted definitions by server, and those that wait. Written by temp + rename under a lock, readable by its owner. */
import { renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { codeOf, ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import { isRecord } from '../wire/message.ts';
import type { Tool } from './list.ts';

export interface Locked {
  /** Every field that the server sent. */
  definition: Tool;
  /** Accepted with an older mcpx, which kept only the fields of `FIRST_FORMAT_FIELDS`: the others were not looked at. */
  partial?: true;
}

/** What is locked of one server; only what the server itself said. */
export interface LockedServer {
  /** As the config called it last. */
  name: string;
  version: string;
  tools: Map<string, Locked>;
  /** Seen by a running mcpx, and not accepted. */
  waiting: Map<string, Locked>;
}

/** By launch key: the same name may mean different servers in two profiles. */
export type LockState = Map<string, LockedServer>;

/** The contents of the file. A file that cannot be used locks everything: nobody knows what was accepted. */
export type LockReading =
  | { kind: 'missing' }
  | { kind: 'read'; state: LockState }
  /** `unread` = the system would not let it be read: what it says may be fine. */
  | { kind: 'broken'; error: McpxError; unread: boolean };

export interface LockFile {
  readonly path: string;
  /** What it says now; read again only when it was written since. */
  read(): LockReading;
  /** Reads, changes and writes it, alone. Rejects, and changes nothing, where it cannot be used. */
  change(edit: (state: LockState) => void): Promise<void>;
  /** Gives a file that cannot be used another name, which it returns; undefined where there is none. */
  setAside(): Promise<string | undefined>;
}

/** Grows when the form of the file changes. */
const FORMAT = 2;
/** The form whose entries have a digest of their own, and only these fields of the definition. */
const FIRST_FORMAT = 1;
export const FIRST_FORMAT_FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'];

export function createLockFile({ path }: { path: string }): LockFile {
  let known: { stamp: string; reading: LockReading } | undefined;
  /** Changes of this process take turns without asking the disk whose turn it is. */
  let last: Promise<unknown> = Promise.resolve();

  const read = (): LockReading => {
    const stamp = stampOf(path);
    if (known?.stamp === stamp) return known.reading;
    const reading = load(path);
    // A file that cannot be read now, as where no file handle is left, may be readable a moment later.
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

/** Changes with the file, also when only its permissions do. */
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
    // A folder that does not exist because a file has its name holds no lock file.
    if (codeOf(error) === 'ENOTDIR') return { kind: 'missing' };
    const unread = codeOf(error) !== undefined;
    return { kind: 'broken', error: unusable(path, error, unread ? 'read' : 'used'), unread };
  }
}

/** A system that is short of something says nothing of the file. */
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
