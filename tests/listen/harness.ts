/** The HTTP listener on a real socket with a scripted front behind it, and clients that see every byte. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { DEFAULTS, type Token } from '../../src/config/config.ts';
import { RpcError } from '../../src/errors.ts';
import type { Downstream, Exchange } from '../../src/front/front-interface.ts';
import type { Administration, Gateway, LiveEvent, OpenOptions } from '../../src/listen/app-api.ts';
import type { AuthorizationServer } from '../../src/listen/authorization-server/authorization-server.ts';
import { type HttpListener, listenHttp } from '../../src/listen/http/http.ts';
import type { SecretKey } from '../../src/listen/mcp/secret-key.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Happening } from '../../src/observe/observer.ts';
import { createLedger, describeSavings } from '../../src/observe/savings-totals.ts';
import { type Authenticator, createAuthenticator } from '../../src/policy/auth.ts';

export const token = (name: string, secret: string, more: Partial<Token> = {}) => ({
  name,
  secret,
  tools: {},
  resources: {},
  prompts: {},
  admin: false,
  ...more,
});

/** Actions of the scripted front: for `tools/call` by the name of the tool, for other methods by the method. */
export type Act = (args: any, exchange: Exchange) => unknown;

export interface Stage {
  url: string;
  listener: HttpListener;
  /** Fronts that are open. */
  open: Set<{ downstream: Downstream; options: OpenOptions; heard: string[] }>;
  logged: string[];
  happenings: Happening[];
  watchers: Set<(event: LiveEvent) => void>;
}

const started: HttpListener[] = [];

export async function closeAll(): Promise<void> {
  await Promise.all(started.splice(0).map((listener) => listener.close()));
}

export async function stage(
  acts: Record<string, Act> = {},
  {
    tokens = [],
    http = {},
    auth = createAuthenticator(tokens),
    schemas = {},
    profiles = [],
    ...more
  }: {
    arrival?: number;
    connections?: number;
    admin?: Administration;
    secretKey?: SecretKey;
    endedFolder?: string;
    tokens?: ReturnType<typeof token>[];
    auth?: Authenticator;
    /** Of tools that belong to a server. */
    schemas?: Record<string, unknown>;
    /** Profiles in the status. */
    profiles?: string[];
    authorizationServer?: AuthorizationServer;
    http?: Partial<typeof DEFAULTS.http>;
  } = {},
): Promise<Stage> {
  const open: Stage['open'] = new Set();
  const logged: string[] = [];
  const happenings: Happening[] = [];
  const watchers: Stage['watchers'] = new Set();
  const gateway: Gateway = {
    mainProfile: 'default',
    profileWord: () => 'profile',
    canResume: () => true,
    profileState: (name) => (['default', 'other'].includes(name) ? 'enabled' : 'unknown'),
    open(options) {
      const entry = { downstream: options.downstream, options, heard: [] as string[] };
      open.add(entry);
      const front = {
        request: async ({ method, params = {} }: any, exchange: Exchange) => {
          if (method === 'initialize' && params.fail) throw new RpcError(-32602, 'no');
          if (method === 'initialize')
            return {
              protocolVersion: params.protocolVersion ?? '2025-11-25',
              capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
              serverInfo: { name: 'scripted', version: '1' },
            };
          if (method === 'ping') return {};
          if (method === 'resources/subscribe' && params.uri.startsWith('file:')) return {};
          if (method === 'tools/list')
            return { tools: Object.keys(acts).map((name) => ({ name, inputSchema: { type: 'object' } })) };
          const [name, args] = method === 'tools/call' ? [params.name, params.arguments ?? {}] : [method, params];
          const act = Object.hasOwn(acts, name) ? acts[name] : undefined;
          if (act === undefined) throw new RpcError(-32601, `Method not found: ${method}`);
          return act(args, exchange);
        },
        tool: (name: string) => (schemas[name] ? { name, inputSchema: schemas[name] } : undefined),
        notification: ({ method }: any) => void entry.heard.push(method),
        changed: () => options.downstream.notify('notifications/tools/list_changed'),
      };
      return { front: front as any, close: () => void open.delete(entry) };
    },
    enter: () => {
      throw new RpcError(-32000, 'there is no router here');
    },
    status: () => ({
      ...{ name: 'mcpx', version: '0', uptime: 0, calls: { calls: 0, errors: 0, live: [] } },
      profiles: profiles.map((name) => ({ name, enabled: true, servers: [] })),
      savings: describeSavings(createLedger().totals()),
    }),
    emit: (happening) => void happenings.push(happening),
    watch(_, hear) {
      watchers.add(hear);
      return () => void watchers.delete(hear);
    },
    metrics: () => [],
  };
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const settings = { ...DEFAULTS.http, port: 0, ...http };
  const listener = await listenHttp({ gateway, settings, auth, log, ...more });
  started.push(listener);
  return { url: `${listener.url}/mcp`, listener, open, logged, happenings, watchers };
}

