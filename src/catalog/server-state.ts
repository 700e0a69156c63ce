/** The state of one server in the catalog: its offer by client capabilities, and the list requests in progress. */
import { createHash } from 'node:crypto';
import type { ServerSpec } from '../config/config.ts';
import { sharedKey } from '../mcp/capabilities.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Handshake } from '../upstream/handshake.ts';
import type { OtherRequest, ToolsRequest } from './list-requests.ts';
import { EMPTY_OFFER, type ListedTool, type Offer, type Tool } from './listing.ts';
import type { Lesson } from './pins/pins.ts';

/** The state of a server's listing. A failed server keeps its earlier lists. */
export type Listing =
  | { kind: 'unlisted' }
  | { kind: 'listed'; at: number; from: 'server' | 'store' }
  | { kind: 'failed'; at: number; error: unknown };

export interface ServerEntry {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly listing: Listing;
  readonly handshake: Handshake | undefined;
  readonly offer: Offer;
  /** The definitions of the tools in `offer`. */
  readonly definitions: Tool[];
}

/** The offer of a server to clients with one set of capabilities; it may list other tools for other sets. */
export interface Known extends ServerEntry {
  readonly handshake: Handshake;
  readonly tools: Map<string, ListedTool>;
  /** A digest of the folder that the server was started for, if its launch depends on one. */
  readonly folder?: string | undefined;
}

export interface ServerState {
  name: string;
  spec: ServerSpec;
  listing: Listing;
  /** The last handshake and offer, for any set. */
  handshake: Handshake | undefined;
  offer: Offer;
  definitions: Tool[];
  tools: Map<string, ListedTool>;
  /** Offers by the set of client capabilities, see `offeredKey`. */
  bySet: Map<string, Known>;
  /**
   * True if the server changed definitions without changing its version: stored lists are not shown before it was
   * listed again.
   */
  unsteady: boolean;
  /** Monotonic milliseconds since which clients wait for a list of it; undefined if none waits. */
  awaitedSince: number | undefined;
  inFlight: { connection: Lister; done: Promise<void> } | undefined;
  /** Resolves when its lists were read from disk. */
  restoring: Promise<void> | undefined;
  /** Requests for tools in progress, alone or as a part of `inFlight`, and requests for the other lists. */
  toolLists: Set<ToolsRequest>;
  otherLists: Set<OtherRequest>;
  /**
   * The timer for the retry of lists that failed while the server was connected, and the number of failures in a row.
   */
  retryTimer: NodeJS.Timeout | undefined;
  failures: number;
  /** The failed lists, as last logged. */
  told: string;
  /** Monotonic milliseconds of the start of the last listing, by the set. */
  begun: Map<string, number>;
  /** The listing that follows an announced change; `begin` starts it without the delay. */
  announced: { begin(): void; done: Promise<void> } | undefined;
  /** The connections to list on after the delay; undefined stands for any connection. */
  stale: Set<Teller | undefined>;
}

/** Options of a repeated listing. */
export interface Wanted {
  /** Tools alone (default), or every list. */
  lists?: 'tools' | 'all' | undefined;
  /** Which stopped servers may be started: any (default), only those known from disk alone, or none. */
  start?: 'always' | 'stored' | 'never' | undefined;
}

/** The client that lists are requested for. */
export interface Client {
  /** Its set of capabilities, see `offeredKey`. */
  offered: string;
  connectionTo(server: string): (Lister & Partial<Pick<Connection, 'handshake'>>) | undefined;
  /** Set for a client without a session, which keeps no definitions. */
  stateless?: true | undefined;
  /** Set if lists for other capabilities are enough for now: the right ones are requested, and not waited for. */
  takesOthers?: boolean | undefined;
}

/** The connection on which a list is requested. */
export type Lister = Pick<
  Connection,
  'name' | 'spec' | 'connect' | 'request' | 'offered' | 'owner' | 'folder' | 'perCall'
> &
  Partial<Pick<Connection, 'state' | 'claim' | 'listed'>>;
/** The connection of a call. */
export type Carrier = Lister & Pick<Connection, 'handshake'>;
/** The connection that announced a change; it may have ended since. */
export type Teller = Lister & Pick<Connection, 'state'>;

export function knownTo(slot: ServerState, offered: string | undefined): Known | ServerState {
  if (offered === undefined) return slot;
  return slot.bySet.get(offered) ?? slot.bySet.get(sharedKey(offered)) ?? slot;
}

/**
 * True if nothing of a server is known. If its entry changed, its shown list is newer than the list stored for the new
 * entry.
 */
export function isBlank({ listing, handshake }: ServerState): boolean {
  return listing.kind === 'unlisted' && handshake === undefined;
}

