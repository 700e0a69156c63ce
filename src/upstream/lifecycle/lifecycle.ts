/** State machine of one upstream (idle, connecting, ready, backoff, closed) with single-flight starts. */
import { McpxError, messageOf, toMcpxError } from '../../errors.ts';
import type { PeerHandlers } from '../../wire/peer.ts';
import type { ConnectionState } from '../connection-interface.ts';
import type { ConnectionOptions } from '../connection-options.ts';
import type { Handshake } from '../handshake.ts';
import { isTerminal } from '../process/process-errors.ts';
import { STOP, STOP_FAST, type StopBounds, type Transport } from '../transports/transport.ts';
import { type Breaker, seconds } from './breaker.ts';
import { type LinkOptions, openLink } from './connect.ts';
import { type DelayedStart, startLater } from './delayed-start.ts';
import { stopped, withRemedy } from './lifecycle-errors.ts';
import type { Link } from './link.ts';
import { createOpenTransports, type OpenTransports } from './open-transports.ts';
import { pauseAfter, STABLE_AFTER } from './retry-delay.ts';
import { inStartSlot } from './start-slot.ts';

export type LifecycleOptions = Omit<ConnectionOptions, 'events'> & {
  entered(state: ConnectionState): void;
  handlers: Pick<PeerHandlers, 'request' | 'notification' | 'invalid'>;
  stepped: LinkOptions['stepped'];
  /** Resolves when a start that is only for listing may go on; undefined if it need not wait. */
  place?(): Promise<void> | undefined;
  reserveSecond?: LinkOptions['reserveSecond'];
  breaker: Pick<Breaker, 'failed' | 'connected' | 'open' | 'refusal'>;
};

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #name: string;
  readonly #closing = new AbortController();
  readonly #openTransports: OpenTransports;
  #state: ConnectionState = { kind: 'idle' };
  #handshake: Handshake | undefined;
  #link: Link | undefined;
  #latest: Transport | undefined;
  #starting: Promise<Link> | undefined;
  #upcoming: DelayedStart<Link> | undefined;
  /** Resolves when the previous transport has stopped; the next start waits for it. */
  #stopped: Promise<void> = Promise.resolve();
  #interruption = new AbortController();
  /** The reason why the last start failed or the last connection ended. */
  #failure: McpxError | undefined;
  /** True if only the user can fix the cause of the last failed start. */
  #terminal = false;
  /** Consecutive failures: failed starts, and connections that ended too soon. */
  #failures = 0;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#name = options.spec.name;
    this.#openTransports = createOpenTransports(options);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The open connection; undefined if there is none. */
  get link(): Link | undefined {
    return this.#link;
  }

  get handshake(): Handshake | undefined {
    return this.#handshake;
  }

  /** The transport that was opened last, also after it has ended. */
  get latest(): Transport | undefined {
    return this.#latest;
  }

  /** Returns true if the connection was lost and an automatic reconnect is due within so many ms. */
  recovers(within: number): boolean {
    return this.#handshake !== undefined && this.#upcoming !== undefined && this.refusal(within) === undefined;
  }

  /** Connects, joins a pending start or waits for the next attempt. `within`: ms that the caller can wait. */
  open(within = Number.POSITIVE_INFINITY): Promise<Link> {
    if (this.#link) return Promise.resolve(this.#link);
    if (this.#starting) return this.#starting;
    const refusal = this.refusal(within);
    if (refusal) return Promise.reject(refusal);
    if (this.#upcoming) return this.#upcoming.promise;
    const wait = this.#wait();
    return wait > 0 ? this.#later(wait) : this.#begin();
  }

  /** Abandons a broken connection; requests that are pending on it may still be answered. */
  replace(link: Link, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    // A process with a broken pipe is stopped. An HTTP transport may still answer calls and ends by itself.
    if (link.transport.pid !== undefined) this.#stopped = this.#openTransports.stop(link.transport, STOP_FAST);
    this.#options.log.info(`server "${this.#name}" will be connected again: ${reason}`);
    this.#enter({ kind: 'backoff', until: Date.now(), failures: this.#failures, reason });
  }

  /** Closes a connection that failed; a reconnect follows after a pause. */
  fail(link: Link, failure: McpxError): void {
    if (this.#link !== link) return;
    this.#lost(link.transport, failure);
    void link.peer.close();
  }

  /** Stops an idle upstream; the next call restarts it. Resolves when it has ended. */
  stopIdle(): Promise<void> {
    const link = this.#link;
    if (!link) return this.#stopped;
    this.#link = undefined;
    this.#stopped = this.#openTransports.stop(link.transport, STOP);
    this.#failures = 0;
    this.#enter({ kind: 'idle' });
    void link.peer.close();
    return this.#stopped;
  }

  /**
   * Stops the process of a server that is only being listed. A pending start waits for its place and begins again; so
   * do pending lists, which may be repeated.
   */
  interrupt(): void {
    if (this.#state.kind === 'connecting') this.#interruption.abort();
    if (!this.#link) return;
    this.#options.log.info(`server "${this.#name}" has not answered its lists: it is listed again after the others`);
    void this.stopIdle();
  }

  async close(bounds: StopBounds = STOP): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    if (this.#state.kind !== 'closed') this.#enter({ kind: 'closed' });
    this.#closing.abort();
    this.#upcoming?.cancel(stopped(this.#name));
    this.#upcoming = undefined;
    // The transports close first because they take the bounds; the peer then rejects pending requests.
    const stops = this.#openTransports.stopAll(bounds);
    void link?.peer.close();
    await this.#starting?.catch(() => undefined);
    await Promise.all([stops, this.#openTransports.stopAll(bounds)]);
  }

  killNow(): void {
    this.#openTransports.killNow();
  }

  /** Returns the milliseconds until the next attempt. */
  #wait(): number {
    return this.#state.kind === 'backoff' ? this.#state.until - Date.now() : 0;
  }

  /** Returns an error if no connection is possible within so many ms. */
  refusal(within: number): McpxError | undefined {
    const { state } = this;
    if (state.kind === 'closed') return state.reason === undefined ? stopped(this.#name) : this.#failure;
    const wait = this.#wait();
    const failure = this.#failure;
    if (wait <= 0 || !failure) return undefined;
    if (this.#options.breaker.open) return this.#options.breaker.refusal();
    if (wait <= within && !this.#terminal) return undefined;
    const { code, message, hint } = failure;
    return new McpxError(code, `${message}; next try in ${seconds(wait)}`, { hint, cause: failure });
  }

  #later(wait: number): Promise<Link> {
    this.#upcoming = startLater(wait, () => {
      this.#upcoming = undefined;
      return this.#begin();
    });
    return this.#upcoming.promise;
  }

  #begin(): Promise<Link> {
    this.#enter({ kind: 'connecting', since: Date.now() });
    this.#starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<Link> {
    for (;;) {
      await this.#stopped;
      await this.#options.place?.();
      await this.#reserve();
      this.#interruption = new AbortController();
      try {
        return this.#began(await inStartSlot(this.#options.starts, this.#closing.signal, () => this.#launch()));
      } catch (error) {
        if (!this.#interruption.signal.aborted || this.#state.kind === 'closed') throw this.#failed(toMcpxError(error));
        this.#stopLatest();
        const { log, attended = log.info } = this.#options;
        attended(`server "${this.#name}" is still starting: it is started again after the others`);
      } finally {
        this.#openTransports.cancel();
      }
    }
  }

  async #reserve(): Promise<void> {
    const full = await this.#openTransports.reserve(this.#closing.signal);
    if (!full) return;
    // The process limit is not a failure of the upstream: the next call tries again at once.
    if (this.#state.kind !== 'closed') this.#enter({ kind: 'idle' });
    throw full;
  }

  async #launch(): Promise<Link> {
    let transport: Transport | undefined;
    let lost: McpxError | undefined;
    const opened = (one: Transport) => {
      transport = one;
      this.#latest = one;
      this.#openTransports.add(one);
    };
    const closed = (error?: Error) => {
      lost = toMcpxError(error ?? new McpxError('unreachable', `server "${this.#name}" ended the connection`));
      if (transport) this.#lost(transport, lost);
    };
    const handlers = { ...this.#options.handlers, closed };
    const fetching = (by: string | undefined) =>
      this.#state.kind === 'connecting' && this.#enter({ ...this.#state, fetching: by });
    const signal = AbortSignal.any([this.#closing.signal, this.#interruption.signal]);
    const link = await openLink({ ...this.#options, signal, opened, fetching, handlers });
    if (lost) throw lost;
    return link;
  }

  #began(link: Link): Link {
    this.#link = link;
    this.#handshake = link.handshake;
    this.#openTransports.began(link.transport);
    this.#failure = undefined;
    this.#terminal = false;
    this.#options.breaker.connected();
    this.#enter({ kind: 'ready', since: Date.now() });
    return link;
  }

  #failed(failure: McpxError): McpxError {
    if (this.#state.kind === 'closed') return stopped(this.#name);
    this.#stopLatest();
    // A repeated failure is logged at debug level only.
    const { log } = this.#options;
    (failure.message === this.#failure?.message ? log.debug : log.warn)(failure.message, { hint: failure.hint });
    this.#terminal = isTerminal(failure);
    this.#backOff(failure);
    return failure;
  }

  #stopLatest(): void {
    if (this.#latest && this.#openTransports.has(this.#latest))
      this.#stopped = this.#openTransports.stop(this.#latest, STOP_FAST);
  }

  /** Handles the loss of a connection: stops its transport and schedules a reconnect. */
  #lost(transport: Transport, failure: McpxError): void {
    // close() and stopIdle() stop the transport within their own bounds.
    if (this.#state.kind === 'closed' || (this.#state.kind === 'idle' && this.#latest === transport)) return;
    this.#stopped = this.#openTransports.stop(transport, STOP_FAST);
    if (this.#link?.transport !== transport) return;
    this.#link = undefined;
    this.#options.log.warn(failure.message);
    if (this.#state.kind === 'ready' && Date.now() - this.#state.since >= STABLE_AFTER) this.#failures = 0;
    this.#backOff(failure);
  }

  #backOff(failure: McpxError): void {
    const { reconnect } = this.#options.spec;
    const reason = withRemedy(failure);
    this.#failure = failure;
    // A config error persists until a reload, so there is no retry.
    const terminal = this.#terminal;
    if (terminal && failure.code === 'config') {
      this.#enter({ kind: 'closed', reason, failure });
      return;
    }
    this.#failures += 1;
    const failures = this.#failures;
    const resting = terminal || failures > reconnect.maxRetries;
    const wait = pauseAfter(failure, { failures, terminal, reconnect });
    const until = Date.now() + wait;
    if (!terminal) this.#options.breaker.failed(failure, until);
    if (!resting) this.#later(wait);
    this.#enter({ kind: 'backoff', until, failures, reason, failure, ...(resting && { resting }) });
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    try {
      this.#options.entered(state);
    } catch (error) {
      this.#options.log.debug(`a listener failed: ${messageOf(error)}`, { server: this.#name });
    }
  }
}
