/** The life of one upstream: idle · connecting · ready · backoff · closed; one start however many ask, and no two at a time. */
import { McpxError, messageOf, toMcpxError } from '../errors.ts';
import type { PeerHandlers } from '../wire/peer.ts';
import { type Breaker, seconds } from './breaker.ts';
import type { ConnectionOptions, ConnectionState, Hello } from './connection.ts';
import { isTerminal } from './failure.ts';
import { retryDelay, STABLE_AFTER } from './health.ts';
import { type Link, openLink } from './link.ts';
import { createLiving, type Living } from './living.ts';
import { STOP, STOP_FAST, type StopBounds, type Transport } from './transport.ts';

export type LifecycleOptions = ConnectionOptions & {
  handlers: Pick<PeerHandlers, 'request' | 'notification' | 'invalid'>;
  breaker: Pick<Breaker, 'failed' | 'connected' | 'open' | 'refusal'>;
};

/** ms after which a start that is still under way lets the next one begin: slow upstreams must not hold up the others. */
const START_TURN = 250;
/** ms before a call may try again what only a person can repair: a missing command, refused credentials. */
const TERMINAL_PAUSE = 2000;

/** The next try, for which somebody waits, or which comes by itself. */
interface Upcoming {
  promise: Promise<Link>;
  cancel(error: McpxError): void;
}

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #name: string;
  readonly #closing = new AbortController();
  readonly #living: Living;
  #state: ConnectionState = { kind: 'idle' };
  #hello: Hello | undefined;
  #link: Link | undefined;
  #latest: Transport | undefined;
  #starting: Promise<Link> | undefined;
  #upcoming: Upcoming | undefined;
  /** The stop of the transport before, which the next start waits for. */
  #stopped: Promise<void> = Promise.resolve();
  /** Why the last start failed, or the last conversation ended. */
  #failure: McpxError | undefined;
  /** Whether only a person can repair what made the last start fail. */
  #terminal = false;
  /** Failures in a row: starts that failed, and conversations that did not last. */
  #failures = 0;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#name = options.spec.name;
    this.#living = createLiving(options);
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

  /** Whether it was connected, was lost, and will be tried again by itself within so many ms. */
  recovers(within: number): boolean {
    return this.#hello !== undefined && this.#upcoming !== undefined && this.refusal(within) === undefined;
  }

  /** Begins at once, or joins what is under way, or waits for the next try. `within`: ms that the caller can wait for that. */
  open(within = Number.POSITIVE_INFINITY): Promise<Link> {
    if (this.#link) return Promise.resolve(this.#link);
    if (this.#starting) return this.#starting;
    const refusal = this.refusal(within);
    if (refusal) return Promise.reject(refusal);
    if (this.#upcoming) return this.#upcoming.promise;
    const wait = this.#wait();
    return wait > 0 ? this.#later(wait) : this.#begin();
  }

  /** Gives up a conversation that no longer works; what is under way on it may still come to its end. */
  drop(link: Link, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    // A process that cannot be written to is done; over HTTP other calls may still be answered, and the transport ends by itself.
    if (link.transport.pid !== undefined) this.#stopped = this.#living.stop(link.transport, STOP_FAST);
    this.#options.log.info(`server "${this.#name}" will be connected again: ${reason}`);
    this.#enter({ kind: 'backoff', until: Date.now(), failures: this.#failures, reason });
  }

  /** Ends a conversation that has proved useless; it will be tried again after a pause. */
  lose(link: Link, failure: McpxError): void {
    if (this.#link !== link) return;
    this.#lost(link.transport, failure);
    void link.peer.close();
  }

  /** Stops it for want of use; the next call starts it again. Resolves when it has ended. */
  rest(): Promise<void> {
    const link = this.#link;
    if (!link) return this.#stopped;
    this.#link = undefined;
    this.#stopped = this.#living.stop(link.transport, STOP);
    this.#failures = 0;
    this.#enter({ kind: 'idle' });
    void link.peer.close();
    return this.#stopped;
  }

  async close(bounds: StopBounds = STOP): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    if (this.#state.kind !== 'closed') this.#enter({ kind: 'closed' });
    this.#closing.abort();
    this.#upcoming?.cancel(stopped(this.#name));
    this.#upcoming = undefined;
    // The transports first, for they take the bounds; the peer then fails what is in flight.
    const stops = this.#living.stopAll(bounds);
    void link?.peer.close();
    await this.#starting?.catch(() => undefined);
    await Promise.all([stops, this.#living.stopAll(bounds)]);
  }

  killNow(): void {
    this.#living.killNow();
  }

  /** ms until the next try. */
  #wait(): number {
    return this.#state.kind === 'backoff' ? this.#state.until - Date.now() : 0;
  }

  /** Why there is no use in waiting so many ms. */
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
    let cancel: Upcoming['cancel'] = () => undefined;
    const promise = new Promise<Link>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#upcoming = undefined;
        this.#begin().then(resolve, reject);
      }, wait);
      // Callers that wait for it have timers of their own.
      timer.unref();
      cancel = (error) => {
        clearTimeout(timer);
        reject(error);
      };
    });
    promise.catch(() => undefined);
    this.#upcoming = { promise, cancel };
    return promise;
  }

  #begin(): Promise<Link> {
    this.#enter({ kind: 'connecting', since: Date.now() });
    this.#starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<Link> {
    const { starts } = this.#options;
    await this.#stopped;
    const full = await this.#living.reserve(this.#closing.signal);
    if (full) {
      // The upstream is not to blame: the next call tries again at once.
      if (this.#state.kind !== 'closed') this.#enter({ kind: 'idle' });
      throw full;
    }
    try {
      const turn = starts?.enter({ signal: this.#closing.signal });
      if (turn) await turn;
      let isHeld = true;
      const leave = () => {
        if (isHeld) starts?.leave();
        isHeld = false;
      };
      const timer = setTimeout(leave, START_TURN);
      try {
        return this.#began(await this.#launch());
      } finally {
        clearTimeout(timer);
        leave();
      }
    } catch (error) {
      throw this.#failed(toMcpxError(error));
    } finally {
      this.#living.cancel();
    }
  }

  async #launch(): Promise<Link> {
    let transport: Transport | undefined;
    let lost: McpxError | undefined;
    const opened = (one: Transport) => {
      transport = one;
      this.#latest = one;
      this.#living.add(one);
    };
    const closed = (error?: Error) => {
      lost = toMcpxError(error ?? new McpxError('unreachable', `server "${this.#name}" ended the connection`));
      if (transport) this.#lost(transport, lost);
    };
    const handlers = { ...this.#options.handlers, closed };
    const fetching = (by: string | undefined) =>
      this.#state.kind === 'connecting' && this.#enter({ ...this.#state, fetching: by });
    const link = await openLink({ ...this.#options, signal: this.#closing.signal, opened, fetching, handlers });
    if (lost) throw lost;
    return link;
  }

  #began(link: Link): Link {
    this.#link = link;
    this.#hello = link.hello;
    this.#living.began(link.transport);
    this.#failure = undefined;
    this.#terminal = false;
    this.#options.breaker.connected();
    this.#enter({ kind: 'ready', since: Date.now() });
    return link;
  }

  #failed(failure: McpxError): McpxError {
    if (this.#state.kind === 'closed') return stopped(this.#name);
    if (this.#latest && this.#living.has(this.#latest)) this.#stopped = this.#living.stop(this.#latest, STOP_FAST);
    // What is known already is not said at every try.
    const { log } = this.#options;
    (failure.message === this.#failure?.message ? log.debug : log.warn)(failure.message, { hint: failure.hint });
    this.#terminal = isTerminal(failure);
    this.#backOff(failure);
    return failure;
  }

  /** The far side is gone, or given up: a running conversation is over, and there will be another. */
  #lost(transport: Transport, failure: McpxError): void {
    // Our own close stops it within its own bounds, and so does a rest.
    if (this.#state.kind === 'closed' || (this.#state.kind === 'idle' && this.#latest === transport)) return;
    this.#stopped = this.#living.stop(transport, STOP_FAST);
    if (this.#link?.transport !== transport) return;
    this.#link = undefined;
    this.#options.log.warn(failure.message);
    if (this.#state.kind === 'ready' && Date.now() - this.#state.since >= STABLE_AFTER) this.#failures = 0;
    this.#backOff(failure);
  }

  #backOff(failure: McpxError): void {
    const { interval, maxRetries } = this.#options.spec.reconnect;
    const { message: reason } = failure;
    this.#failure = failure;
    // Nothing that happens outside repairs the config.
    if (this.#terminal && failure.code === 'config') {
      this.#enter({ kind: 'closed', reason });
      return;
    }
    this.#failures += 1;
    const failures = this.#failures;
    const terminal = this.#terminal;
    const resting = terminal || failures > maxRetries;
    // Out of tries it rests: the next call tries at once, and where that fails too the pauses go on.
    const pause = failures === maxRetries + 1 ? 0 : Math.max(1, retryDelay(failures, interval));
    const wait = terminal ? TERMINAL_PAUSE : pause;
    const until = Date.now() + wait;
    if (!terminal) this.#options.breaker.failed(failure, until);
    if (!resting) this.#later(wait);
    this.#enter({ kind: 'backoff', until, failures, reason, ...(resting && { resting }) });
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
