/** Detects the transport of a URL without a type: Streamable HTTP first, then HTTP+SSE if the upstream refuses. */
import { messageOf, RpcError } from '../../errors.ts';
import { UNSUPPORTED_VERSION } from '../../mcp/error-codes.ts';
import { isRequest, type Message, type RpcRequest } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { undelivered } from '../../wire/undelivered.ts';
import {
  type LaunchOf,
  type Refusable,
  STOP_FAST,
  type StopBounds,
  type Transport,
  type TransportOptions,
} from './transport.ts';

type Kind = 'http' | 'sse';

type Open = (kind: Kind) => Promise<Refusable>;

/**
 * Statuses of the first response after which the other transport is tried.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
 */
const WRONG_KIND: readonly (number | undefined)[] = [400, 404, 405];

export async function openAuto(launch: LaunchOf<'auto'>, options: TransportOptions): Promise<Transport> {
  const open: Open = async (kind) =>
    kind === 'http'
      ? (await import('./http.ts')).openHttp(launch, options)
      : (await import('./sse.ts')).openSse(launch, options);
  const first = options.remembered === 'sse' ? 'sse' : 'http';
  return new AutoTransport(options.name, first, await open(first), open);
}

class AutoTransport implements Transport {
  readonly #name: string;
  readonly #open: Open;
  #kind: Kind;
  #inner: Refusable;
  #receiver: Receiver | undefined;
  /** The pending `initialize` request while the transport is not yet detected. */
  #initialize: RpcRequest | undefined;
  /** The error with which the first transport was refused. */
  #refusal: Error | undefined;
  #switching: Promise<void> | undefined;
  #closed = false;

  constructor(name: string, kind: Kind, inner: Refusable, open: Open) {
    this.#name = name;
    this.#kind = kind;
    this.#inner = inner;
    this.#open = open;
  }

  get found(): Kind {
    return this.#kind;
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#listen(this.#inner);
  }

  send(message: Message): void {
    if (this.#closed || this.#switching) throw undelivered(`the connection to server "${this.#name}" is closed`);
    if (isRequest(message) && message.method === 'initialize') this.#initialize = message;
    this.#inner.send(message);
  }

  async close(bounds?: StopBounds): Promise<void> {
    this.#closed = true;
    await this.#switching;
    await this.#inner.close(bounds);
  }

  #listen(inner: Refusable): void {
    const current = () => inner === this.#inner;
    inner.start({
      message: (message, origin) => {
        if ('id' in message && message.id === this.#initialize?.id) this.#initialize = undefined;
        if (current()) this.#receiver?.message(message, origin);
      },
      large: (pieces, origin) => current() && (this.#receiver?.large?.(pieces, origin) ?? false),
      invalid: (reason) => current() && this.#receiver?.invalid(reason),
      failed: (id, error) => {
        if (!this.#retry(inner, error)) this.#receiver?.failed?.(id, this.#refusal ?? error);
      },
      closed: (error) => {
        if (current() && !this.#retry(inner, error)) this.#receiver?.closed(this.#refusal ?? error);
      },
    });
  }

  /** Switches to the other transport; returns false if there is none left to try. */
  #retry(inner: Refusable, error: Error | undefined): boolean {
    const request = this.#initialize;
    const wrong = WRONG_KIND.includes(inner.refused) && !isModernRefusal(error);
    if (inner !== this.#inner || !request || !wrong || this.#refusal || this.#closed) return false;
    this.#refusal = error;
    this.#switching = this.#switch(request).finally(() => {
      this.#switching = undefined;
    });
    return true;
  }

  async #switch(request: RpcRequest): Promise<void> {
    const refused = this.#inner;
    try {
      this.#kind = this.#kind === 'http' ? 'sse' : 'http';
      this.#inner = await this.#open(this.#kind);
      await refused.close(STOP_FAST);
      this.#listen(this.#inner);
      if (!this.#closed) this.#inner.send(request);
    } catch (error) {
      this.#receiver?.invalid(messageOf(error));
      this.#receiver?.failed?.(request.id, this.#refusal ?? undelivered(messageOf(error)));
    }
  }
}

/** Returns true if an upstream of the modern era refused our version: the status then does not indicate HTTP+SSE. */
function isModernRefusal(error: Error | undefined): boolean {
  return error instanceof RpcError && error.code === UNSUPPORTED_VERSION;
}
