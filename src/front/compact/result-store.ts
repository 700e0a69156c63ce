/** Stores results that are too large to send, for the client that made the call: limited in bytes, with an expiry. */
import { randomBytes } from 'node:crypto';
import { messageOf } from '../../errors.ts';
import { describeSize } from '../../render/json-size.ts';
import { type Cell, writeCell } from './result-file.ts';

export interface Kept {
  /** The text as formatted for the model. */
  text: string;
  /** The result as JSON, if `text` is not JSON. */
  json?: string;
  /** True if `json`, or `text` if there is no `json`, is JSON. */
  isJson: boolean;
  /** The server and tool of the result, such as `github.list_issues`. */
  title: string;
  /** True if the client has the whole result; it is then the first to be dropped if there is no room. */
  isShown?: boolean;
}

export interface StoredResult extends Pick<Kept, 'isJson' | 'title'> {
  id: string;
  /** Bytes of its JSON, or of its text if it has no JSON. */
  size: number;
}

/** The stored results of one owner. */
export interface ClientResults {
  /** Stores a result until it is unused for `RESULT_LIFE` or its owner is gone; otherwise returns the reason. */
  put(kept: Kept): Promise<StoredResult | { notKept: string }>;
  /** Returns a result and restarts its lifetime. */
  get(id: string): Promise<(StoredResult & Kept) | undefined>;
  /** Lists the results, least recently used first. */
  list(): StoredResult[];
  /** Drops the owner's results. */
  clear(): void;
}

export interface ResultStore {
  /** The results of one session, which are dropped with it. All sessions of a token share the token's limit. */
  ofSession(key: string, token: string | undefined): ClientResults;
  /**
   * The results of clients without a session. They outlive the request and belong to a profile and a token. Without a
   * token only the random id protects a result, so these results are never listed.
   */
  ofRequest(profile: string, token: string | undefined): ClientResults;
  /** Drops all results. */
  close(): void;
}

export interface ResultStoreOptions {
  /** Maximum bytes of all owners together; one token may use half of it, one session a quarter. */
  maxBytes(): number;
  /** Maximum bytes of results in memory. */
  maxMemory?: number;
  /** The folder for files (default: all results stay in memory). */
  folder?: string | undefined;
  now?: () => number;
}

/** Milliseconds after the last use at which a result expires. */
export const RESULT_LIFE = 30 * 60_000;
/** Milliseconds between two checks for expired results. */
const SWEEP = 60_000;
/** Maximum number of results of all owners; each file uses a file descriptor. */
const MAX_ENTRIES = 1000;
const MAX_MEMORY = 64 * 1024 * 1024;
const TOKEN_SHARE = 1 / 2;
const SESSION_SHARE = 1 / 4;

interface Owner {
  /** The owner's key, unique among owners. */
  key: string;
  /** The token whose limit applies. */
  party: string;
}

interface Entry extends StoredResult {
  owner: Owner;
  isShown: boolean;
  bytes: number;
  used: number;
  /** The storage; undefined until it is written. */
  cell: Cell | undefined;
}

export function createResultStore(options: ResultStoreOptions): ResultStore {
  const { maxBytes, maxMemory = MAX_MEMORY, folder, now = Date.now } = options;
  /** Results in order of use, the least recently used first; results that are still being written count. */
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
  /** Returns the limit that is exceeded; undefined if there is room. */
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
  /** Drops results that their client has seen whole until there is room; returns the limit that is still exceeded. */
  const makeRoom = (bytes: number, owner: Owner): string | undefined => {
    const isSeen = (entry: Entry) => entry.isShown && entry.owner.key === owner.key;
    const seen = bytes > SESSION_SHARE * maxBytes() ? [] : [...entries.values()].filter(isSeen);
    for (const entry of seen) {
      if (refusal(bytes, owner) === undefined) return undefined;
      drop(entry);
    }
    return refusal(bytes, owner);
  };
  const clientResults = (owner: Owner, newId: () => string): Omit<ClientResults, 'list'> => ({
    async put({ text, json, isJson, title, isShown = false }) {
      expire();
      const sizes = [text, ...(json === undefined ? [] : [json])].map((one) => Buffer.byteLength(one));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const full = makeRoom(bytes, owner);
      if (full !== undefined) return { notKept: full };
      const size = sizes.at(-1) ?? 0;
      const entry: Entry = { id: newId(), isJson, title, size, owner, isShown, bytes, used: 0, cell: undefined };
      use(entry);
      if (!isSweeping) sweep();
      try {
        const cell = await writeCell(json === undefined ? [text] : [text, json], { folder, bytes, memory });
        // The owner may have gone during the write.
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
      // The id is short, because models copy it, and random, so that an id of an earlier session is invalid here.
      const own = clientResults(owner, () => `r${randomBytes(4).readUInt32BE().toString(36)}`);
      const list = () => {
        expire();
        return [...entries.values()].filter((entry) => entry.owner.key === owner.key && entry.cell !== undefined);
      };
      return { ...own, list };
    },
    ofRequest(profile, token) {
      const owner = { key: `request ${JSON.stringify([profile, token ?? null])}`, party: partyOf(token) };
      const own = clientResults(owner, () => randomBytes(16).toString('base64url'));
      // Results of a token outlive the request.
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
