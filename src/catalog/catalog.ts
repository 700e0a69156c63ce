/** What the upstreams of a profile offer: known from the disk at once, listed when they run, refreshed when they say it changed. */
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Hello } from '../upstream/connection.ts';
import type { Pool } from '../upstream/pool.ts';
import { EMPTY_OFFER, type ListedTool, type ListKind, listOffer, type Offer } from './list.ts';
import { type CatalogStore, NO_STORE } from './store.ts';

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

export interface CatalogOptions {
  servers: ServerSpec[];
  pool: Pick<Pool, 'get'>;
  log: Log;
  store?: CatalogStore;
  /** Called when what a server offers has really changed, with the lists that did. */
  changed?: (server: string, kinds: ListKind[]) => void;
}

interface Slot {
  name: string;
  spec: ServerSpec;
  listing: Listing;
  hello: Hello | undefined;
  offer: Offer;
  tools: Map<string, ListedTool>;
  inFlight: Promise<void> | undefined;
  refreshTimer: NodeJS.Timeout | undefined;
}

/** Lists of one server are at least this far apart, in ms, however often it announces changes. */
const REFRESH_GAP = 300;

export class Catalog {
  readonly #slots: Map<string, Slot>;
  readonly #options: CatalogOptions;
  readonly #store: CatalogStore;
  #closed = false;
  #revision = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#store = options.store ?? NO_STORE;
    const enabled = options.servers.filter((spec) => !spec.disabled);
    const modules = enabled.filter(({ type }) => type === 'module');
    const others = enabled.filter(({ type }) => type !== 'module');
    this.#slots = new Map([...modules, ...others].map((spec) => [spec.name, emptySlot(spec)]));
  }

  /** Grows with every change of what is known, so that what was derived from it can be kept. */
  get revision(): number {
    return this.#revision;
  }

  /** The enabled servers in the order of look-up: local modules, then the config's order. */
  servers(): ServerEntry[] {
    return [...this.#slots.values()];
  }

  server(name: string): ServerEntry | undefined {
    return this.#slots.get(name);
  }

  find(server: string, tool: string): ListedTool | undefined {
    return this.#slots.get(server)?.tools.get(tool);
  }

  /** Makes a server known: from the disk at once, else by listing it. Never rejects: see `listing`. */
  async ensure(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    this.#restore(slot);
    if (slot.listing.kind !== 'listed') await this.#refresh(slot);
  }

  /** Makes everything known, all at once, and waits at most `wait` ms for what has to be listed. */
  async settle(wait: number): Promise<void> {
    const open = [...this.#slots.values()].filter((slot) => {
      this.#restore(slot);
      return slot.listing.kind === 'unlisted';
    });
    if (open.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, wait);
    });
    await Promise.race([Promise.all(open.map((slot) => this.#refresh(slot))), timeout]);
    clearTimeout(timer);
  }

  /** Lists a server that is known from the disk only; returns at once for one that was listed in this run. */
  async verify(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot?.listing.kind === 'listed' && slot.listing.from === 'store') await this.#refresh(slot);
  }

  /** An upstream has just been connected, for whatever reason: what is known of it is checked in the background, unless it still holds. */
  connected(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const { listing, offer } = slot;
    const holds = listing.kind === 'listed' && Date.now() < listing.at + (offer.freshFor ?? 0);
    if (!holds) void this.#refresh(slot);
  }

  /** Takes note of a `…/list_changed` notification of an upstream. */
  noticed(name: string, method: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined || !method.endsWith('/list_changed') || slot.refreshTimer !== undefined) return;
    slot.refreshTimer = setTimeout(() => {
      slot.refreshTimer = undefined;
      // A list under way may have begun before the change, so it is followed by another.
      void (slot.inFlight ?? Promise.resolve()).then(() => this.#refresh(slot));
    }, REFRESH_GAP);
  }

  close(): void {
    this.#closed = true;
    for (const slot of this.#slots.values()) clearTimeout(slot.refreshTimer);
  }

  #restore(slot: Slot): void {
    if (slot.listing.kind !== 'unlisted' || slot.inFlight !== undefined) return;
    const stored = this.#store.read(slot.spec);
    if (stored === undefined) return;
    this.#take(slot, stored.hello, stored.offer);
    slot.listing = { kind: 'listed', at: stored.at, from: 'store' };
  }

  /** Takes over what a server offers; returns the lists that differ from what was known. */
  #learn(slot: Slot, hello: Hello, offer: Offer): ListKind[] {
    const before = fingerprintsOf(slot.hello, slot.offer);
    const after = fingerprintsOf(hello, offer);
    const kinds = LIST_KINDS.filter((kind) => after[kind] !== before[kind]);
    if (kinds.length > 0) this.#take(slot, hello, offer);
    else Object.assign(slot, { hello, offer });
    return kinds;
  }

  #take(slot: Slot, hello: Hello, offer: Offer): void {
    const tools = new Map(offer.tools.map((listed) => [listed.tool.name, listed]));
    Object.assign(slot, { hello, offer, tools });
    this.#revision++;
  }

  #refresh(slot: Slot): Promise<void> {
    slot.inFlight ??= this.#list(slot).finally(() => {
      slot.inFlight = undefined;
    });
    return slot.inFlight;
  }

  async #list(slot: Slot): Promise<void> {
    const { pool, log, changed } = this.#options;
    const connection = pool.get(slot.name);
    if (connection === undefined || this.#closed) return;
    try {
      const hello = await connection.connect();
      const offer = await listOffer(connection, hello, log);
      const first = slot.listing.kind !== 'listed';
      const kinds = this.#learn(slot, hello, offer);
      slot.listing = { kind: 'listed', at: Date.now(), from: 'server' };
      // The time matters to the next start where the lists have a life.
      const news = first || kinds.length > 0 || offer.freshFor !== undefined;
      if (news) this.#store.write(slot.spec, { hello, offer, at: slot.listing.at });
      if (kinds.length > 0 && !this.#closed) changed?.(slot.name, kinds);
    } catch (error) {
      slot.listing = { kind: 'failed', at: Date.now(), error };
      this.#revision++;
      log.debug(`could not list "${slot.name}": ${messageOf(error)}`);
    }
  }
}

const LIST_KINDS: ListKind[] = ['tools', 'resources', 'prompts'];

/** The JSON of each list, to tell a change from a repetition. Instructions are shown with the tools. */
function fingerprintsOf(hello: Hello | undefined, offer: Offer): Record<ListKind, string> {
  return {
    tools: JSON.stringify([hello?.instructions, offer.tools]),
    resources: JSON.stringify([offer.resources, offer.templates]),
    prompts: JSON.stringify(offer.prompts),
  };
}

function emptySlot(spec: ServerSpec): Slot {
  return {
    name: spec.name,
    spec,
    listing: { kind: 'unlisted' },
    hello: undefined,
    offer: EMPTY_OFFER,
    tools: new Map(),
    inFlight: undefined,
    refreshTimer: undefined,
  };
}