/** Resolves when the listener has begun to serve the next request, with the listener's end of its socket. */
export function nextServed(): Promise<Socket> {
  return new Promise((resolve) => {
    const heard = (message: unknown) => {
      unsubscribe('http.server.request.start', heard);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe('http.server.request.start', heard);
  });
}

export const rpc = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params !== undefined && { params }),
});
export const call = (name: string, args: unknown = {}, id: unknown = 1, meta?: unknown) =>
  rpc('tools/call', { name, arguments: args, ...(meta !== undefined && { _meta: meta }) }, id);
export const note = (method: string, params?: unknown) => ({
  jsonrpc: '2.0',
  method,
  ...(params !== undefined && { params }),
});

export interface Sent {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Hangs up, also before there is an answer. */
  signal?: AbortSignal | undefined;
}

export interface ServerEvent {
  id?: string;
  retry?: string;
  event?: string;
  data?: any;
}

/** A response as it comes in: whole, or event by event. */
export interface Received {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  /** The next event that has data; undefined when the stream has ended. */
  next(): Promise<ServerEvent | undefined>;
  /** Everything that was on the stream so far, events without data and comments included. */
  seen: ServerEvent[];
  comments: number;
  text(): Promise<string>;
  json(): Promise<any>;
  leave(): void;
  response: IncomingMessage;
}

export const BOTH = { accept: 'application/json, text/event-stream' };

export function send(url: string, { method = 'POST', body, headers = {}, signal }: Sent = {}): Promise<Received> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const request = httpRequest(
      url,
      { method, signal, headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers } },
      (response) => resolve(received(response)),
    );
    request.on('error', reject);
    request.end(text);
  });
}

function received(response: IncomingMessage): Received {
  let raw = '';
  let rest = '';
  let over = false;
  const waiting: (() => void)[] = [];
  const queue: ServerEvent[] = [];
  const wake = () => {
    for (const one of waiting.splice(0)) one();
  };
  const result: Received = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    seen: [],
    comments: 0,
    response,
    async next() {
      while (queue.length === 0 && !over) await new Promise<void>((resolve) => waiting.push(resolve));
      return queue.shift();
    },
    async text() {
      while (!over) await new Promise<void>((resolve) => waiting.push(resolve));
      return raw;
    },
    json: async () => JSON.parse(await result.text()),
    leave: () => response.destroy(),
  };
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    raw += chunk;
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(':')) {
        result.comments += 1;
        continue;
      }
      const event = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s).slice(0, 2)));
      result.seen.push(event);
      if (event.data) queue.push({ ...event, data: event.event === 'endpoint' ? event.data : JSON.parse(event.data) });
    }
    wake();
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    over = true;
    wake();
  });
  return result;
}

/** A client with a session. */
export interface Client {
  id: string;
  headers: Record<string, string>;
  post(body: unknown, headers?: Record<string, string>): Promise<Received>;
  get(headers?: Record<string, string>): Promise<Received>;
  delete(): Promise<Received>;
}

export async function connect(
  url: string,
  { version = '2025-11-25', headers = {} }: { version?: string; headers?: Record<string, string> } = {},
): Promise<Client> {
  const body = rpc('initialize', {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  });
  const hello = await send(url, { body, headers: { ...BOTH, ...headers } });
  const id = String(hello.headers['mcp-session-id']);
  const own = { ...BOTH, ...headers, 'mcp-session-id': id, 'mcp-protocol-version': version };
  return {
    id,
    headers: own,
    post: (body, more = {}) => send(url, { body, headers: { ...own, ...more } }),
    get: (more = {}) => send(url, { method: 'GET', headers: { ...own, accept: 'text/event-stream', ...more } }),
    delete: () => send(url, { method: 'DELETE', headers: own }),
  };
}

/** A promise and what settles it. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
