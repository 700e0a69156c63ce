/** The single `subscriptions/listen` request to a modern server: brings list changes and updates of subscribed resources. */
import { RpcError } from '../../errors.ts';
import { type Id, isRecord, isResponse, type Message, type Params } from '../../wire/message.ts';

const META = 'io.modelcontextprotocol/subscriptionId';
const PREFIX = 'mcpx-listen-';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
/** Milliseconds before an ended subscription is renewed; doubled each time it ends without an acknowledgement. */
const INTERVAL = 1000;
const LONGEST_INTERVAL = 60_000;
const NOT_SUBSCRIBABLE = -32602;

export interface ListeningOptions {
  /** Sends a message; throws if the connection cannot send. */
  send(message: Message): void;
  /** Answers a legacy request (subscribe, unsubscribe) that a modern server does not have. */
  answer(id: Id, outcome: { result: Params } | { error: Error }): void;
  /** Receives a notification of the subscription. */
  news(message: Message): void;
}

export interface Listening {
  /** Subscribes to the changes of lists that the capabilities announce. */
  lists(capabilities: Record<string, unknown>): void;
  /** Adds a resource to the subscription; answers request `id` once the server acknowledges it. */
  subscribe(id: Id, uri: unknown): void;
  unsubscribe(id: Id, uri: unknown): void;
  /** Returns true if the message belongs to the subscription and has been handled here. */
  concerns(message: Message, origin: Id | undefined): boolean;
  /** Returns true if the failed request was a subscription of this class. */
  failed(id: Id, error: Error): boolean;
  stop(): void;
}

/** A subscription that was requested and is not acknowledged yet. */
interface Stream {
  id: Id;
  /** Requests that are answered when the subscription is acknowledged. */
  waiting: Map<Id, string>;
}

export function createListening(options: ListeningOptions): Listening {
  return new OneStream(options);
}

