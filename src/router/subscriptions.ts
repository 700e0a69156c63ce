/** Resource subscriptions of the downstream sessions: the only owner of them, and the only place that renews them. */
import { isWithin, type Located } from '../catalog/exposed-uris.ts';
import { McpxError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Connection, ConnectionInfo } from '../upstream/connection-interface.ts';
import type { ClientIdentity, Pool } from '../upstream/pool.ts';
import { requestInBackground } from './background-request.ts';

export interface Subscriptions {
  /**
   * Registers a subscription when `send` has selected a connection, and removes it again if its request fails: the
   * first notification may arrive together with the response. Throws overloaded above `MAX_SUBSCRIPTIONS`.
   */
  subscribe(resource: Located, subscriber: Subscriber, send: SendSubscribe): Promise<unknown>;
  /**
   * Removes a subscription. Returns the connection to send `resources/unsubscribe` on; undefined if the server does not
   * know the subscription or other sessions still use it.
   */
  unsubscribe(resource: Located, holder: string): Connection | undefined;
  /** The URI that the session subscribed with, on connection `spoke` if given; undefined if it is not subscribed. */
  wanted(resource: Located, holder: string, spoke?: ConnectionInfo): string | undefined;
  /** True if the session is subscribed to a resource that contains this one. */
  wantsWhole(resource: Located, holder: string, spoke?: ConnectionInfo): boolean;
  /** True if a session is subscribed to a resource on this connection. */
  isOn(connection: Connection): boolean;
  /** Removes a session, and unsubscribes from the resources that no other session is subscribed to. */
  leave(holder: string): void;
  /** Moves the subscriptions of servers that were replaced or removed to the connections that take their place. */
  replaced(servers: readonly string[]): void;
  /**
   * Subscribes to the resources that sessions on this connection wait for and that its server was not asked for yet.
   * Called when the connection is ready, and when a session moves to it.
   */
  renew(connection: Connection): void;
}

/** Sends `resources/subscribe`; calls `routed` with the connection before it sends. */
export type SendSubscribe = (routed: (via: Connection) => void) => Promise<unknown>;

export interface Subscriber {
  /** The session, whose identity may change while it is subscribed. */
  client: { readonly identity: ClientIdentity };
  /** The URI in the client's request. */
  asked: string;
}

/** Maximum number of subscriptions of one session. */
const MAX_SUBSCRIPTIONS = 1000;
/** Stands for the conversation while the request of the client is under way. */
const REQUESTED = 'requested';

interface Subscription extends Subscriber {
  /**
   * The connection that carries the subscription, since a server may have one connection per session. Undefined while
   * no connection takes the place of a removed one.
   */
  via: Connection | undefined;
  /** The id of the conversation in which the server was asked; another conversation needs another request. */
  conversation: string | undefined;
}

export interface SubscriptionsDeps {
  pool: Pick<Pool, 'get'>;
  log: Log;
}

export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  return new SubscriptionTable(deps);
}

interface Resource extends Located {
  /** The subscription of each session. */
  holders: Map<string, Subscription>;
}

class SubscriptionTable implements Subscriptions {
  readonly #deps: SubscriptionsDeps;
  readonly #resources = new Map<string, Resource>();
  /** Number of subscriptions of each session. */
  readonly #counts = new Map<string, number>();

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  async subscribe(resource: Located, subscriber: Subscriber, send: SendSubscribe): Promise<unknown> {
    const { key: holder } = subscriber.client.identity;
    const before = this.#find(resource, holder);
    let added: Subscription | undefined;
    try {
      const result = await send((via) => {
        added = { ...subscriber, via, conversation: REQUESTED };
        this.#add(resource, holder, added);
      });
      // A reload may have moved the subscription meanwhile.
      if (added?.conversation === REQUESTED) added.conversation = carrierOf(added)?.handshake?.conversation;
      return result;
    } catch (error) {
      if (added !== undefined && this.#find(resource, holder) === added) {
        if (before === undefined) this.unsubscribe(resource, holder);
        else this.#add(resource, holder, before);
      }
      throw error;
    }
  }

  unsubscribe(resource: Located, holder: string): Connection | undefined {
    const entry = this.#resources.get(keyOf(resource));
    const subscription = entry?.holders.get(holder);
    if (entry === undefined || subscription === undefined) return undefined;
    entry.holders.delete(holder);
    this.#counts.set(holder, (this.#counts.get(holder) ?? 0) - 1);
    if (entry.holders.size === 0) this.#resources.delete(keyOf(resource));
    if (!isKnownToServer(subscription)) return undefined;
    const carrier = carrierOf(subscription);
    return [...entry.holders.values()].some((other) => carrierOf(other) === carrier) ? undefined : subscription.via;
  }

