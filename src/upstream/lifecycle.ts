/** The life of one upstream: idle · connecting · ready · backoff · closed; one start however many ask, and no two at a time. */
import { McpxError, messageOf, toMcpxError } from '../errors.ts';
import type { PeerHandlers } from '../wire/peer.ts';
import type { ConnectionOptions, ConnectionState, Hello } from './connection.ts';
import { retryDelay } from './health.ts';
import { type Link, openLink } from './link.ts';
import { STOP, STOP_FAST, type StopBounds, type Transport } from './transport.ts';

export type LifecycleOptions = ConnectionOptions & {
  handlers: Pick<PeerHandlers, 'request' | 'notification' | 'invalid'>;
};

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #name: string;
  readonly #closing = new AbortController();
  /** Transports that have not been stopped completely. */
  readonly #alive = new Set<Transport>();
  #state: ConnectionState = { kind: 'idle' };
  #hello: Hello | undefined;
  #link: Link | undefined;
  #latest: Transport | undefined;
  #starting: Promise<Link> | undefined;
  /** The stop of the transport before, which the next start waits for. */
  #stopped: Promise<void> = Promise.resolve();
  /** Why the last start failed. */
  #failure: McpxError | undefined;
  #failures = 0;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#name = options.spec.name;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The open conversation, if there is one. */
  get link(): Link | undefined {
    return this.#link;
  }

  get hello(): Hello | undefined {
    return this.#hello;
  }

  /** The last transport that was opened, also after its end. */
  get latest(): Transport | undefined {
    return this.#latest;
  }

  open(): Promise<Link> {
    if (this.#link) return Promise.resolve(this.#link);
    if (this.#starting) return this.#starting;
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    this.#enter({ kind: 'connecting', since: Date.now() });
    this.#starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Gives up a conversation that no longer works; what is under way on it may still come to its end. */
  drop(link: Link, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    // A process that cannot be written to is done; over HTTP other calls may still be answered, and the transport ends by itself.
    if (link.transport.pid !== undefined) this.#stopped = this.#stop(link.transport, STOP_FAST);
    this.#options.log.info(`server "${this.#name}" will be connected again: ${reason}`);
    this.#enter({ kind: 'backoff', until: Date.now(), failures: 0, reason });
  }

  async close(bounds: StopBounds = STOP): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    if (this.#state.kind !== 'closed') this.#enter({ kind: 'closed' });
    this.#closing.abort();
    // The transports first, for they take the bounds; the peer then fails what is in flight.
    const stops = this.#stopAll(bounds);
    void link?.peer.close();
    await this.#starting?.catch(() => undefined);
    await Promise.all([stops, this.#stopAll(bounds)]);
  }

  killNow(): void {
    for (const transport of this.#alive) transport.killNow?.();
  }

  /** Why there is no use in trying now. */
  #refusal(): McpxError | undefined {
    const state = this.#state;
    if (state.kind === 'closed') return this.#failure ?? stopped(this.#name);
    if (state.kind !== 'backoff' || !this.#failure) return undefined;
    const wait = state.until - Date.now();
    if (wait <= 0) return undefined;
    const { code, message, hint } = this.#failure;
    return new McpxError(code, `${message}; next try in ${Math.ceil(wait / 1000)} s`, { hint, cause: this.#failure });
  }

  async #start(): Promise<Link> {
    const { starts } = this.#options;
    try {
      await this.#stopped;
      const turn = starts?.enter({ signal: this.#closing.signal });
      if (turn) await turn;
      try {
        return this.#began(await this.#launch());
      } finally {
        starts?.leave();
      }
    } catch (error) {
      throw this.#failed(toMcpxError(error));
    }
  }

  async #launch(): Promise<Link> {
    let transport: Transport | undefined;
    let lost: Error | undefined;
    const { spec, settings, log, handlers } = this.#options;
    const opened = (one: Transport) => {
      transport = one;
      this.#latest = one;
      this.#alive.add(one);
    };
    const closed = (error?: Error) => {
      lost = error ?? new McpxError('unreachable', `server "${this.#name}" ended the connection`);
      if (transport) this.#lost(transport, lost.message);
    };
    const signal = this.#closing.signal;
    const link = await openLink({ spec, settings, log, signal, opened, handlers: { ...handlers, closed } });
    if (lost) throw lost;
    return link;
  }

  #began(link: Link): Link {
    this.#link = link;
    this.#hello = link.hello;
    this.#failure = undefined;
    this.#failures = 0;
    this.#enter({ kind: 'ready', since: Date.now() });
    return link;
  }

  #failed(failure: McpxError): McpxError {
    if (this.#state.kind === 'closed') return stopped(this.#name);
    this.#failure = failure;
    if (this.#latest && this.#alive.has(this.#latest)) this.#stopped = this.#stop(this.#latest, STOP_FAST);
    const { message: reason, hint } = failure;
    this.#options.log.warn(reason, { hint });
    if (failure.code === 'config') {
      // Nothing that happens outside repairs the config.
      this.#enter({ kind: 'closed', reason });
      return failure;
    }
    this.#failures += 1;
    const until = Date.now() + retryDelay(this.#failures, this.#options.spec.reconnect.interval);
    this.#enter({ kind: 'backoff', until, failures: this.#failures, reason });
    return failure;
  }

  /** The far side is gone: a running conversation is over, the next call begins another. */
  #lost(transport: Transport, reason: string): void {
    // Our own close stops it within its own bounds.
    if (this.#state.kind === 'closed') return;
    this.#stopped = this.#stop(transport, STOP_FAST);
    if (this.#link?.transport !== transport) return;
    this.#link = undefined;
    this.#options.log.warn(reason);
    this.#enter({ kind: 'backoff', until: Date.now(), failures: 0, reason });
  }

  async #stopAll(bounds: StopBounds): Promise<void> {
    await Promise.all([...this.#alive].map((transport) => this.#stop(transport, bounds)));
  }

  async #stop(transport: Transport, bounds: StopBounds): Promise<void> {
    try {
      await transport.close(bounds);
    } catch (error) {
      this.#options.log.debug(`stopping failed: ${messageOf(error)}`, { server: this.#name });
    }
    this.#alive.delete(transport);
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    try {
      this.#options.events?.state?.(state);
    } catch (error) {
      this.#options.log.debug(`a listener failed: ${messageOf(error)}`, { server: this.#name });
    }
  }
}

function stopped(name: string): McpxError {
  return new McpxError('unreachable', `server "${name}" is stopped`);
}
