/** A channel in either era: the fields that every modern request carries, and the subscription that brings changes of lists. */
import { RpcError } from '../errors.ts';
import { InFlight } from '../in-flight.ts';
import { VERSION } from '../version.ts';
import {
  HEADER_MISMATCH,
  type Id,
  isId,
  isRecord,
  isRequest,
  isResponse,
  type Message,
  type Params,
  type RpcRequest,
} from '../wire/message.ts';
import type { Channel, Receiver } from '../wire/peer.ts';
import type { Introduction } from './era.ts';
import { createListening, type Listening } from './listening.ts';
import { META, MODERN_VERSION, VERSION_META } from './revisions.ts';

const MAX_PAGES = 100;

/** The part of `_meta` that says who we are; without it no modern request is answered. */
export type Envelope = Record<string, unknown>;

export function envelopeOf({ capabilities, clientInfo, logLevel }: Introduction & { logLevel?: string }): Envelope {
  return {
    [VERSION_META]: MODERN_VERSION,
    [`${META}clientCapabilities`]: capabilities,
    [`${META}clientInfo`]: clientInfo ?? { name: 'mcpx', version: VERSION },
    ...(logLevel !== undefined && { [`${META}logLevel`]: logLevel }),
  };
}

/** Whether a request is one of the modern era. */
export function isModern(message: Message): boolean {
  if (!isRequest(message)) return false;
  const meta = message.params?._meta;
  return isRecord(meta) && meta[VERSION_META] === MODERN_VERSION;
}

export interface EraChannel extends Channel {
  /** With an envelope, requests are modern ones from now on; without, legacy ones. */
  speak(envelope: Envelope | undefined): void;
  /** Asks to be told when lists change, and again whenever that ends. Does nothing where the upstream has no such list. */
  listen(capabilities: Record<string, unknown>): void;
}

export function createEraChannel(inner: Channel): EraChannel {
  return new TwoEras(inner);
}

/** A call that waits until the transport has seen the list of tools. */
interface Held {
  call: RpcRequest;
  refusal: Error;
  pages: number;
}

class TwoEras implements EraChannel {
  readonly #inner: Channel;
  #receiver: Receiver | undefined;
  #envelope: Envelope | undefined;
  readonly #listening: Listening;
  /** Calls of tools without an answer. */
  readonly #calls = new InFlight<RpcRequest>();
  /** By the id of the list that is asked for on their behalf. */
  readonly #held = new Map<Id, Held>();
  #lists = 0;

  constructor(inner: Channel) {
    this.#inner = inner;
    this.#listening = createListening({
      send: (message) => this.send(message),
      answer: (id, outcome) => this.#answer(id, outcome),
      // It belongs to no call.
      news: (message) => this.#receiver?.message(message),
    });
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#inner.start({
      message: (message, origin) => this.#message(message, origin),
      // Whatever is said in the modern era is looked at.
      large: (pieces) => !this.#envelope && (receiver.large?.(pieces) ?? false),
      invalid: (reason) => receiver.invalid(reason),
      failed: (id, error) => this.#failed(id, error),
      closed: (error) => {
        this.#listening.stop();
        receiver.closed(error);
      },
    });
  }

  send(message: Message): void {
    if (this.#envelope && isRequest(message)) {
      this.#request(message, this.#envelope);
      return;
    }
    this.#inner.send(message);
    if (!this.#envelope || !('method' in message)) return;
    if (message.method === 'notifications/cancelled') this.#forget(message.params?.requestId);
  }

  #request(request: RpcRequest, envelope: Envelope): void {
    const { id, method, params } = request;
    // What this era has no request for: news come with the subscription, and a level with each request.
    if (method === 'resources/subscribe') this.#listening.subscribe(id, params?.uri);
    else if (method === 'resources/unsubscribe') this.#listening.unsubscribe(id, params?.uri);
    else if (method === 'logging/setLevel') this.#answer(id, { result: {} });
    else {
      const full = withMeta(request, envelope);
      this.#inner.send(full);
      if (method === 'tools/call') this.#calls.set(id, full);
    }
  }

  close(): Promise<void> {
    this.#listening.stop();
    return this.#inner.close();
  }

  speak(envelope: Envelope | undefined): void {
    this.#envelope = envelope;
  }

  listen(capabilities: Record<string, unknown>): void {
    this.#listening.lists(capabilities);
  }

  /** Never before the request has been taken. */
  #answer(id: Id, outcome: { result: Params } | { error: Error }): void {
    queueMicrotask(() => {
      if ('error' in outcome) this.#receiver?.failed?.(id, outcome.error);
      else this.#receiver?.message({ jsonrpc: '2.0', id, ...outcome });
    });
  }

  #message(message: Message, origin: Id | undefined): void {
    if (!this.#envelope) {
      this.#receiver?.message(message, origin);
      return;
    }
    const answered = isResponse(message) && isId(message.id) ? message.id : undefined;
    const held = answered === undefined ? undefined : this.#held.get(answered);
    if (answered !== undefined) this.#calls.delete(answered);
    if (answered !== undefined && held && isResponse(message)) this.#listed(answered, held, message.result);
    else if (!this.#listening.concerns(message, origin)) this.#receiver?.message(message, origin);
  }

  #failed(id: Id, error: Error): void {
    const held = this.#held.get(id);
    const call = this.#calls.get(id);
    this.#held.delete(id);
    this.#calls.delete(id);
    if (this.#listening.failed(id, error)) return;
    if (held) this.#receiver?.failed?.(held.call.id, held.refusal);
    else if (call && isMismatch(error)) this.#list({ call, refusal: error, pages: 0 });
    else this.#receiver?.failed?.(id, error);
  }

  #list(held: Held, cursor?: unknown): void {
    const id = `mcpx-list-${++this.#lists}`;
    this.#held.set(id, held);
    try {
      this.send({ jsonrpc: '2.0', id, method: 'tools/list', params: cursor === undefined ? {} : { cursor } });
    } catch {
      this.#failed(id, held.refusal);
    }
  }

  /** The transport has seen the list; what it knows now decides how the call fares the second and last time. */
  #listed(id: Id, { call, refusal, pages }: Held, result: unknown): void {
    this.#held.delete(id);
    const cursor = isRecord(result) ? result.nextCursor : undefined;
    if (typeof cursor === 'string' && pages < MAX_PAGES) {
      this.#list({ call, refusal, pages: pages + 1 }, cursor);
      return;
    }
    try {
      this.#inner.send(call);
    } catch (error) {
      this.#receiver?.failed?.(call.id, error as Error);
    }
  }

  #forget(cancelled: unknown): void {
    if (isId(cancelled)) this.#calls.delete(cancelled);
    for (const [id, { call }] of this.#held) if (call.id === cancelled) this.#held.delete(id);
  }
}

/** The call did not run, for the transport does not know yet what the tool wants in headers. */
function isMismatch(error: Error): boolean {
  return error instanceof RpcError && error.code === HEADER_MISMATCH;
}

/** A request that says by itself on whose behalf it is sent keeps that. */
function withMeta<T extends Message & { params?: Params }>(message: T, envelope: Envelope): T {
  const meta = message.params?._meta;
  return { ...message, params: { ...message.params, _meta: { ...envelope, ...(isRecord(meta) ? meta : {}) } } };
}
