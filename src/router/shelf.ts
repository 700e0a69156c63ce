/** Results too large to be sent, kept for whoever made the call: bounded in bytes, expiring, never visible to anybody else. */
import { randomBytes } from 'node:crypto';

export interface Kept {
  /** As it was written for the model. */
  text: string;
  /** The same as JSON, where `text` is something else. */
  json?: string;
  /** Whether `json`, or `text` without it, is JSON. */
  isJson: boolean;
  /** Whose result it is, such as `github.list_issues`. */
  title: string;
}

export interface Stored extends Kept {
  id: string;
}

/** What one owner has kept. */
export interface Shelf {
  /** Undefined when there is no room for something that large. */
  put(kept: Kept): Stored | undefined;
  /** Counts as use. */
  get(id: string): Stored | undefined;
  /** What may be listed, oldest first. */
  list(): Stored[];
  /** The owner has gone. */
  clear(): void;
}

export interface ResultStore {
  /** For a session, which alone knows its results and takes them along when it ends. */
  ofSession(key: string): Shelf;
  /**
   * For requests that stand alone: results outlive the request and belong to a profile and a token. Whoever has neither a session nor
   * a token is known by nothing but the id, which nobody can guess, and so nothing is listed.
   */
  ofRequest(profile: string, token: string | undefined): Shelf;
}

/** ms without use. */
export const RESULT_LIFE = 30 * 60_000;
/** ms between two looks for what has expired. */
const SWEEP = 60_000;
const MAX_ENTRIES = 1000;

interface Entry extends Stored {
  owner: string;
  bytes: number;
  used: number;
}

/** `maxBytes` is for all owners together; the one who has the most gives way first. */
export function createResultStore(maxBytes: () => number, now: () => number = Date.now): ResultStore {
  /** The least recently used first. */
  const entries = new Map<string, Entry>();
  const usage = new Map<string, number>();
  let isSweeping = false;

  const keyOf = (owner: string, id: string) => `${owner}\n${id}`;
  const use = (entry: Entry) => {
    entry.used = now();
    entries.delete(keyOf(entry.owner, entry.id));
    entries.set(keyOf(entry.owner, entry.id), entry);
  };
  const count = (owner: string, bytes: number) => {
    const left = (usage.get(owner) ?? 0) + bytes;
    if (left > 0) usage.set(owner, left);
    else usage.delete(owner);
  };
  const drop = (entry: Entry) => {
    if (entries.delete(keyOf(entry.owner, entry.id))) count(entry.owner, -entry.bytes);
  };
  const expire = () => {
    const oldest = now() - RESULT_LIFE;
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
  const makeRoom = (fresh: Entry) => {
    let total = [...usage.values()].reduce((sum, bytes) => sum + bytes, 0);
    while (total > maxBytes() || entries.size > MAX_ENTRIES) {
      const others = [...entries.values()].filter((entry) => entry !== fresh);
      // Of the owner who has the most, the one that was least recently used.
      const [first, ...rest] = others;
      if (first === undefined) return;
      const has = ({ owner }: Entry) => usage.get(owner) ?? 0;
      const victim = rest.reduce((most, one) => (has(one) > has(most) ? one : most), first);
      drop(victim);
      total -= victim.bytes;
    }
  };

  const shelf = (owner: string, newId: () => string): Omit<Shelf, 'list'> => ({
    put(kept) {
      const bytes = 2 * (kept.text.length + (kept.json?.length ?? 0));
      if (bytes > maxBytes()) return undefined;
      expire();
      const entry: Entry = { ...kept, id: newId(), owner, bytes, used: 0 };
      use(entry);
      count(owner, bytes);
      makeRoom(entry);
      if (!isSweeping) sweep();
      return entry;
    },
    get(id) {
      expire();
      const entry = entries.get(keyOf(owner, id));
      if (entry !== undefined) use(entry);
      return entry;
    },
    clear() {
      for (const entry of [...entries.values()]) if (entry.owner === owner) drop(entry);
    },
  });

  return {
    ofSession(key) {
      const owner = `session ${key}`;
      // Short, because models copy it; random, so that an id of an earlier session means nothing in this one.
      const own = shelf(owner, () => `r${randomBytes(4).readUInt32BE().toString(36)}`);
      const list = () => {
        expire();
        return [...entries.values()].filter((entry) => entry.owner === owner);
      };
      return { ...own, list };
    },
    ofRequest(profile, token) {
      const own = shelf(`request ${JSON.stringify([profile, token ?? null])}`, () =>
        randomBytes(16).toString('base64url'),
      );
      // What belongs to the token outlives the request.
      return { ...own, list: () => [], clear: () => undefined };
    },
  };
}
