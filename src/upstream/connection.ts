/** One upstream: its state machine, single-flight connect, requests, close. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerSpec, Settings } from '../config/config.ts';
import { RpcError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { METHOD_NOT_FOUND, type Params, type RpcRequest } from '../wire/message.ts';
import type { About, Incoming, RequestOptions } from '../wire/peer.ts';
import { type Ask, CONNECT_WAIT, createAsk, isTimed, patience, within } from './ask.ts';
import { createBreaker } from './breaker.ts';
import type { ChildLimit } from './child-limit.ts';
import { createMemory, type Introduction, type Remembered } from './era.ts';
import { longestStart } from './launcher.ts';
import { Lifecycle } from './lifecycle.ts';
import type { ListingPlaces } from './listing-places.ts';
import { createPurpose } from './only-listed.ts';
import type { ChildRecords } from './owners.ts';
import { createSlots, type Slots } from './queue.ts';
import { asksForInput, type Inputs, inRounds } from './rounds.ts';
import { type Caller, launchFolder } from './sharing.ts';
import { createStanding } from './standing.ts';
import type { StopBounds } from './transport.ts';
import { watchLink } from './vigil.ts';

/** What an upstream said of itself when the conversation began. */
export interface Hello {
  era: 'legacy' | 'modern';
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
  /** What a URL without a type turned out to be. */
  transport?: 'http' | 'sse';
  /** How messages are separated, where a program did not understand lines. */
  framing?: 'content-length';
}

/** One entity, one state. Times are epoch ms; `reason` is a sentence for people. */
export type ConnectionState =
  | { kind: 'idle' }
  /** `fetching`: the launcher that downloads it, such as `npx`. */
  | { kind: 'connecting'; since: number; fetching?: string | undefined }
  | { kind: 'ready'; since: number }
  /** `until` is the next try; one that rests is not tried before somebody calls. */
  | { kind: 'backoff'; until: number; failures: number; reason: string; resting?: boolean }
  | { kind: 'closed'; reason?: string };

export interface ConnectionEvents {
  state?: (state: ConnectionState) => void;
  /** `about` tells which request it belongs to, as far as that can be told. */
  notification?: (method: string, params: Params | undefined, about?: About) => void;
  /** Answers a request of the upstream other than `ping`; absent: -32601. */
  request?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
}

export interface ConnectionOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits' | 'health'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  events?: ConnectionEvents;
  /** Bounds how many upstreams start at once; shared by all of them. */
  starts?: Slots;
  /** Who we say we are (default: mcpx itself, without any capability). */
  introduction?: Introduction | undefined;
  /** What was stored of it; only asked for while it has not been connected. */
  recall?: ((spec: ServerSpec) => Remembered | undefined) | undefined;
  /** What `${workspaceFolder}` means (default: the working directory). */
  workspaceFolder?: string | undefined;
  /** Told of every line that its process writes to stderr. */
  stderr?: ((line: string) => void) | undefined;
  /** The key of the only caller that it serves. */
  owner?: string | undefined;
  /** The set of capabilities that it offers (default: none). */
  offered?: string | undefined;
  /** Where its processes are written down while they run. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Bounds how many processes run at once; shared by all upstreams. */
  childLimit?: ChildLimit | undefined;
  /** Bounds how many run only to be listed; shared by all of them. */
  places?: ListingPlaces | undefined;
  /** Whose share of them its process counts towards; absent where several clients use it. */
  holder?: string | undefined;
  /** Set where a person waits in a shell: told of slow starts; and calls wait for a download as long as it takes. */
  attended?: ((line: string) => void) | undefined;
}

export interface CallOptions extends RequestOptions {
  /** It may run twice: where the connection breaks under it, it is sent once more on the next one. */
  repeatable?: boolean | undefined;
  /** What must hold on the conversation that it goes on. */
  reliance?: Reliance | undefined;
  /** Takes no turn: calls that have theirs wait for it. */
  ahead?: boolean | undefined;
  /** It only learns what there is, which is no use of the server. */
  purpose?: 'list' | undefined;
  /** On whose behalf; calls that wait for their turn take turns by it. */
  caller?: string | undefined;
  /** The same, for servers of the modern era, which are told with every request. */
  client?: Caller | undefined;
  /** Whether it may be told of everything that the client can do, and not only of what it can be asked. */
  transparent?: boolean | undefined;
  /** Where the caller takes a question of a modern server as the result: what it has answered so far. */
  inputs?: Inputs | undefined;
}

