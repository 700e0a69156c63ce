/** The entries of the result store in order of use: they expire, and each owner, each token and all together have a limit. */
import { describeSize } from '../../render/json-size.ts';
import type { Cell } from './result-file.ts';
import type { StoredResult } from './result-store.ts';

/** Milliseconds between two checks for expired results. */
const SWEEP = 60_000;
/** Maximum number of results of all owners; each file uses a file descriptor. */
const MAX_ENTRIES = 1000;
const TOKEN_SHARE = 1 / 2;
const SESSION_SHARE = 1 / 4;

export interface Owner {
  /** The owner's key, unique among owners. */
  key: string;
  /** The token whose limit applies. */
  party: string;
}

export interface Entry extends StoredResult {
  owner: Owner;
  isShown: boolean;
  bytes: number;
  used: number;
  /** The storage; undefined until it is written. */
  cell: Cell | undefined;
}

/** Entries that are still being written count. Expired ones are never returned. */
export interface Entries {
  /** Adds an entry, or restarts its lifetime. */
  use(entry: Entry): void;
  drop(entry: Entry): void;
  has(entry: Entry): boolean;
  find(owner: Owner, id: string): Entry | undefined;
  /** Returns the entries of an owner, the least recently used first. */
  of(owner: Owner): Entry[];
  /** Drops results that their client has seen whole until there is room; returns the limit that is still exceeded. */
  makeRoom(bytes: number, owner: Owner): string | undefined;
  clear(): void;
}

export interface Limits {
  /** Maximum bytes of all owners together. */
  maxBytes(): number;
  /** Milliseconds after the last use at which a result expires. */
  life: number;
  now(): number;
}

export function createEntries({ maxBytes, life, now }: Limits): Entries {
  /** In order of use, the least recently used first. */
  const entries = new Map<string, Entry>();
  let isSweeping = false;

  const drop = (entry: Entry) => {
    if (entries.delete(keyOf(entry.owner, entry.id))) entry.cell?.remove();
  };
  const expire = () => {
    const oldest = now() - life;
    for (const entry of entries.values()) {
      if (entry.used > oldest) break;
      drop(entry);
    }
  };
  const sweep = () => {
    expire();
    isSweeping = entries.size > 0;
    if (isSweeping) setTimeout(sweep, SWEEP).unref();
  };
  const of = (owner: Owner) => {
    expire();
    return [...entries.values()].filter((entry) => entry.owner.key === owner.key);
  };

  return {
    use(entry) {
      const key = keyOf(entry.owner, entry.id);
      entry.used = now();
      entries.delete(key);
      entries.set(key, entry);
      if (!isSweeping) sweep();
    },
    drop,
    has: (entry) => entries.get(keyOf(entry.owner, entry.id)) === entry,
    find(owner, id) {
      expire();
      return entries.get(keyOf(owner, id));
    },
    of,
    makeRoom(bytes, owner) {
      const seen = of(owner).filter(({ isShown }) => isShown && bytes <= SESSION_SHARE * maxBytes());
      for (const entry of seen) {
        if (exceeded(bytes, owner, [...entries.values()], maxBytes()) === undefined) return undefined;
        drop(entry);
      }
      return exceeded(bytes, owner, [...entries.values()], maxBytes());
    },
    clear() {
      for (const entry of [...entries.values()]) drop(entry);
    },
  };
}

function keyOf(owner: Owner, id: string): string {
  return `${owner.key}\n${id}`;
}

/** Returns the limit that another result of this size exceeds; undefined if there is room. */
function exceeded(bytes: number, { key, party }: Owner, entries: Entry[], maxBytes: number): string | undefined {
  const isFull = (share: number, counts: (entry: Entry) => boolean) => {
    const counted = entries.filter(counts);
    const total = counted.reduce((sum, entry) => sum + entry.bytes, bytes);
    return total > share * maxBytes || counted.length >= share * MAX_ENTRIES;
  };
  const most = (share: number) => describeSize(share * maxBytes);
  if (isFull(SESSION_SHARE, ({ owner }) => owner.key === key)) {
    return `at most ${most(SESSION_SHARE)} are kept for one client at a time`;
  }
  if (isFull(TOKEN_SHARE, ({ owner }) => owner.party === party)) {
    return `at most ${most(TOKEN_SHARE)} are kept for all clients of one token at a time`;
  }
  return isFull(1, () => true) ? `at most ${most(1)} are kept at a time` : undefined;
}
