/** The lock file: accepted definitions by server, and those that wait. Written by temp + rename under a lock, readable by its owner. */
import { renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Log } from '../observe/log.ts';
import { isRecord } from '../wire/message.ts';
import type { Definition } from './digest.ts';

export interface Locked {
  digest: string;
  definition: Definition;
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

export interface LockFile {
  readonly path: string;
  /** What it says now; read again only when it was written since. */
  read(): LockState;
  /** Reads, changes and writes it, alone. */
  change(edit: (state: LockState) => void): Promise<void>;
}

/** Grows when the form of the file changes. */
const FORMAT = 1;

export function createLockFile({ path, log }: { path: string; log: Log }): LockFile {
  let known: { stamp: string; state: LockState } | undefined;
  /** Changes of this process take turns without asking the disk whose turn it is. */
  let last: Promise<void> = Promise.resolve();

  const read = (): LockState => {
    const stamp = stampOf(path);
    if (known?.stamp !== stamp) known = { stamp, state: load(path, log) };
    return known.state;
  };
  return {
    path,
    read,
    change(edit) {
      const write = () => {
        known = undefined;
        const state = read();
        edit(state);
        ensureFolder(dirname(path));
        writeFileAtomic(path, `${JSON.stringify(toJson(state), null, 1)}\n`);
        known = { stamp: stampOf(path), state };
      };
      const done = last.then(() => withLock(path, write));
      last = done.catch(() => undefined);
      return done;
    },
  };
}

/** Whoever reads it says why that cannot be done. */
function stampOf(path: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(path);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
}

/** One that cannot be read is kept beside, so that nothing that was accepted is lost without a word. */
function load(path: string, log: Log): LockState {
  try {
    const text = readIfPresent(path);
    return text === undefined ? new Map() : parse(text);
  } catch (error) {
    const aside = `${path}.damaged-${Date.now()}`;
    try {
      renameSync(path, aside);
      log.error(
        `the lock file "${path}" cannot be used (${messageOf(error)}); it is now "${aside}", and a new one begins`,
      );
    } catch (cause) {
      log.error(`the lock file "${path}" cannot be used: ${messageOf(error)}; ${messageOf(cause)}`);
    }
    return new Map();
  }
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
  const value: unknown = JSON.parse(text);
  if (!isRecord(value) || value.format !== FORMAT || !Array.isArray(value.servers))
    throw new Error('it has another format');
  return new Map(value.servers.map(readServer));
}

function readServer(value: unknown): [string, LockedServer] {
  if (!isRecord(value)) throw new Error('it is damaged');
  const { key, name, version, tools, waiting = [] } = value;
  if (typeof key !== 'string' || typeof name !== 'string' || typeof version !== 'string')
    throw new Error('it is damaged');
  return [key, { name, version, tools: readTools(tools), waiting: readTools(waiting) }];
}

function readTools(value: unknown): Map<string, Locked> {
  if (!Array.isArray(value)) throw new Error('it is damaged');
  return new Map(value.map(readTool));
}

function readTool(value: unknown): [string, Locked] {
  const { digest, definition } = isRecord(value) ? value : {};
  if (typeof digest !== 'string' || !isRecord(definition) || typeof definition.name !== 'string')
    throw new Error('it is damaged');
  return [definition.name, { digest, definition: definition as Definition }];
}
