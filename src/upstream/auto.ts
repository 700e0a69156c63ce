/** A URL without a type: Streamable HTTP, and the old SSE transport where the upstream refuses that; one at a time. */
import { messageOf, RpcError } from '../errors.ts';
import { isRequest, type Message, type RpcRequest, UNSUPPORTED_VERSION } from '../wire/message.ts';
import type { Receiver } from '../wire/peer.ts';
import { undelivered } from '../wire/undelivered.ts';
import { type LaunchOf, STOP_FAST, type StopBounds, type Transport, type TransportOptions } from './transport.ts';

type Kind = 'http' | 'sse';

/** A transport that knows the HTTP status with which it was refused. */
export interface Refusable extends Transport {
  readonly refused: number | undefined;
}

type Open = (kind: Kind) => Promise<Refusable>;

/** Answers to the first request that mean: try the other one. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility */
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
  /** Sent and not answered yet, while it is not known which kind it is. */
  #initialize: RpcRequest | undefined;
  /** Why the first kind was refused. */
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
      invalid: (reason) => current() && this.#receiver?.invalid(reason),
      failed: (id, error) => {
        if (!this.#retry(inner, error)) this.#receiver?.failed?.(id, this.#refusal ?? error);
      },
      closed: (error) => {
        if (current() && !this.#retry(inner, error)) this.#receiver?.closed(this.#refusal ?? error);
      },
    });
  }

  /** False when there is nothing else to try. */
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

/** The statuses of the wrong kind with this error come from an upstream of the modern era, which is no older one. */
function isModernRefusal(error: Error | undefined): boolean {
  return error instanceof RpcError && error.code === UNSUPPORTED_VERSION;
}