/** What a request relies on. It is looked at before each time that it is sent: a server that was started again may have become another. */
export interface Reliance {
  /** Whether it holds on the conversation that began so; asked at every call. */
  holds(hello: Hello): boolean;
  /** Makes it hold there, and the request what it then has to be; false where that conversation is over. Throws where it must not be sent. */
  renew(hello: Hello, request: CallOptions): Promise<boolean>;
}

/** For `doctor`, `status` and error messages. */
export interface Diagnostics {
  pid?: number;
  /** The last lines the process wrote to stderr. */
  stderr: string[];
  /** Lines on its stdout, or messages, that were no JSON-RPC. */
  noise: number;
}

export interface Connection {
  readonly name: string;
  readonly spec: ServerSpec;
  /** The key of the only caller that it serves; undefined where several share it. */
  readonly owner?: string | undefined;
  /** The principals that asked it anything, also before a reconnect; two are as good as many. Absent where none did. */
  readonly principals?: ReadonlySet<string>;
  /** The set of capabilities that it offers, see `offeredKey`: a server lists other tools for other sets. */
  readonly offered: string;
  /** The folder that decides what is started, see `launchFolder`. */
  readonly folder?: string | undefined;
  /** The connection that it stands for just now, where it stands for one of several. */
  readonly base?: () => Connection;
  /** Every request has a process of its own: nothing that was listed was listed by the one that answers. */
  readonly fleeting?: true;
  readonly state: ConnectionState;
  /** Present once it has been connected; kept after it was stopped. */
  readonly hello: Hello | undefined;
  /** Whether somebody waits for what it says by itself: news of a resource, the end of a task. */
  readonly expected: boolean;
  /** Connects if need be; a hundred callers start it once. To be listed, it may have to wait until others were. */
  connect(purpose?: 'list'): Promise<Hello>;
  /** Somebody waits for it, who does not wait for others to be listed. */
  claim?(): void;
  /** Connects if need be, waiting for a reconnect within the timeout, then asks. RpcError = the upstream's own words, McpxError = ours. */
  request(method: string, params?: Params, options?: CallOptions): Promise<unknown>;
  /** Told only while it is connected. */
  notify(method: string, params?: Params): void;
  diagnostics(): Diagnostics;
  /** Stops it as soon as nothing is under way on it, and resolves when it is stopped; the next call starts it again. */
  rest(): Promise<void>;
  /** Stops it for good as soon as nothing is under way on it; resolves when it is stopped. */
  dismiss(): Promise<void>;
  /** Stops it for good: nothing of its process tree is left when this resolves. */
  close(bounds?: StopBounds): Promise<void>;
  /** Ends its process tree at once and synchronously: for the way out of a dying process. */
  killNow(): void;
}

/** Calls that may wait for their turn. */
const MAX_WAITING = 2048;
/** How long nothing must be under way on a connection that is no longer wanted, in ms: between two requests of a list there is a moment. */
const QUIET = 20;

