/** What is known of one server: what it offers, to clients of which capabilities, and what is being asked of it. */
import { createHash } from 'node:crypto';
import type { ServerSpec } from '../config/config.ts';
import type { Connection, Hello } from '../upstream/connection.ts';
import { sharedKey } from '../upstream/sharing.ts';
import { EMPTY_OFFER, type ListedTool, type Offer } from './list.ts';
import type { OtherRequest, ToolsRequest } from './list-requests.ts';
import type { Lesson } from './pins.ts';

/** How much is known of a server. A failed one keeps what was listed before. */
export type Listing =
  | { kind: 'unlisted' }
  | { kind: 'listed'; at: number; from: 'server' | 'store' }
  | { kind: 'failed'; at: number; error: unknown };

export interface ServerEntry {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly listing: Listing;
  readonly hello: Hello | undefined;
  readonly offer: Offer;
}

/** What a server offers to clients with one set of capabilities: it may list other tools for others. */
export interface Known extends ServerEntry {
  readonly hello: Hello;
  readonly tools: Map<string, ListedTool>;
  /** A digest of the folder that the server was started for, where its launch depends on one. */
  readonly folder?: string | undefined;
}

export interface Slot {
  name: string;
  spec: ServerSpec;
  listing: Listing;
  /** What was learned last, whatever the set. */
  hello: Hello | undefined;
  offer: Offer;
  tools: Map<string, ListedTool>;
  /** By the set of capabilities that was offered, see `offeredKey`. */
  bySet: Map<string, Known>;
  /** It changed definitions while it kept its version: what is stored of it is not shown before it was asked again. */
  unsteady: boolean;
  /** Monotonic ms since which clients wait for a list of it; undefined where nobody does. */
  awaitedSince: number | undefined;
  inFlight: { connection: Lister; done: Promise<void> } | undefined;
  /** Lists of tools under way, alone or as a part of the above, and those of the rest. */
  toolLists: Set<ToolsRequest>;
  otherLists: Set<OtherRequest>;
  /** The next try of lists that failed while the server was connected, and how often they have in a row. */
  retryTimer: NodeJS.Timeout | undefined;
  failures: number;
  /** Which lists failed, as it was last told in the log. */
  told: string;
  /** Monotonic ms of the beginning of the last list, by the set. */
  begun: Map<string, number>;
  /** The list that an announced change is followed by; `begin` does not wait for its time. */
  announced: { begin(): void; done: Promise<void> } | undefined;
  /** What is asked again when the timer fires; undefined means whichever connection there is. */
  stale: Set<Teller | undefined>;
}

/** What a list is asked for again for. */
export interface Wanted {
  /** Tools alone (default), or every list. */
  lists?: 'tools' | 'all' | undefined;
  /** Which servers that do not run may be started: any (default), or only those that are known from the disk alone, or none. */
  start?: 'always' | 'stored' | 'never' | undefined;
}

/** For whom lists are wanted. */
export interface Client {
  /** Its set of capabilities, see `offeredKey`. */
  offered: string;
  connectionTo(server: string): (Lister & Partial<Pick<Connection, 'hello'>>) | undefined;
  /** A client without a session keeps no definitions. */
  lasts?: 'request' | undefined;
}

/** The connection that a list is asked of. */
export type Lister = Pick<
  Connection,
  'name' | 'spec' | 'connect' | 'request' | 'offered' | 'owner' | 'folder' | 'fleeting'
> &
  Partial<Pick<Connection, 'state' | 'claim'>>;
/** The connection that a call goes on. */
export type Carrier = Lister & Pick<Connection, 'hello'>;
/** One that told of a change, and may have ended since. */
export type Teller = Lister & Pick<Connection, 'state'>;

export function knownTo(slot: Slot, offered: string | undefined): Known | Slot {
  if (offered === undefined) return slot;
  return slot.bySet.get(offered) ?? slot.bySet.get(sharedKey(offered)) ?? slot;
}

/** The set for which a server is listed on a client's behalf: that of the connection that the client has, else its own. */
export function listedFor(slot: Slot, client: Client): string {
  return client.connectionTo(slot.name)?.offered ?? client.offered;
}