/**
 * Returns the set for which a server is listed for a client: that of the client's connection, else the client's own.
 */
export function listedFor(slot: ServerState, client: Client): string {
  return client.connectionTo(slot.name)?.offered ?? client.offered;
}

/** True if something has been listed for a set, or for any set if undefined. */
export function isKnown(slot: ServerState, offered: string | undefined): boolean {
  return offered === undefined ? slot.bySet.size > 0 : slot.bySet.has(offered);
}

/**
 * True if failed lists can be requested again: the delay is over, and no retry is scheduled while the server is
 * stopped.
 */
export function mayBeAnswered(slot: ServerState, offered: string | undefined): boolean {
  if (slot.retryTimer !== undefined || slot.otherLists.size > 0) return false;
  return knownTo(slot, offered).offer.unanswered !== undefined;
}

/** Resolves when the requests for lists other than tools have ended, or `wait` ms after they began. */
export async function othersWithin({ otherLists }: ServerState, wait: number): Promise<void> {
  const now = performance.now();
  await Promise.all([...otherLists].map(({ done, since }) => within(done, since + wait - now)));
}

/**
 * Drops the lists of a client from a time at which its connection offered more capabilities than now; returns false if
 * there were none.
 */
export function forgetEarlier(slot: ServerState, client: Client | undefined, offered: string | undefined): boolean {
  return client !== undefined && offered !== client.offered && slot.bySet.delete(client.offered);
}

/**
 * True if a server must be listed before its tools are shown: a session keeps the definitions that it is shown, so
 * those of a server that changes them are listed first on the connection that the session will use.
 */
export function mayBeStale(
  { name, unsteady }: ServerState,
  client: Client | undefined,
  isCurrent: (connection: Lister, handshake: Handshake | undefined) => boolean,
): boolean {
  if (!unsteady || client === undefined || client.stateless) return false;
  const connection = client.connectionTo(name);
  return connection !== undefined && !isCurrent(connection, connection.handshake);
}

/** The handshake and offer of a server for one set. */
export type Learned = { handshake: Handshake; offer: Offer; folder?: string | undefined };

export function take(slot: ServerState, offered: string, { handshake, offer, folder }: Learned): void {
  const tools = new Map(offer.tools.map((listed) => [listed.tool.name, listed]));
  const definitions = offer.tools.map(({ tool }) => tool);
  const { name } = slot;
  // Deleting first moves the set to the end: the set seen last is the last entry.
  slot.bySet.delete(offered);
  slot.bySet.set(offered, {
    ...{ name, handshake, offer, definitions, tools, folder },
    get spec() {
      return slot.spec;
    },
    get listing() {
      return slot.listing;
    },
  });
  Object.assign(slot, { handshake, offer, definitions, tools });
}

/** Returns the last list, for the pins. */
export function lessonOf({ spec, handshake, tools }: ServerState): Pick<Lesson, 'spec' | 'version' | 'tools'> {
  return { spec, version: String(handshake?.serverInfo.version), tools };
}

/** Returns a digest that identifies a folder without revealing its name. */
export function folderDigest(folder: string | undefined): string | undefined {
  return folder === undefined ? undefined : createHash('sha256').update(folder).digest('hex').slice(0, 32);
}

export function emptyServerState(spec: ServerSpec): ServerState {
  return {
    name: spec.name,
    spec,
    listing: { kind: 'unlisted' },
    handshake: undefined,
    offer: EMPTY_OFFER,
    definitions: [],
    tools: new Map(),
    bySet: new Map(),
    unsteady: false,
    awaitedSince: undefined,
    inFlight: undefined,
    restoring: undefined,
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

/** Resolves with the work, or after `wait` ms; at once if that is not positive. */
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

/** Returns the servers that did not answer within the first wait, each of them once. */
export function overdue(slots: readonly ServerState[]): ServerState[] {
  const late = slots.filter(({ listing, awaitedSince = Number.NEGATIVE_INFINITY }) => {
    return listing.kind === 'unlisted' && Number.isFinite(awaitedSince);
  });
  for (const slot of late) slot.awaitedSince = Number.NEGATIVE_INFINITY;
  return late;
}

export function clearTimers({ announced, retryTimer }: ServerState): void {
  announced?.begin();
  clearTimeout(retryTimer);
}

/** Returns the enabled servers in the order of look-up: local modules first. */
export function inOrder(servers: readonly ServerSpec[]): ServerSpec[] {
  const enabled = servers.filter((spec) => !spec.disabled);
  return [...enabled.filter(({ type }) => type === 'module'), ...enabled.filter(({ type }) => type !== 'module')];
}
