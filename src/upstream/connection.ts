/** One upstream connection: its state machine, single-flight connect, requests and close. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerSpec } from '../config/config.ts';
import { launchFolder } from '../config/workspace-folder.ts';
import { RpcError } from '../errors.ts';
import { asksForInput } from '../mcp/multi-round-trip.ts';
import { concernsTask } from '../mcp/tasks.ts';
import { METHOD_NOT_FOUND, type Params, type RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import type { CallOptions, SendRequest, TimedOptions } from './call-options.ts';
import type { Connection, ConnectionState, Diagnostics, StartSteps } from './connection-interface.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { createMemory } from './era/era.ts';
import { answerInputRequests, type InputLoop } from './era/input-required.ts';
import type { Handshake } from './handshake.ts';
import { createBreaker } from './lifecycle/breaker.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { watchLink } from './lifecycle/monitor.ts';
import { createSlots, type Slots } from './lifecycle/queue.ts';
import { createRunningTasks } from './lifecycle/running-tasks.ts';
import { CONNECT_WAIT, createSender, isTimed, patience, within } from './lifecycle/send.ts';
import { createPurpose, type Purpose } from './lifecycle/stop-after-listing.ts';
import { longestStart } from './process/launcher.ts';
import type { StopBounds } from './transports/transport.ts';

const MAX_WAITING = 2048;
/** Milliseconds without requests before a stop: a client may send the next page of a list request. */
const QUIET = 20;

export function createConnection(options: ConnectionOptions): Connection {
  return new UpstreamConnection(options);
}

class UpstreamConnection implements Connection {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly owner: string | undefined;
  readonly principals = new Set<string>();
  readonly offered: string;
  readonly folder: string | undefined;
  readonly #options: ConnectionOptions;
  readonly #slots: Slots;
  readonly #lifecycle: Lifecycle;
  readonly #purpose: Purpose;
  readonly #tasks = createRunningTasks();
  readonly #send: SendRequest;
  readonly #answerInput: InputLoop;
  /** Milliseconds that a call waits for a connection. */
  readonly #connectWait: number;
  #noise = 0;
  #firstNoise: string | undefined;
  #steps: StartSteps | undefined;
  /** The number of pending operations other than requests: connects and server-initiated requests. */
  #uses = 0;
  /** Monotonic ms at which the last operation ended. */
  #used = 0;
  #unwatch = () => {};

