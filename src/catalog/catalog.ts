/** What the upstreams of a profile offer: known from the disk at once, listed when they run, refreshed when they say it changed. */
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Hello } from '../upstream/connection.ts';
import type { Pool } from '../upstream/pool.ts';
import { knowsNobody } from '../upstream/sharing.ts';
import type { ListedTool, ListedTools, ListKind, Offer } from './list.ts';
import { fingerprintsOf, LIST_KINDS, listOffer, listTools } from './list.ts';
import type { Lesson, Pins } from './pins.ts';
import {
  type Carrier,
  type Client,
  emptySlot,
  folderDigest,
  forgetEarlier,
  inOrder,
  isKnown,
  knownTo,
  type Lister,
  listedFor,
  mayBeStale,
  type ServerEntry,
  type Slot,
  type Teller,
  within,
} from './slot.ts';
import { type CatalogStore, NO_STORE } from './store.ts';

export type { Client, Listing, ServerEntry } from './slot.ts';

export interface CatalogOptions {
  servers: ServerSpec[];
  pool: Pick<Pool, 'get'>;
  log: Log;
  store?: CatalogStore;
  /** Told of every list. */
  pins?: Pick<Pins, 'learned'>;
  /** Called when what a server offers has really changed, with the lists that did. */
  changed?: (server: string, kinds: ListKind[]) => void;
}

/** Lists of one server are at least this far apart, in ms, however often it announces changes. */
const REFRESH_GAP = 300;

export class Catalog {
  #slots: Map<string, Slot>;
  readonly #options: CatalogOptions;
  readonly #store: CatalogStore;
  /** The sets of capabilities for which tools were listed, by the beginning of the conversation. */
  readonly #listed = new WeakMap<Hello, Set<string>>();
  #closed = false;
  #revision = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#store = options.store ?? NO_STORE;
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
    for (const slot of before.values()) if (!kept.has(slot)) clearTimeout(slot.refreshTimer);
    this.#revision++;
  }

  /** Grows with every change of what is known, so that what was derived from it can be kept. */
  get revision(): number {
    return this.#revision;
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
    if (slot.listing.kind !== 'listed') await this.#refresh(slot);
  }

  /**
   * Makes everything known that the client may see, all at once. Waits for what has to be listed until `wait` ms after its
   * listing began, however many ask: a server that hangs is waited for once, and then by nobody.
   */
  async settle(wait: number, client?: Client): Promise<void> {
    const open = [...this.#slots.values()].filter((slot) => {
      this.#restore(slot);
      const offered = client && listedFor(slot, client);
      if (forgetEarlier(slot, client, offered)) this.#revision++;
      if (slot.listing.kind === 'failed') return false;
      return !isKnown(slot, offered) || mayBeStale(slot, client, (...on) => this.isCurrent(...on));
    });
    const now = performance.now();
    const lists = open.map((slot) => {
      slot.awaitedSince ??= now;
      const done = this.#refresh(slot, client?.connectionTo(slot.name));
      return within(done, slot.awaitedSince + wait - now);
    });
    await Promise.all(lists);
  }

  /** Lists a server that is known from the disk only; returns at once for one that was listed in this run. */
  async verify(name: string, connection?: Lister): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot?.listing.kind === 'listed' && slot.listing.from === 'store') await this.#refresh(slot, connection);
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
    const { tools } = await this.#listTools(slot, connection, hello);
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
    if (!holds) void this.#refresh(slot, connection);
  }

  /** Takes note of a `…/list_changed` notification of an upstream; the connection that brought it is asked for the new list. */
  noticed(name: string, method: string, connection?: Teller): void {
    const slot = this.#slots.get(name);
    if (slot === undefined || !method.endsWith('/list_changed')) return;
    slot.stale.add(connection);
    slot.refreshTimer ??= setTimeout(() => {
      slot.refreshTimer = undefined;
      const stale = [...slot.stale];
      slot.stale.clear();
      // A list under way may have begun before the change, so it is followed by another.
      const underWay = [...slot.toolLists].map(({ done }): Promise<unknown> => done);
      void Promise.allSettled([slot.inFlight?.done, ...underWay]).then(() => {
        for (const one of stale) void this.#refresh(slot, one?.state.kind === 'closed' ? undefined : one);
      });
    }, REFRESH_GAP);
  }

  close(): void {
    this.#closed = true;
    for (const slot of this.#slots.values()) clearTimeout(slot.refreshTimer);
  }

  #restore(slot: Slot): void {
    if (slot.listing.kind !== 'unlisted' || slot.inFlight !== undefined) return;
    // A list that is shown of a server whose entry changed is newer than the list stored for the new entry.
    if (slot.hello !== undefined) return;
    const stored = this.#store.read(slot.spec);
    if (stored === undefined) return;
    for (const [offered, learned] of stored.bySet) {
      this.#take(slot, offered, learned);
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
    this.#take(slot, offered, learned);
    const kinds = LIST_KINDS.filter((kind) => after[kind] !== before[kind]);
    if (kinds.length > 0) this.#revision++;
    return kinds;
  }

  #take(slot: Slot, offered: string, { hello, offer, folder }: Learned): void {
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

  #refresh(slot: Slot, asked?: Lister): Promise<void> {
    const connection = asked ?? this.#options.pool.get(slot.name);
    if (connection === undefined || this.#closed) return Promise.resolve();
    const { inFlight } = slot;
    if (inFlight !== undefined && asked !== undefined && inFlight.connection !== asked) {
      return inFlight.done.then(() => this.#refresh(slot, asked));
    }
    slot.inFlight ??= {
      connection,
      done: this.#list(slot, connection).finally(() => {
        slot.inFlight = undefined;
      }),
    };
    return slot.inFlight.done;
  }

  /** Lists tools, once for all who want the same at the same time: a call, and the list that every new connection begins with. */
  #listTools(slot: Slot, connection: Lister, began: Hello): Promise<ListedTools> {
    const { offered, fleeting } = connection;
    const hello = fleeting ? undefined : began;
    const underWay = [...slot.toolLists].find((one) => one.hello === hello && one.offered === offered);
    if (underWay !== undefined) return underWay.done;
    const list = { hello, offered, done: listTools(connection, began, this.#options.log) };
    const over = () => slot.toolLists.delete(list);
    slot.toolLists.add(list);
    list.done.then(over, over);
    return list.done;
  }

  async #list(slot: Slot, connection: Lister): Promise<void> {
    const { log } = this.#options;
    try {
      const hello = await connection.connect();
      const tools = this.#listTools(slot, connection, hello);
      this.#accept(slot, connection, { hello, offer: await listOffer(connection, hello, log, tools) });
    } catch (error) {
      slot.listing = { kind: 'failed', at: Date.now(), error };
      slot.awaitedSince = undefined;
      this.#revision++;
      log.debug(`could not list "${slot.name}": ${messageOf(error)}`);
    }
  }

  /** Takes what a server has just said, and tells whoever has to know. */
  #accept(slot: Slot, connection: Lister, { hello, offer }: Learned): void {
    const { pins, changed } = this.#options;
    const { offered, owner } = connection;
    const folder = folderDigest(connection.folder);
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
  }
}

type Learned = { hello: Hello; offer: Offer; folder?: string | undefined };

/** What was learned last. */
function lessonOf({ spec, hello, tools }: Slot): Pick<Lesson, 'spec' | 'version' | 'tools'> {
  return { spec, version: String(hello?.serverInfo.version), tools };
}