  wanted(resource: Located, holder: string, spoke?: ConnectionInfo): string | undefined {
    const subscription = this.#find(resource, holder);
    return isCarriedBy(spoke, subscription) ? subscription?.asked : undefined;
  }

  wantsWhole({ server, uri }: Located, holder: string, spoke?: ConnectionInfo): boolean {
    if ((this.#counts.get(holder) ?? 0) === 0) return false;
    for (const whole of this.#of(server)) {
      if (isWithin(uri, whole.uri) && isCarriedBy(spoke, whole.holders.get(holder))) return true;
    }
    return false;
  }

  isOn(connection: Connection): boolean {
    for (const { holders } of this.#of(connection.name)) {
      for (const one of holders.values()) if (carrierOf(one) === connection) return true;
    }
    return false;
  }

  leave(holder: string): void {
    for (const { server, uri, holders } of [...this.#resources.values()]) {
      if (!holders.has(holder)) continue;
      const via = this.unsubscribe({ server, uri }, holder);
      if (via === undefined) continue;
      void requestInBackground(via, { method: 'resources/unsubscribe', params: { uri } }, this.#deps.log);
    }
    this.#counts.delete(holder);
  }

  replaced(servers: readonly string[]): void {
    for (const server of servers) this.#place(server, () => true);
  }

  renew(connection: Connection): void {
    this.#place(connection.name, ({ via }) => via === undefined);
    if (connection.state.kind !== 'ready') return;
    for (const resource of this.#of(connection.name)) this.#renew(resource, connection);
  }

  /** Selects the connections of these subscriptions anew, and connects those that are not ready. */
  #place(server: string, isMoved: (subscription: Subscription) => boolean): void {
    const carriers = new Set<Connection | undefined>();
    for (const { holders } of this.#of(server)) {
      for (const one of [...holders.values()].filter(isMoved)) {
        one.via = this.#deps.pool.get(server, one.client.identity);
        one.conversation = undefined;
        carriers.add(carrierOf(one));
      }
    }
    for (const carrier of carriers) {
      if (carrier?.state.kind === 'ready') this.renew(carrier);
      else wake(carrier);
    }
  }

  #renew({ uri, holders }: Resource, connection: Connection): void {
    const conversation = connection.handshake?.conversation;
    const lacking = [...holders.values()].filter(
      (one) => ![REQUESTED, conversation].includes(one.conversation) && carrierOf(one) === connection,
    );
    const [first] = lacking;
    if (first === undefined) return;
    for (const one of lacking) one.conversation = conversation;
    const client = first.client.identity;
    const request = { method: 'resources/subscribe', params: { uri }, client, bypassQueue: true };
    void requestInBackground(connection, request, this.#deps.log).then((isAccepted) => {
      if (isAccepted) return;
      // The next conversation may accept the subscription.
      for (const one of lacking) if (one.conversation === conversation) one.conversation = undefined;
    });
  }

  *#of(server: string): Generator<Resource> {
    for (const resource of this.#resources.values()) if (resource.server === server) yield resource;
  }

  #find(resource: Located, holder: string): Subscription | undefined {
    return this.#resources.get(keyOf(resource))?.holders.get(holder);
  }

  #add(resource: Located, holder: string, subscription: Subscription): void {
    const entry = this.#resources.get(keyOf(resource)) ?? { ...resource, holders: new Map<string, Subscription>() };
    const count = (this.#counts.get(holder) ?? 0) + (entry.holders.has(holder) ? 0 : 1);
    if (count > MAX_SUBSCRIPTIONS) throw tooMany();
    this.#counts.set(holder, count);
    entry.holders.set(holder, subscription);
    this.#resources.set(keyOf(resource), entry);
  }
}

function keyOf({ server, uri }: Located): string {
  return JSON.stringify([server, uri]);
}

/** Connects in the background; the connection records a failure in its state and retries. */
function wake(connection: Connection | undefined): void {
  connection?.connect().catch(() => undefined);
}

/** Returns the connection that a subscription is on now, behind the view that its session uses. */
function carrierOf({ via }: Subscription): Connection | undefined {
  return via?.base?.() ?? via;
}

/** True if the subscription exists and is on connection `spoke`, if given. */
function isCarriedBy(spoke: ConnectionInfo | undefined, one: Subscription | undefined): boolean {
  return one !== undefined && (spoke === undefined || carrierOf(one) === spoke);
}

/** True if the server was asked for the subscription in the conversation that is open now. */
function isKnownToServer(one: Subscription): boolean {
  if (one.conversation === REQUESTED) return true;
  const { state, handshake } = carrierOf(one) ?? {};
  return state?.kind === 'ready' && one.conversation !== undefined && one.conversation === handshake?.conversation;
}

function tooMany(): McpxError {
  return new McpxError('overloaded', 'this client is subscribed to too many resources', {
    hint: 'unsubscribe from what is no longer needed',
  });
}