export function createConnection(options: ConnectionOptions): Connection {
  const { spec, log, events } = options;
  const slots = createSlots({ limit: spec.concurrency, maxWaiting: MAX_WAITING, subject: `server "${spec.name}"` });
  const breaker = createBreaker();
  const standing = createStanding();
  const principals = new Set<string>();
  let noise = 0;
  /** What is under way beside requests: connects, and questions of the server. */
  let uses = 0;
  const busy = () => uses > 0 || slots.active > 0 || slots.waiting > 0;
  /** Monotonic ms of the end of the last one. */
  let used = 0;
  let unwatch = () => {};

  const lifecycle: Lifecycle = new Lifecycle({
    ...options,
    recall: createMemory(options.recall, () => lifecycle.hello),
    breaker,
    events: {
      state(state) {
        unwatch();
        const link = state.kind === 'ready' ? lifecycle.link : undefined;
        if (link) standing.renew(link.peer);
        const watched = { ...options, ...purpose, lifecycle, standing, busy, used: () => used };
        unwatch = link ? watchLink(link, watched) : () => undefined;
        purpose.entered(state);
        events?.state?.(state);
      },
    },
    handlers: {
      request: (request, incoming) => answer(request, incoming, events),
      notification: ({ method, params }, about) => {
        standing.hear(method, params);
        events?.notification?.(method, params, about);
      },
      invalid: (reason) => {
        noise += 1;
        log.debug(`ignored: ${reason}`, { server: spec.name });
      },
    },
  });
  const purpose = createPurpose({
    ...{ spec, connect: options.settings.connect, places: options.places, busy },
    rest: () => lifecycle.rest(),
  });
  const ended = () => {
    used = performance.now();
    purpose.over();
  };
  const shared = options.owner === undefined;
  const connectWait = options.attended ? longestStart(spec) : patience(spec, CONNECT_WAIT);
  const ask = createAsk({ spec, connectWait, lifecycle, breaker, slots, shared, over: ended });
  const rounds = inRounds(ask, { server: spec.name, isModern: () => lifecycle.hello?.era === 'modern' });

  const using = async <T>(work: () => Promise<T>): Promise<T> => {
    uses += 1;
    try {
      return await work();
    } finally {
      uses -= 1;
      ended();
    }
  };

  const quiet = async () => {
    while (lifecycle.state.kind !== 'closed' && (busy() || performance.now() - used < QUIET)) await delay(QUIET);
  };

  /** What was asked for and lasts is noted; what the server asks instead of an answer is answered first. */
  const settle = async (answer: Promise<unknown>, ...[method, params, timed]: Parameters<Ask>): Promise<unknown> => {
    const result = await answer;
    standing.note(method, params, result);
    return asksForInput(result) ? using(() => rounds(result, method, params, timed)) : result;
  };

  const request: Connection['request'] = (method, params, wanted) => {
    if (wanted?.purpose !== 'list' && method !== 'logging/setLevel') purpose.claim();
    if (wanted?.principal !== undefined && principals.size < 2) principals.add(wanted.principal);
    const timed = isTimed(wanted) ? wanted : { ...wanted, timeout: spec.timeout };
    const answer = ask(method, params, timed);
    const plain = lifecycle.link?.hello.era === 'legacy' && !standing.lasts(method, params);
    return plain ? answer : settle(answer, method, params, timed);
  };

  return {
    name: spec.name,
    spec,
    owner: options.owner,
    principals,
    offered: options.offered ?? '',
    folder: launchFolder(spec, options.workspaceFolder),
    get state() {
      return lifecycle.state;
    },
    get hello() {
      return lifecycle.hello;
    },
    get expected() {
      return standing.expected;
    },
    async connect(why) {
      if (why === undefined) purpose.claim();
      else await purpose.admitted();
      return using(async () => {
        const left = options.attended ? connectWait : patience(spec, Math.min(spec.timeout, CONNECT_WAIT));
        return (await within(lifecycle.open(left), { method: 'connect', left, spec, lifecycle })).hello;
      });
    },
    claim: purpose.claim,
    request,
    notify: (method, params) => lifecycle.link?.peer.notify(method, params),
    diagnostics() {
      const pid = lifecycle.link?.transport.pid;
      return { ...(pid === undefined ? {} : { pid }), stderr: lifecycle.latest?.stderr?.() ?? [], noise };
    },
    async rest() {
      await quiet();
      await lifecycle.rest();
    },
    async dismiss() {
      await quiet();
      await lifecycle.close();
    },
    close: (bounds) => lifecycle.close(bounds),
    killNow: () => lifecycle.killNow(),
  };
}

async function answer(request: RpcRequest, incoming: Incoming, events: ConnectionEvents | undefined): Promise<unknown> {
  if (request.method === 'ping') return {};
  if (events?.request) return events.request(request, incoming);
  throw new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method}`);
}