/** Whether something has been listed for a set, or for any. */
export function isKnown(slot: Slot, offered: string | undefined): boolean {
  return offered === undefined ? slot.bySet.size > 0 : slot.bySet.has(offered);
}

/** Whether lists that failed can be asked for again: the pause is over, and nobody does it by itself while the server rests. */
export function mayBeAnswered(slot: Slot, offered: string | undefined): boolean {
  if (slot.retryTimer !== undefined || slot.otherLists.size > 0) return false;
  return knownTo(slot, offered).offer.unanswered !== undefined;
}

/** Resolves when the lists beside the tools are over, or `wait` ms after they began. */
export async function othersWithin({ otherLists }: Slot, wait: number): Promise<void> {
  const now = performance.now();
  await Promise.all([...otherLists].map(({ done, since }) => within(done, since + wait - now)));
}

/** Forgets what was listed for a client at an earlier time, in which its connection offered more than it does now; false where there was nothing. */
export function forgetEarlier(slot: Slot, client: Client | undefined, offered: string | undefined): boolean {
  return client !== undefined && offered !== client.offered && slot.bySet.delete(client.offered);
}

/** A session keeps the definitions that it is shown: those of a server that changes them are listed first on the connection that it will use. */
export function mayBeStale(
  { name, unsteady }: Slot,
  client: Client | undefined,
  isCurrent: (connection: Lister, hello: Hello | undefined) => boolean,
): boolean {
  if (!unsteady || client === undefined || client.lasts === 'request') return false;
  const connection = client.connectionTo(name);
  return connection !== undefined && !isCurrent(connection, connection.hello);
}

/** What a server has said for one set. */
export type Learned = { hello: Hello; offer: Offer; folder?: string | undefined };

export function take(slot: Slot, offered: string, { hello, offer, folder }: Learned): void {
  const tools = new Map(offer.tools.map((listed) => [listed.tool.name, listed]));
  const { name } = slot;
  // The set that was seen last is the last.
  slot.bySet.delete(offered);
  slot.bySet.set(offered, {
    ...{ name, hello, offer, tools, folder },
    get spec() {
      return slot.spec;
    },
    get listing() {
      return slot.listing;
    },
  });
  Object.assign(slot, { hello, offer, tools });
}

/** What was learned last. */
export function lessonOf({ spec, hello, tools }: Slot): Pick<Lesson, 'spec' | 'version' | 'tools'> {
  return { spec, version: String(hello?.serverInfo.version), tools };
}

/** Which folder it was, without saying its name. */
export function folderDigest(folder: string | undefined): string | undefined {
  return folder === undefined ? undefined : createHash('sha256').update(folder).digest('hex').slice(0, 32);
}

export function emptySlot(spec: ServerSpec): Slot {
  return {
    name: spec.name,
    spec,
    listing: { kind: 'unlisted' },
    hello: undefined,
    offer: EMPTY_OFFER,
    tools: new Map(),
    bySet: new Map(),
    unsteady: false,
    awaitedSince: undefined,
    inFlight: undefined,
    toolLists: new Set(),
    otherLists: new Set(),
    retryTimer: undefined,
    failures: 0,
    told: '',
    begun: new Map(),
    announced: undefined,
    stale: new Set(),
  };
}

/** Resolves with the work, or after `wait` ms; at once where that time is over. */
export function within(work: Promise<void>, wait: number): Promise<void> {
  if (wait <= 0) return Promise.resolve();
  if (wait === Number.POSITIVE_INFINITY) return work;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, wait);
    void work.finally(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export function clearTimers({ announced, retryTimer }: Slot): void {
  announced?.begin();
  clearTimeout(retryTimer);
}

/** The enabled ones in the order of look-up: local modules first. */
export function inOrder(servers: readonly ServerSpec[]): ServerSpec[] {
  const enabled = servers.filter((spec) => !spec.disabled);
  return [...enabled.filter(({ type }) => type === 'module'), ...enabled.filter(({ type }) => type !== 'module')];
}
