/** The catalog of a profile's upstreams: loaded from disk first, listed when they run, refreshed when they announce changes. */
import { BoundedMap } from '../bounded-map.ts';
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Handshake } from '../upstream/handshake.ts';
import type { Pool } from '../upstream/pool.ts';
import { knowsNobody } from '../upstream/sharing/sharing.ts';
import { type CatalogStore, NO_STORE, type StoredCatalog } from './catalog-store.ts';
import { changedLists } from './changed-lists.ts';
import { requestTools } from './list-requests.ts';
import type { ListedTool, ListKind } from './listing.ts';
import type { Pins } from './pins/pins.ts';
import { createRefresh, type Refresh } from './refresh.ts';
import { createRestore, type Restore } from './restore.ts';
import {
  type Carrier,
  type Client,
  clearTimers,
  emptyServerState,
  folderDigest,
  forgetEarlier,
  inOrder,
  isKnown,
  knownTo,
  type Learned,
  type Lister,
  lessonOf,
  listedFor,
  mayBeAnswered,
  mayBeStale,
  othersWithin,
  overdue,
  type ServerEntry,
  type ServerState,
  type Teller,
  take,
  type Wanted,
  within,
} from './server-state.ts';

export type { Client, Listing, ServerEntry, Wanted } from './server-state.ts';

export interface CatalogOptions {
  servers: ServerSpec[];
  pool: Pick<Pool, 'get'>;
  log: Log;
  store?: CatalogStore;
  /** The servers that did not answer in time at their last start, maybe in an earlier run of mcpx. */
  slowStarts?: { has(spec: ServerSpec): boolean; add(spec: ServerSpec): void };
  /** Gets every list. */
  pins?: Pick<Pins, 'learned'>;
  /** Called with the lists that changed when a server's offer differs from the known one. */
  changed?: (server: string, kinds: ListKind[]) => void;
  /** Called after each listing of a server, with the error if it failed. */
  outcome?: (spec: ServerSpec, error?: unknown) => void;
  /** Called when servers were listed for the first time and no other first listing is in progress. */
  listed?: () => void;
}

/** Maximum number of connections whose lists are known; a call on an older one lists its tools again. */
const MAX_CONNECTIONS = 10_000;