class OneStream implements Listening {
  readonly #options: ListeningOptions;
  #lists: Params = {};
  readonly #uris = new Set<string>();
  /** Requests that are part of the next subscription. */
  #waiting = new Map<Id, string>();
  /** Requests that were refused together; each of them is then tried alone. */
  readonly #doubted = new Map<Id, string>();
  /** The acknowledged subscription (`#open`), and the requested one that will replace it (`#next`). */
  #open: Id | undefined;
  #next: Stream | undefined;
  #streams = 0;
  #fruitless = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
  }

  lists(capabilities: Record<string, unknown>): void {
    const names = ['tools', 'prompts', 'resources'].filter((name) => {
      const capability = capabilities[name];
      return isRecord(capability) && capability.listChanged === true;
    });
    this.#lists = Object.fromEntries(names.map((name) => [`${name}ListChanged`, true]));
    if (names.length > 0) this.#begin();
  }

  subscribe(id: Id, uri: unknown): void {
    this.#uris.add(String(uri));
    this.#waiting.set(id, String(uri));
    this.#renew();
  }

  unsubscribe(id: Id, uri: unknown): void {
    if (this.#uris.delete(String(uri))) this.#renew();
    this.#options.answer(id, { result: {} });
  }

  concerns(message: Message, origin: Id | undefined): boolean {
    const id = isResponse(message) ? message.id : (origin ?? subscriptionOf(message));
    if (!isOurs(id)) return false;
    if (isResponse(message)) {
      this.#ended(id, message.error && new RpcError(message.error.code, message.error.message));
    } else if (message.method === ACKNOWLEDGED) this.#acknowledged(id, message.params);
    else if (message.method === 'notifications/cancelled') this.#ended(id, undefined);
    // Notifications of a replaced subscription are dropped: the open one delivers them too.
    else if (id === (this.#open ?? this.#next?.id)) this.#options.news(withoutSubscription(message));
    return true;
  }

  failed(id: Id, error: Error): boolean {
    if (!isOurs(id)) return false;
    this.#ended(id, error);
    return true;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
  }

  /** Requests within one turn of the event loop are combined into one subscription. */
  #renew(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#begin();
    });
  }

  #begin(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    const resources = this.#uris.size > 0 ? { resourceSubscriptions: [...this.#uris] } : {};
    const notifications = { ...this.#lists, ...resources };
    const waiting = new Map([...(this.#next?.waiting ?? []), ...this.#waiting]);
    this.#waiting = new Map();
    this.#cancel(this.#next?.id);
    this.#next = undefined;
    if (Object.keys(notifications).length === 0) {
      this.#cancel(this.#open);
      this.#open = undefined;
      return;
    }
    this.#next = { id: `${PREFIX}${++this.#streams}`, waiting };
    const { id } = this.#next;
    try {
      this.#options.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications } });
    } catch (error) {
      this.#ended(id, error as Error);
    }
  }

  #acknowledged(id: Id, params: Params = {}): void {
    if (id !== this.#next?.id) return;
    const { waiting } = this.#next;
    this.#cancel(this.#open);
    this.#open = id;
    this.#next = undefined;
    this.#fruitless = 0;
    const { notifications } = params;
    const granted = isRecord(notifications) ? notifications.resourceSubscriptions : [];
    for (const [request, uri] of waiting) {
      if (Array.isArray(granted) && granted.includes(uri)) this.#options.answer(request, { result: {} });
      else this.#refuse(request, uri, new RpcError(NOT_SUBSCRIBABLE, 'this resource cannot be subscribed to', { uri }));
    }
    this.#tryDoubted();
  }

  /** Tries the next of the requests that were refused together. */
  #tryDoubted(): void {
    const [first] = this.#doubted;
    if (first === undefined) return;
    const [request, uri] = first;
    this.#doubted.delete(request);
    this.#uris.add(uri);
    this.#waiting.set(request, uri);
    this.#begin();
  }

  #refuse(request: Id, uri: string, error: Error): void {
    this.#uris.delete(uri);
    this.#options.answer(request, { error });
  }

  #ended(id: Id, error: Error | undefined): void {
    if (id === this.#open) this.#open = undefined;
    else if (id !== this.#next?.id) return;
    else {
      const { waiting } = this.#next;
      this.#next = undefined;
      if (error instanceof RpcError) {
        this.#refused(waiting, error);
        return;
      }
      const refusal = error ?? new RpcError(NOT_SUBSCRIBABLE, 'the server ended the subscription');
      for (const [request, uri] of [...waiting, ...this.#doubted]) this.#refuse(request, uri, refusal);
      this.#doubted.clear();
    }
    this.#beginLater();
  }

  /** Handles an RPC error, which would occur again: only the resource at fault is removed. */
  #refused(waiting: Map<Id, string>, error: RpcError): void {
    if (waiting.size > 1) {
      for (const [request, uri] of waiting) {
        this.#uris.delete(uri);
        this.#doubted.set(request, uri);
      }
    } else for (const [request, uri] of waiting) this.#refuse(request, uri, error);
    if (this.#doubted.size > 0) this.#tryDoubted();
    else if (waiting.size > 0 && this.#open === undefined) this.#begin();
    // The same resources were granted before, so the subscription is tried again later.
    else if (this.#uris.size > 0) this.#beginLater();
  }

  #beginLater(): void {
    // A replacement is already open or requested.
    if (this.#stopped || this.#open !== undefined || this.#next) return;
    const wait = Math.min(INTERVAL * 2 ** this.#fruitless++, LONGEST_INTERVAL);
    this.#timer = setTimeout(() => this.#begin(), wait);
    this.#timer.unref();
  }

  #cancel(id: Id | undefined): void {
    if (id === undefined) return;
    const params = { requestId: id, reason: 'another subscription took its place' };
    try {
      this.#options.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    } catch {
      // The connection has ended, so no cancellation is needed.
    }
  }
}

function isOurs(id: unknown): id is Id {
  return typeof id === 'string' && id.startsWith(PREFIX);
}

function subscriptionOf({ method, params }: { method: string; params?: Params }): unknown {
  if (method === 'notifications/cancelled') return params?.requestId;
  return isRecord(params?._meta) ? params._meta[META] : undefined;
}

/** Returns the notification without its subscription id, which only concerns mcpx and the server. */
function withoutSubscription<T extends { params?: Params }>(message: T): T {
  if (!isRecord(message.params?._meta)) return message;
  const { _meta, ...params } = message.params;
  const { [META]: _, ...rest } = _meta as Params;
  return { ...message, params: Object.keys(rest).length === 0 ? params : { ...params, _meta: rest } };
}
