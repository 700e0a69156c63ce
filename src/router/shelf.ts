/** Results too large to be sent, kept for whoever made the call: bounded in bytes, expiring, never visible to anybody else. */
import { randomBytes } from 'node:crypto';
import { messageOf } from '../errors.ts';
import { describeSize } from '../render/size.ts';
import { type Cell, writeCell } from './cell.ts';

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

export interface Stored extends Pick<Kept, 'isJson' | 'title'> {
  id: string;
  /** Bytes of its JSON, or of its text where it has none. */
  size: number;
}

/** What one owner has kept. */
export interface Shelf {
  /** Keeps a result until it has not been used for `RESULT_LIFE` or its owner has gone; otherwise says why it is not kept. */
  put(kept: Kept): Promise<Stored | { notKept: string }>;
  /** Counts as use. */
  get(id: string): Promise<(Stored & Kept) | undefined>;
  /** What may be listed, oldest first. */
  list(): Stored[];
  /** The owner has gone. */
  clear(): void;
}

export interface ResultStore {
  /** For a session, which alone knows its results and takes them along when it ends. All sessions of a token share what a token may keep. */
  ofSession(key: string, token: string | undefined): Shelf;
  /**
   * For requests that stand alone: results outlive the request and belong to a profile and a token. Whoever has neither a session nor
   * a token is known by nothing but the id, which nobody can guess, and so nothing is listed.
   */
  ofRequest(profile: string, token: string | undefined): Shelf;
  /** Everything that is kept goes. */
  close(): void;
}

export interface ResultStoreOptions {
  /** For all owners together: half of it for one token, and a quarter for one session. */
  maxBytes(): number;
  /** For what is kept without a file. */
  maxMemory?: number;
  /** Where files are made (default: everything is kept in memory). */
  folder?: string | undefined;
  now?: () => number;
}

/** ms without use. */
export const RESULT_LIFE = 30 * 60_000;
/** ms between two looks for what has expired. */
const SWEEP = 60_000;
/** Results of all owners; each file is a handle of the process. */
const MAX_ENTRIES = 1000;
const MAX_MEMORY = 64 * 1024 * 1024;
const TOKEN_SHARE = 1 / 2;
const SESSION_SHARE = 1 / 4;

interface Owner {
  /** Unique among owners. */
  key: string;
  /** The token whose bound it counts towards. */
  party: string;
}

interface Entry extends Stored {
  owner: Owner;
  bytes: number;
  used: number;
  /** Undefined until it is written. */
  cell: Cell | undefined;
}

export function createResultStore(options: ResultStoreOptions): ResultStore {
  const { maxBytes, maxMemory = MAX_MEMORY, folder, now = Date.now } = options;
  /** The least recently used first; what is being written counts already. */
  const entries = new Map<string, Entry>();
  const memory = { left: maxMemory };
  let isSweeping = false;

  const keyOf = (owner: Owner, id: string) => `${owner.key}\n${id}`;
  const use = (entry: Entry) => {
    entry.used = now();
    entries.delete(keyOf(entry.owner, entry.id));
    entries.set(keyOf(entry.owner, entry.id), entry);
  };
  const drop = (entry: Entry) => {
    if (entries.delete(keyOf(entry.owner, entry.id))) entry.cell?.remove();
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
  const isFull = (bytes: number, share: number, counts: (entry: Entry) => boolean): boolean => {
    const counted = [...entries.values()].filter(counts);
    const total = counted.reduce((sum, entry) => sum + entry.bytes, bytes);
    return total > share * maxBytes() || counted.length >= share * MAX_ENTRIES;
  };
  /** Why there is no room for something; undefined where there is. */
  const refusal = (bytes: number, { key, party }: Owner): string | undefined => {
    const most = (share: number) => describeSize(share * maxBytes());
    if (isFull(bytes, SESSION_SHARE, ({ owner }) => owner.key === key)) {
      return `at most ${most(SESSION_SHARE)} are kept for one client at a time`;
    }
    if (isFull(bytes, TOKEN_SHARE, ({ owner }) => owner.party === party)) {
      return `at most ${most(TOKEN_SHARE)} are kept for all clients of one token at a time`;
    }
    return isFull(bytes, 1, () => true) ? `at most ${most(1)} are kept at a time` : undefined;
  };
  const shelf = (owner: Owner, newId: () => string): Omit<Shelf, 'list'> => ({
    async put({ text, json, isJson, title }) {
      expire();
      const sizes = [text, ...(json === undefined ? [] : [json])].map((one) => Buffer.byteLength(one));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const full = refusal(bytes, owner);
      if (full !== undefined) return { notKept: full };
      const size = sizes.at(-1) ?? 0;
      const entry: Entry = { id: newId(), isJson, title, size, owner, bytes, used: 0, cell: undefined };
      use(entry);
      if (!isSweeping) sweep();
      try {
        const cell = await writeCell(json === undefined ? [text] : [text, json], { folder, bytes, memory });
        // Its owner may have gone meanwhile.
        if (entries.get(keyOf(owner, entry.id)) === entry) entry.cell = cell;
        else cell.remove();
        return entry;
      } catch (error) {
        drop(entry);
        return { notKept: messageOf(error) };
      }
    },
    async get(id) {
      expire();
      const entry = entries.get(keyOf(owner, id));
      if (entry?.cell === undefined) return undefined;
      use(entry);
      const [text = '', json] = await entry.cell.read();
      const { isJson, title, size } = entry;
      return { id, isJson, title, size, text, ...(json !== undefined && { json }) };
    },
    clear() {
      for (const entry of [...entries.values()]) if (entry.owner.key === owner.key) drop(entry);
    },
  });

  return {
    ofSession(key, token) {
      const owner = { key: `session ${key}`, party: partyOf(token) };
      // Short, because models copy it; random, so that an id of an earlier session means nothing in this one.
      const own = shelf(owner, () => `r${randomBytes(4).readUInt32BE().toString(36)}`);
      const list = () => {
        expire();
        return [...entries.values()].filter((entry) => entry.owner.key === owner.key && entry.cell !== undefined);
      };
      return { ...own, list };
    },
    ofRequest(profile, token) {
      const owner = { key: `request ${JSON.stringify([profile, token ?? null])}`, party: partyOf(token) };
      const own = shelf(owner, () => randomBytes(16).toString('base64url'));
      // What belongs to the token outlives the request.
      return { ...own, list: () => [], clear: () => undefined };
    },
    close() {
      for (const entry of [...entries.values()]) drop(entry);
    },
  };
}

function partyOf(token: string | undefined): string {
  return token === undefined ? 'nobody' : `token ${token}`;
}
