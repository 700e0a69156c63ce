/** Stores results that are too large to send, for the client that made the call: limited in bytes, with an expiry. */
import { randomBytes } from 'node:crypto';
import { messageOf } from '../../errors.ts';
import { createEntries, type Entries, type Entry, type Owner } from './result-entries.ts';
import { writeCell } from './result-file.ts';

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
  /** The results of one session, which are dropped with it. All sessions of a payer share its limit. */
  ofSession(key: string, payer: string | undefined): ClientResults;
  /**
   * The results of clients without a session. They outlive the request and belong to a profile and a token. Without a
   * token only the random id protects a result, so these results are never listed.
   */
  ofRequest(profile: string, token: string | undefined, payer?: string): ClientResults;
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
const MAX_MEMORY = 64 * 1024 * 1024;

export function createResultStore(options: ResultStoreOptions): ResultStore {
  const { maxBytes, maxMemory = MAX_MEMORY, folder, now = Date.now } = options;
  const entries = createEntries({ maxBytes, life: RESULT_LIFE, now });
  const space: Space = { entries, folder, memory: { left: maxMemory } };
  return {
    ofSession(key, payer) {
      const owner = { key: `session ${key}`, party: partyOf(payer) };
      // The id is short, because models copy it, and random, so that an id of an earlier session is invalid here.
      const own = createOwnResults(owner, space, () => `r${randomBytes(4).readUInt32BE().toString(36)}`);
      return { ...own, list: () => entries.of(owner).filter(({ cell }) => cell !== undefined) };
    },
    ofRequest(profile, token, payer = token) {
      const owner = { key: `request ${JSON.stringify([profile, token ?? null])}`, party: partyOf(payer) };
      const own = createOwnResults(owner, space, () => randomBytes(16).toString('base64url'));
      // Results of a token outlive the request.
      return { ...own, list: () => [], clear: () => undefined };
    },
    close: () => entries.clear(),
  };
}

function partyOf(payer: string | undefined): string {
  return payer === undefined ? 'nobody' : `token ${payer}`;
}

/** The places of results. */
interface Space {
  entries: Entries;
  folder: string | undefined;
  /** Bytes that are left in memory. */
  memory: { left: number };
}

function createOwnResults(
  owner: Owner,
  { entries, folder, memory }: Space,
  newId: () => string,
): Omit<ClientResults, 'list'> {
  return {
    async put({ text, json, isJson, title, isShown = false }) {
      const sizes = [text, ...(json === undefined ? [] : [json])].map((one) => Buffer.byteLength(one));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const full = entries.makeRoom(bytes, owner);
      if (full !== undefined) return { notKept: full };
      const size = sizes.at(-1) ?? 0;
      const entry: Entry = { id: newId(), isJson, title, size, owner, isShown, bytes, used: 0, cell: undefined };
      entries.use(entry);
      try {
        const cell = await writeCell(json === undefined ? [text] : [text, json], { folder, bytes, memory });
        // The owner may have gone during the write.
        if (entries.has(entry)) entry.cell = cell;
        else cell.remove();
        return entry;
      } catch (error) {
        entries.drop(entry);
        return { notKept: messageOf(error) };
      }
    },
    async get(id) {
      const entry = entries.find(owner, id);
      if (entry?.cell === undefined) return undefined;
      entries.use(entry);
      const [text = '', json] = await entry.cell.read();
      const { isJson, title, size } = entry;
      return { id, isJson, title, size, text, ...(json !== undefined && { json }) };
    },
    clear() {
      for (const entry of entries.of(owner)) entries.drop(entry);
    },
  };
}
