/** What the upstreams of a profile offer: known from the disk at once, listed when they run, refreshed when they say it changed. */
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Hello } from '../upstream/connection.ts';
import type { Pool } from '../upstream/pool.ts';
import { knowsNobody } from '../upstream/sharing.ts';
import { fingerprintsOf, LIST_KINDS, type ListedTool, type ListKind } from './list.ts';
import { requestTools } from './list-requests.ts';
import type { Pins } from './pins.ts';
import { createRefresh, type Refresh } from './refresh.ts';
import {
  type Carrier,
  type Client,
  clearTimers,
  emptySlot,
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
  type ServerEntry,
  type Slot,
  type Teller,
  take,
  type Wanted,
  within,
} from './slot.ts';
import { type CatalogStore, NO_STORE } from './store.ts';

export type { Client, Listing, ServerEntry, Wanted } from './slot.ts';

export interface CatalogOptions {
  servers: ServerSpec[];
  pool: Pick<Pool, 'get'>;
  log: Log;
  store?: CatalogStore;
  /** Told of every list. */
  pins?: Pick<Pins, 'learned'>;
  /** Called when what a server offers has really changed, with the lists that did. */
  changed?: (server: string, kinds: ListKind[]) => void;
  /** Called when servers were listed for the first time, and no others are. */
  listed?: () => void;
}

