/** A channel for both eras: adds the `_meta` fields of modern requests and holds the subscription to list changes. */
import { RpcError } from '../../errors.ts';
import type { EnvelopeMeta } from '../../mcp/envelope.ts';
import { HEADER_MISMATCH } from '../../mcp/error-codes.ts';
import { SlotMap } from '../../slot-map.ts';
import {
  type Id,
  isId,
  isRecord,
  isRequest,
  isResponse,
  type Message,
  type Params,
  type RpcRequest,
} from '../../wire/message.ts';
import type { Channel, Receiver } from '../../wire/peer.ts';
import { createListening, type Listening } from './listen-stream.ts';

const MAX_PAGES = 100;

export interface EraChannel extends Channel {
  /** Sets the era: with an envelope all further requests are modern, without one they are legacy. */
  speak(envelope: EnvelopeMeta | undefined): void;
  /**
   * Subscribes to list changes, and again whenever the subscription ends. Does nothing if the upstream reports no
   * changes.
   */
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
  #envelope: EnvelopeMeta | undefined;
  readonly #listening: Listening;
  /** Tool calls that have no response yet. */
  readonly #calls = new SlotMap<RpcRequest>();
  /** Held calls by the id of the list request that they wait for. */
  readonly #held = new Map<Id, Held>();
  #lists = 0;

  constructor(inner: Channel) {
    this.#inner = inner;
    this.#listening = createListening({
      send: (message) => this.send(message),
      answer: (id, outcome) => this.#answer(id, outcome),
      // These notifications belong to no call.
      news: (message) => this.#receiver?.message(message),
    });
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#inner.start({
      message: (message, origin) => this.#message(message, origin),
      // Modern messages are always parsed, so large ones are not passed through unparsed.
      large: (pieces, origin) => !this.#envelope && (receiver.large?.(pieces, origin) ?? false),
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

  #request(request: RpcRequest, envelope: EnvelopeMeta): void {
    const { id, method, params } = request;
    // The modern era has no such requests: updates come with the subscription, and each request carries its log level.
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

  speak(envelope: EnvelopeMeta | undefined): void {
    this.#envelope = envelope;
  }

  listen(capabilities: Record<string, unknown>): void {
    this.#listening.lists(capabilities);
  }

  /** Delivers a response asynchronously: the peer registers the request only after send() returns. */
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

  /** Sends the held call for the second and last time, now that the transport has seen all pages of the list. */
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

/**
 * Returns true if the call was refused because its headers do not match: the transport did not know the tool's header
 * parameters.
 */
function isMismatch(error: Error): boolean {
  return error instanceof RpcError && error.code === HEADER_MISMATCH;
}

/** Adds the envelope to `_meta`; fields that the request already has take precedence. */
function withMeta<T extends Message & { params?: Params }>(message: T, envelope: EnvelopeMeta): T {
  const meta = message.params?._meta;
  return { ...message, params: { ...message.params, _meta: { ...envelope, ...(isRecord(meta) ? meta : {}) } } };
}