export class Catalog {
  #slots: Map<string, ServerState>;
  readonly #options: CatalogOptions;
  readonly #store: CatalogStore;
  /** The sets of capabilities for which tools were listed, by the id of the connection. */
  readonly #listed = new BoundedMap<string, Set<string>>(MAX_CONNECTIONS);
  readonly #refresh: Refresh;
  readonly #restore: Restore;
  #closed = false;
  #revision = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#store = options.store ?? NO_STORE;
    this.#restore = createRestore(this.#store, (slot, stored) => this.#restored(slot, stored));
    this.#refresh = createRefresh({
      log: options.log,
      connectionTo: (server) => options.pool.get(server),
      isWanted: (slot) => !this.#closed && this.#slots.get(slot.name) === slot,
      accept: (slot, connection, learned, lists) =>
        lists === 'all' ? this.#accept(slot, connection, learned) : this.#acceptOthers(slot, connection, learned),
      failed: (slot, error) => this.#failed(slot, error),
    });
    this.#slots = new Map(inOrder(options.servers).map((spec) => [spec.name, emptyServerState(spec)]));
  }

  /** Replaces the servers. Those in `renewed` are listed again, and show their known lists until then. */
  update(servers: readonly ServerSpec[], renewed: readonly string[]): void {
    const before = this.#slots;
    this.#slots = new Map(
      inOrder(servers).map((spec) => {
        const old = before.get(spec.name);
        if (old === undefined) return [spec.name, emptyServerState(spec)];
        if (!renewed.includes(spec.name)) return [spec.name, Object.assign(old, { spec })];
        const { handshake, offer, definitions, tools } = old;
        return [spec.name, { ...emptyServerState(spec), handshake, offer, definitions, tools }];
      }),
    );
    for (const [name, slot] of before) if (this.#slots.get(name) !== slot) clearTimers(slot);
    this.#revision++;
  }

  /** Increases with every change of the catalog, so that derived data can be cached. */
  get revision(): number {
    return this.#revision;
  }

  /** True while servers are being listed for the first time. */
  get isListing(): boolean {
    return [...this.#slots.values()].some(({ listing, inFlight }) => listing.kind === 'unlisted' && inFlight);
  }

  /** Returns the enabled servers in the order of look-up: local modules, then the order of the config. */
  servers(offered?: string): ServerEntry[] {
    return [...this.#slots.values()].map((slot) => knownTo(slot, offered));
  }

  /** Returns a server as a client with those capabilities sees it; if that is unknown, as it was listed last. */
  server(name: string, offered?: string): ServerEntry | undefined {
    const slot = this.#slots.get(name);
    return slot && knownTo(slot, offered);
  }

  find(server: string, tool: string, offered?: string): ListedTool | undefined {
    const slot = this.#slots.get(server);
    return slot && knownTo(slot, offered).tools.get(tool);
  }

  /** Loads the lists of a server from disk, or else lists it. Never rejects: see `listing`. */
  async ensure(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const restoring = this.#restore.one(slot);
    if (restoring !== undefined) await restoring;
    if (slot.listing.kind === 'listed') return;
    const done = this.#refresh.now(slot);
    slot.inFlight?.connection.claim?.();
    await done;
  }

  /**
   * Loads or lists everything that the client may see, all servers in parallel. Waits for each listing until `wait` ms
   * after it began, however many clients ask, and not for a server that hung at its last start. Only with `all` does it
   * wait for lists other than tools, and retry lists that failed.
   */
  async settle(wait: number, client?: Client, lists: 'tools' | 'all' = 'tools'): Promise<void> {
    const restoring = this.#restore.all(this.#slots.values());
    if (restoring !== undefined) await restoring;
    const open = [...this.#slots.values()].filter((slot) => {
      const offered = client && listedFor(slot, client);
      if (forgetEarlier(slot, client, offered)) this.#revision++;
      if (lists === 'all' && mayBeAnswered(slot, offered)) return true;
      if (slot.listing.kind === 'failed') return false;
      return !isKnown(slot, offered) || mayBeStale(slot, client, (...on) => this.isCurrent(...on));
    });
    const now = performance.now();
    const rounds = open.map((slot) => {
      slot.awaitedSince ??= client && this.#options.slowStarts?.has(slot.spec) ? Number.NEGATIVE_INFINITY : now;
      const done = this.#refresh.now(slot, client?.connectionTo(slot.name));
      if (client?.takesOthers && isKnown(slot, undefined)) return undefined;
      return within(done, slot.awaitedSince + wait - now);
    });
    await Promise.all(rounds);
    if (client && !client.takesOthers) for (const { spec } of overdue(open)) this.#options.slowStarts?.add(spec);
    if (lists === 'all') await this.answered(wait);
  }

  /**
   * Resolves when pending requests for lists other than tools, of one server or of all, were answered or have failed,
   * or `wait` ms after they began.
   */
  async answered(wait: number, name?: string): Promise<void> {
    const slots = [...this.#slots.values()].filter((slot) => name === undefined || slot.name === name);
    await Promise.all(slots.map((slot) => othersWithin(slot, wait)));
  }

  /** Lists a server again because a name is unknown: the known lists may be from disk, or older than a change. */
  async verify(name: string, asked?: Lister, { lists, start = 'always' }: Wanted = {}): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot?.listing.kind === 'listed') {
      const state = (asked ?? this.#options.pool.get(name))?.state;
      const mayAsk =
        start === 'always' || state?.kind === 'ready' || (start === 'stored' && slot.listing.from === 'store');
      const done = mayAsk ? this.#refresh.again(slot, asked) : undefined;
      if (start === 'always') slot.inFlight?.connection.claim?.();
      await done;
    }
    if (lists === 'all') await this.answered(Number.POSITIVE_INFINITY, name);
  }

  /** True if the known tools of a server were listed on this connection, and not on an earlier one. */
  isCurrent({ name, perCall, offered }: Lister, handshake: Handshake | undefined): boolean {
    const { conversation } = handshake ?? {};
    if (!perCall) return conversation !== undefined && this.#listed.get(conversation)?.has(offered) === true;
    const listing = this.#slots.get(name)?.listing;
    return listing?.kind === 'listed' && listing.from === 'server';
  }

  /** Lists the tools on this connection; false if it has ended. Throws if that fails. The other lists follow later. */
  async renew(connection: Carrier, handshake: Handshake): Promise<boolean> {
    const slot = this.#slots.get(connection.name);
    if (slot === undefined) return false;
    const { tools } = await requestTools(slot, connection, handshake, this.#options.log);
    // A list that needed a reconnect may be of either connection.
    if (!connection.perCall && connection.handshake?.conversation !== handshake.conversation) return false;
    if (this.isCurrent(connection, handshake)) return true;
    const { freshFor: _, ...known } = knownTo(slot, connection.offered).offer;
    this.#accept(slot, connection, { handshake, offer: { ...known, tools } });
    return true;
  }

  /** Refreshes the lists of a newly connected upstream in the background, unless they are still valid. */
  connected(name: string, connection?: Lister): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const { listing, offer } = slot;
    const holds = listing.kind === 'listed' && Date.now() < listing.at + (offer.freshFor ?? 0);
    if (!holds) void this.#refresh.now(slot, connection);
  }

  /** Handles a `…/list_changed` notification; the new list is requested on the connection that sent it. */
  noticed(name: string, method: string, connection?: Teller): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined && method.endsWith('/list_changed')) this.#refresh.soon(slot, connection);
  }

  close(): void {
    this.#closed = true;
    for (const slot of this.#slots.values()) clearTimers(slot);
  }

  #restored(slot: ServerState, stored: StoredCatalog): void {
    for (const [offered, learned] of stored.bySet) {
      take(slot, offered, learned);
      this.#options.pins?.learned({ ...lessonOf(slot), offered, folder: learned.folder, from: 'store' });
    }
    slot.unsteady = stored.unsteady === true;
    slot.listing = { kind: 'listed', at: stored.at, from: 'store' };
    this.#revision++;
  }

  /** Stores a server's offer for one set of capabilities; returns the lists that differ from the known ones. */
  #learn(slot: ServerState, offered: string, learned: Learned): ListKind[] {
    const kinds = changedLists(knownTo(slot, offered), learned);
    take(slot, offered, learned);
    if (kinds.length > 0) this.#revision++;
    return kinds;
  }

  /** Stores a list of a server, and notifies pins, store and sessions. */
  #accept(slot: ServerState, connection: Lister, { handshake, offer }: Learned): void {
    const { pins, changed } = this.#options;
    const { offered, owner } = connection;
    const folder = folderDigest(connection.folder);
    const isNew = slot.listing.kind === 'unlisted';
    const first = slot.listing.kind !== 'listed' || !slot.bySet.has(offered);
    const version = knownTo(slot, offered).handshake?.serverInfo.version;
    const kinds = this.#learn(slot, offered, { handshake, offer, folder });
    const { conversation = '' } = handshake;
    if (conversation !== '') this.#listed.set(conversation, (this.#listed.get(conversation) ?? new Set()).add(offered));
    slot.listing = { kind: 'listed', at: Date.now(), from: 'server' };
    this.#options.outcome?.(slot.spec);
    slot.awaitedSince = undefined;
    const alone = knowsNobody(slot.spec, handshake.era) ? undefined : owner;
    const turned = pins?.learned({ ...lessonOf(slot), offered, owner: alone, folder, from: 'server' }) === true;
    slot.unsteady = turned || (slot.unsteady && version === handshake.serverInfo.version);
    // If the lists have a time to live, the time of the listing matters to the next start.
    const news = first || kinds.length > 0 || offer.freshFor !== undefined;
    const { bySet, unsteady } = slot;
    if (news) this.#store.write(slot.spec, { at: slot.listing.at, bySet, unsteady });
    if (kinds.length > 0 && !this.#closed) changed?.(slot.name, kinds);
    if (isNew) this.#tellEnd();
  }

  #tellEnd(): void {
    if (!this.#closed && !this.isListing) this.#options.listed?.();
  }

  /** Stores the lists other than tools, and notifies store and sessions. */
  #acceptOthers(slot: ServerState, connection: Lister, { handshake, offer }: Learned): void {
    const { offered } = connection;
    const kinds = this.#learn(slot, offered, { handshake, offer, folder: folderDigest(connection.folder) });
    const { bySet, unsteady, listing } = slot;
    if (listing.kind === 'listed') this.#store.write(slot.spec, { at: listing.at, bySet, unsteady });
    if (kinds.length > 0 && !this.#closed) this.#options.changed?.(slot.name, kinds);
  }

  #failed(slot: ServerState, error: unknown): void {
    const isNew = slot.listing.kind === 'unlisted';
    slot.listing = { kind: 'failed', at: Date.now(), error };
    if (!this.#closed) this.#options.outcome?.(slot.spec, error);
    slot.awaitedSince = undefined;
    this.#revision++;
    this.#options.log.debug(`could not list "${slot.name}": ${messageOf(error)}`);
    if (isNew) this.#tellEnd();
  }
}