export class Catalog {
  #slots: Map<string, Slot>;
  readonly #options: CatalogOptions;
  readonly #store: CatalogStore;
  /** The sets of capabilities for which tools were listed, by the beginning of the conversation. */
  readonly #listed = new WeakMap<Hello, Set<string>>();
  readonly #refresh: Refresh;
  #closed = false;
  #revision = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#store = options.store ?? NO_STORE;
    this.#refresh = createRefresh({
      log: options.log,
      connectionTo: (server) => options.pool.get(server),
      isWanted: (slot) => !this.#closed && this.#slots.get(slot.name) === slot,
      accept: (slot, connection, learned, lists) =>
        lists === 'all' ? this.#accept(slot, connection, learned) : this.#acceptOthers(slot, connection, learned),
      failed: (slot, error) => this.#failed(slot, error),
    });
    this.#slots = new Map(inOrder(options.servers).map((spec) => [spec.name, emptySlot(spec)]));
  }

  /** Takes other servers. Those in `renewed` are listed anew, and show what was known of them until then. */
  update(servers: readonly ServerSpec[], renewed: readonly string[]): void {
    const before = this.#slots;
    this.#slots = new Map(
      inOrder(servers).map((spec) => {
        const old = before.get(spec.name);
        if (old === undefined) return [spec.name, emptySlot(spec)];
        if (!renewed.includes(spec.name)) return [spec.name, Object.assign(old, { spec })];
        const { hello, offer, tools } = old;
        return [spec.name, { ...emptySlot(spec), hello, offer, tools }];
      }),
    );
    const kept = new Set(this.#slots.values());
    for (const slot of before.values()) if (!kept.has(slot)) clearTimers(slot);
    this.#revision++;
  }

  /** Grows with every change of what is known, so that what was derived from it can be kept. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether servers are being listed for the first time. */
  get isListing(): boolean {
    return [...this.#slots.values()].some(({ listing, inFlight }) => listing.kind === 'unlisted' && inFlight);
  }

  /** The enabled servers in the order of look-up: local modules, then the config's order. */
  servers(offered?: string): ServerEntry[] {
    return [...this.#slots.values()].map((slot) => knownTo(slot, offered));
  }

  /** A server as a client with that set of capabilities knows it; where that is not known yet, as it was seen last. */
  server(name: string, offered?: string): ServerEntry | undefined {
    const slot = this.#slots.get(name);
    return slot && knownTo(slot, offered);
  }

  find(server: string, tool: string, offered?: string): ListedTool | undefined {
    const slot = this.#slots.get(server);
    return slot && knownTo(slot, offered).tools.get(tool);
  }

  /** Makes a server known: from the disk at once, else by listing it. Never rejects: see `listing`. */
  async ensure(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    this.#restore(slot);
    if (slot.listing.kind === 'listed') return;
    const done = this.#refresh.now(slot);
    slot.inFlight?.connection.claim?.();
    await done;
  }

  /**
   * Makes everything known that the client may see, all at once. Waits for what has to be listed until `wait` ms after its
   * listing began, however many ask: a server that hangs is waited for once, and then by nobody. Only who wants `all` lists waits
   * for more than tools, and has lists asked for again that failed.
   */
  async settle(wait: number, client?: Client, lists: 'tools' | 'all' = 'tools'): Promise<void> {
    const open = [...this.#slots.values()].filter((slot) => {
      this.#restore(slot);
      const offered = client && listedFor(slot, client);
      if (forgetEarlier(slot, client, offered)) this.#revision++;
      if (lists === 'all' && mayBeAnswered(slot, offered)) return true;
      if (slot.listing.kind === 'failed') return false;
      return !isKnown(slot, offered) || mayBeStale(slot, client, (...on) => this.isCurrent(...on));
    });
    const now = performance.now();
    const rounds = open.map((slot) => {
      slot.awaitedSince ??= now;
      const done = this.#refresh.now(slot, client?.connectionTo(slot.name));
      return within(done, slot.awaitedSince + wait - now);
    });
    await Promise.all(rounds);
    if (lists === 'all') await this.answered(wait);
  }

  /** Resolves when lists beside the tools that are under way were answered or have failed, of one server or of all, or `wait` ms after they began. */
  async answered(wait: number, name?: string): Promise<void> {
    const slots = [...this.#slots.values()].filter((slot) => name === undefined || slot.name === name);
    await Promise.all(slots.map((slot) => othersWithin(slot, wait)));
  }

  /** Asks a server again, for a name that is not known: what is known may be from the disk, or older than a change. */
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

  /** Whether the tools that are known of a server are those that it has in this conversation, and not those of an earlier one. */
  isCurrent({ name, fleeting, offered }: Lister, hello: Hello | undefined): boolean {
    if (!fleeting) return hello !== undefined && this.#listed.get(hello)?.has(offered) === true;
    const listing = this.#slots.get(name)?.listing;
    return listing?.kind === 'listed' && listing.from === 'server';
  }

  /** Makes it so; false where that conversation is over. Throws what stands in the way. The other lists follow in their own time. */
  async renew(connection: Carrier, hello: Hello): Promise<boolean> {
    const slot = this.#slots.get(connection.name);
    if (slot === undefined) return false;
    const { tools } = await requestTools(slot, connection, hello, this.#options.log);
    // A list that took a reconnect may be of either conversation.
    if (!connection.fleeting && connection.hello !== hello) return false;
    if (this.isCurrent(connection, hello)) return true;
    const { freshFor: _, ...known } = knownTo(slot, connection.offered).offer;
    this.#accept(slot, connection, { hello, offer: { ...known, tools } });
    return true;
  }

  /** An upstream has just been connected, for whatever reason: what is known of it is checked in the background, unless it still holds. */
  connected(name: string, connection?: Lister): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const { listing, offer } = slot;
    const holds = listing.kind === 'listed' && Date.now() < listing.at + (offer.freshFor ?? 0);
    if (!holds) void this.#refresh.now(slot, connection);
  }

  /** Takes note of a `…/list_changed` notification of an upstream; the connection that brought it is asked for the new list. */
  noticed(name: string, method: string, connection?: Teller): void {
    const slot = this.#slots.get(name);
    if (slot === undefined || !method.endsWith('/list_changed')) return;
    this.#refresh.soon(slot, connection);
  }

  close(): void {
    this.#closed = true;
    for (const slot of this.#slots.values()) clearTimers(slot);
  }

  #restore(slot: Slot): void {
    if (slot.listing.kind !== 'unlisted' || slot.inFlight !== undefined) return;
    // A list that is shown of a server whose entry changed is newer than the list stored for the new entry.
    if (slot.hello !== undefined) return;
    const stored = this.#store.read(slot.spec);
    if (stored === undefined) return;
    for (const [offered, learned] of stored.bySet) {
      take(slot, offered, learned);
      this.#options.pins?.learned({ ...lessonOf(slot), offered, folder: learned.folder, from: 'store' });
    }
    slot.unsteady = stored.unsteady === true;
    slot.listing = { kind: 'listed', at: stored.at, from: 'store' };
    this.#revision++;
  }

  /** Takes over what a server offers for one set; returns the lists that differ from what its clients knew. */
  #learn(slot: Slot, offered: string, learned: Learned): ListKind[] {
    const known = knownTo(slot, offered);
    const before = fingerprintsOf(known.hello, known.offer);
    const after = fingerprintsOf(learned.hello, learned.offer);
    take(slot, offered, learned);
    const kinds = LIST_KINDS.filter((kind) => after[kind] !== before[kind]);
    if (kinds.length > 0) this.#revision++;
    return kinds;
  }

  /** Takes what a server has just said, and tells whoever has to know. */
  #accept(slot: Slot, connection: Lister, { hello, offer }: Learned): void {
    const { pins, changed } = this.#options;
    const { offered, owner } = connection;
    const folder = folderDigest(connection.folder);
    const isNew = slot.listing.kind === 'unlisted';
    const first = slot.listing.kind !== 'listed' || !slot.bySet.has(offered);
    const version = knownTo(slot, offered).hello?.serverInfo.version;
    const kinds = this.#learn(slot, offered, { hello, offer, folder });
    this.#listed.set(hello, (this.#listed.get(hello) ?? new Set()).add(offered));
    slot.listing = { kind: 'listed', at: Date.now(), from: 'server' };
    slot.awaitedSince = undefined;
    const alone = knowsNobody(slot.spec, hello.era) ? undefined : owner;
    const turned = pins?.learned({ ...lessonOf(slot), offered, owner: alone, folder, from: 'server' }) === true;
    slot.unsteady = turned || (slot.unsteady && version === hello.serverInfo.version);
    // The time matters to the next start where the lists have a life.
    const news = first || kinds.length > 0 || offer.freshFor !== undefined;
    const { bySet, unsteady } = slot;
    if (news) this.#store.write(slot.spec, { at: slot.listing.at, bySet, unsteady });
    if (kinds.length > 0 && !this.#closed) changed?.(slot.name, kinds);
    if (isNew) this.#tellEnd();
  }

  #tellEnd(): void {
    if (!this.#closed && !this.isListing) this.#options.listed?.();
  }

  /** Takes the lists beside the tools, and tells whoever has to know. */
  #acceptOthers(slot: Slot, connection: Lister, { hello, offer }: Learned): void {
    const { offered } = connection;
    const kinds = this.#learn(slot, offered, { hello, offer, folder: folderDigest(connection.folder) });
    const { bySet, unsteady, listing } = slot;
    if (listing.kind === 'listed') this.#store.write(slot.spec, { at: listing.at, bySet, unsteady });
    if (kinds.length > 0 && !this.#closed) this.#options.changed?.(slot.name, kinds);
  }

  #failed(slot: Slot, error: unknown): void {
    const isNew = slot.listing.kind === 'unlisted';
    slot.listing = { kind: 'failed', at: Date.now(), error };
    slot.awaitedSince = undefined;
    this.#revision++;
    this.#options.log.debug(`could not list "${slot.name}": ${messageOf(error)}`);
    if (isNew) this.#tellEnd();
  }
}
