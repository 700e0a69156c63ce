/** One upstream: its state machine, single-flight connect, requests, close. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { McpxError, messageOf, RpcError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { METHOD_NOT_FOUND, type Params, type RpcRequest } from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';
import { isUndelivered } from '../wire/undelivered.ts';
import { Lifecycle } from './lifecycle.ts';
import { createSlots, type Slots } from './queue.ts';
import type { StopBounds } from './transport.ts';

/** What an upstream said of itself when the conversation began. */
export interface Hello {
  era: 'legacy' | 'modern';
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
}

/** One entity, one state. Times are epoch ms; `reason` is a sentence for people. */
export type ConnectionState =
  | { kind: 'idle' }
  | { kind: 'connecting'; since: number }
  | { kind: 'ready'; since: number }
  | { kind: 'backoff'; until: number; failures: number; reason: string }
  | { kind: 'closed'; reason?: string };

export interface ConnectionEvents {
  state?: (state: ConnectionState) => void;
  notification?: (method: string, params: Params | undefined) => void;
  /** Answers a request of the upstream other than `ping`; absent: -32601. */
  request?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
}

export interface ConnectionOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits'>;
  log: Log;
  events?: ConnectionEvents;
  /** Bounds how many upstreams start at once; shared by all of them. */
  starts?: Slots;
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
  readonly state: ConnectionState;
  /** Present once it has been connected; kept after it was stopped. */
  readonly hello: Hello | undefined;
  /** Connects if need be; a hundred callers start it once. */
  connect(): Promise<Hello>;
  /** Connects if need be, then asks. RpcError = the upstream's own words, McpxError = ours. */
  request(method: string, params?: Params, options?: RequestOptions): Promise<unknown>;
  diagnostics(): Diagnostics;
  /** Stops it for good: nothing of its process tree is left when this resolves. */
  close(bounds?: StopBounds): Promise<void>;
  /** Ends its process tree at once and synchronously: for the way out of a dying process. */
  killNow(): void;
}

/** Calls that may wait for their turn. */
const MAX_WAITING = 2048;

export function createConnection(options: ConnectionOptions): Connection {
  const { spec, log, events } = options;
  const slots = createSlots({ limit: spec.concurrency, maxWaiting: MAX_WAITING, subject: `server "${spec.name}"` });
  let noise = 0;

  const lifecycle = new Lifecycle({
    ...options,
    handlers: {
      request: (request, incoming) => answer(request, incoming, events),
      notification: ({ method, params }) => events?.notification?.(method, params),
      invalid: (reason) => {
        noise += 1;
        log.debug(`ignored: ${reason}`, { server: spec.name });
      },
    },
  });

  /** Sent once; again only when it certainly did not arrive the first time. */
  const ask = async (method: string, params: Params | undefined, wanted: RequestOptions) => {
    const link = lifecycle.link ?? (await unlessAborted(lifecycle.open(), method, wanted.signal));
    try {
      return await link.peer.request(method, params, wanted);
    } catch (error) {
      if (!isUndelivered(error)) throw error;
      lifecycle.drop(link, messageOf(error));
    }
    const next = await unlessAborted(lifecycle.open(), method, wanted.signal);
    return next.peer.request(method, params, wanted);
  };

  return {
    name: spec.name,
    spec,
    get state() {
      return lifecycle.state;
    },
    get hello() {
      return lifecycle.hello;
    },
    connect: async () => (await lifecycle.open()).hello,
    async request(method, params, wanted = {}) {
      const bounded = { timeout: spec.timeout, ...wanted };
      const turn = slots.enter(bounded);
      if (turn) await turn;
      try {
        return await ask(method, params, bounded);
      } finally {
        slots.leave();
      }
    },
    diagnostics() {
      const pid = lifecycle.link?.transport.pid;
      return { ...(pid === undefined ? {} : { pid }), stderr: lifecycle.latest?.stderr?.() ?? [], noise };
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

/** A caller that gives up does not wait for a start, and does not stop it for the others. */
function unlessAborted<T>(work: Promise<T>, method: string, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(new McpxError('cancelled', `"${method}" was cancelled`));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