  constructor(options: ConnectionOptions) {
    const { spec, settings, places, owner } = options;
    this.#options = options;
    this.name = spec.name;
    this.spec = spec;
    this.owner = owner;
    this.offered = options.offered ?? '';
    this.folder = launchFolder(spec, options.workspaceFolder);
    const subject = `server "${spec.name}"`;
    this.#slots = createSlots({ limit: spec.concurrency, maxWaiting: MAX_WAITING, subject });
    const breaker = createBreaker();
    this.#lifecycle = new Lifecycle({
      ...options,
      recall: createMemory(options.recall, () => this.handshake),
      breaker,
      entered: (state) => this.#entered(state),
      handlers: this.#handlers(),
      stepped: (steps) => {
        this.#steps = steps;
      },
      place: () => this.#purpose.place(),
      reserveSecond: () => this.#purpose.reserveSecond(),
    });
    const [busy, stopIdle] = [() => this.#isBusy, () => this.#lifecycle.stopIdle()];
    const interrupt = () => this.#lifecycle.interrupt();
    this.#purpose = createPurpose({ spec, connect: settings.connect, places, busy, stopIdle, interrupt });
    this.#connectWait = options.attended ? longestStart(spec) : patience(spec, CONNECT_WAIT);
    this.#send = createSender({
      ...{ spec, breaker, slots: this.#slots, lifecycle: this.#lifecycle, connectWait: this.#connectWait },
      shared: owner === undefined,
      over: () => this.#ended(),
    });
    const isModern = () => this.handshake?.era === 'modern';
    this.#answerInput = answerInputRequests(this.#send, { server: spec.name, isModern });
  }

  get state(): ConnectionState {
    return this.#lifecycle.state;
  }

  get handshake(): Handshake | undefined {
    return this.#lifecycle.handshake;
  }

  get hasSubscribers(): boolean {
    return this.#tasks.isRunning || this.#options.isSubscribed?.(this) === true;
  }

  async connect(why?: 'list'): Promise<Handshake> {
    if (why === undefined) this.claim();
    else await this.#purpose.admitted();
    const { spec } = this;
    const lifecycle = this.#lifecycle;
    return this.#using(async () => {
      const left = this.#options.attended ? this.#connectWait : patience(spec, Math.min(spec.timeout, CONNECT_WAIT));
      // A start that was interrupted waits for its place again, which may take long; its own timeout ends it.
      const limit = why === 'list' ? Number.POSITIVE_INFINITY : left;
      return (await within(lifecycle.open(left), { method: 'connect', left: limit, spec, lifecycle })).handshake;
    });
  }

  claim(): void {
    this.#purpose.claim();
  }

  listed(): void {
    this.#purpose.listed();
  }

  request(method: string, params?: Params, wanted?: CallOptions): Promise<unknown> {
    if (wanted?.purpose !== 'list' && method !== 'logging/setLevel') this.claim();
    const principal = wanted?.client?.principal;
    if (principal !== undefined && this.principals.size < 2) this.principals.add(principal);
    const timed = isTimed(wanted) ? wanted : { ...wanted, timeout: this.spec.timeout };
    const isPlain = this.#lifecycle.link?.handshake.era === 'legacy' && !concernsTask(method, params);
    return isPlain ? this.#send(method, params, timed) : this.#sendAndFollow(method, params, timed);
  }

  notify(method: string, params?: Params): void {
    this.#lifecycle.link?.peer.notify(method, params);
  }

  diagnostics(): Diagnostics {
    const { link, latest } = this.#lifecycle;
    const steps = this.#steps;
    const pid = link?.transport.pid;
    const noise = { noise: this.#noise, ...(this.#firstNoise !== undefined && { firstNoise: this.#firstNoise }) };
    return { ...(pid !== undefined && { pid }), stderr: latest?.stderr?.() ?? [], ...noise, ...(steps && { steps }) };
  }

  async stopIdle(): Promise<void> {
    await this.#quiet();
    await this.#lifecycle.stopIdle();
  }

  async drain(): Promise<void> {
    await this.#quiet();
    await this.#lifecycle.close();
  }

  close(bounds?: StopBounds): Promise<void> {
    return this.#lifecycle.close(bounds);
  }

  killNow(): void {
    this.#lifecycle.killNow();
  }

  get #isBusy(): boolean {
    return this.#uses > 0 || this.#slots.active > 0 || this.#slots.waiting > 0;
  }

  /** Records tasks; answers the questions of an `input_required` result before it returns. */
  async #sendAndFollow(method: string, params: Params | undefined, timed: TimedOptions): Promise<unknown> {
    const result = await this.#send(method, params, timed);
    this.#tasks.note(method, params, result);
    return asksForInput(result) ? this.#using(() => this.#answerInput(result, method, params, timed)) : result;
  }

  #handlers(): ConstructorParameters<typeof Lifecycle>[0]['handlers'] {
    const { log, events, stderr } = this.#options;
    return {
      request: (request, incoming) => this.#answer(request, incoming),
      notification: ({ method, params }, about) => {
        this.#tasks.onNotification(method, params);
        events?.notification?.({ method, params, about }, this);
      },
      invalid: (reason) => {
        this.#noise += 1;
        this.#firstNoise ??= reason;
        stderr?.(`stdout is not MCP: ${reason}`);
        log.debug(`ignored: ${reason}`, { server: this.name });
      },
    };
  }

  async #answer(request: RpcRequest, incoming: Incoming): Promise<unknown> {
    const { events } = this.#options;
    if (request.method === 'ping') return {};
    if (events?.request) return events.request(request, incoming, this);
    throw new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method}`);
  }

  #entered(state: ConnectionState): void {
    this.#unwatch();
    const lifecycle = this.#lifecycle;
    const link = state.kind === 'ready' ? lifecycle.link : undefined;
    if (link) this.#tasks.clear();
    const use = { busy: () => this.#isBusy, used: () => this.#used, hasSubscribers: () => this.hasSubscribers };
    this.#unwatch = link ? watchLink(link, { ...this.#options, ...this.#purpose, ...use, lifecycle }) : () => undefined;
    this.#purpose.entered(state);
    this.#options.events?.state?.(state, this);
  }

  #ended(): void {
    this.#used = performance.now();
    this.#purpose.over();
  }

  async #using<T>(work: () => Promise<T>): Promise<T> {
    this.#uses += 1;
    try {
      return await work();
    } finally {
      this.#uses -= 1;
      this.#ended();
    }
  }

  async #quiet(): Promise<void> {
    const isUsed = () => this.#isBusy || performance.now() - this.#used < QUIET;
    while (this.state.kind !== 'closed' && isUsed()) await delay(QUIET);
  }
}
