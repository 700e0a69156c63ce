/** MCP without any library: lines on a pipe, and single HTTP requests as curl sends them. */
import { spawn } from 'node:child_process';
import {
  ANSWERS,
  type Asked,
  type Asking,
  type Conversation,
  capabilitiesOf,
  Heard,
  type Target,
} from './conversation.ts';

/** Returns the message of a JSON-RPC error as the SDKs throw it. */
export class RawError extends Error {
  readonly code: number;

  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}

interface Waiting extends Asking {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Sorts what arrives: answers, questions, progress, everything else. Ids begin with 0, which is as good as any. */
class Ledger {
  readonly heard = new Heard();
  readonly waiting = new Map<unknown, Waiting>();
  #nextId = 0;

  newId(): number {
    return this.#nextId++;
  }

  /** Returns the answer to a question. */
  take(message: any): unknown {
    const { id, method, params } = message;
    if (method === undefined) {
      const found = this.waiting.get(id);
      this.waiting.delete(id);
      if (message.error) found?.reject(new RawError(message.error));
      else found?.resolve(message.result);
      return undefined;
    }
    if (id !== undefined) return { jsonrpc: '2.0', id, result: ANSWERS[method as keyof typeof ANSWERS] };
    if (method === 'notifications/progress') this.waiting.get(params.progressToken)?.progress?.(params);
    else this.heard.add(method, params);
    return undefined;
  }
}

function requestOf(id: number, method: string, params: Record<string, unknown>, { progress }: Asking) {
  const _meta = { ...(params._meta as object), ...(progress && { progressToken: id }) };
  return { jsonrpc: '2.0', id, method, params: Object.keys(_meta).length > 0 ? { ...params, _meta } : params };
}

/** Lines on the stdin and stdout of mcpx, after `initialize`. */
export async function talkBytes({ command: { command, args, env, cwd } }: Target, can: Asked[]): Promise<Conversation> {
  const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] });
  const ledger = new Ledger();
  const write = (message: unknown) => void child.stdin.write(`${JSON.stringify(message)}\n`);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const answer = ledger.take(JSON.parse(line));
      if (answer !== undefined) write(answer);
    }
  });
  const request: Conversation['request'] = (method, params = {}, asking = {}) => {
    const id = ledger.newId();
    return new Promise((resolve, reject) => {
      ledger.waiting.set(id, { ...asking, resolve, reject });
      asking.signal?.addEventListener('abort', () => {
        write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
        ledger.waiting.delete(id);
        reject(new Error('aborted by the client'));
      });
      write(requestOf(id, method, params, asking));
    });
  };
  const capabilities = capabilitiesOf(can);
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'raw', version: '1' },
  });
  write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return {
    request,
    heard: ledger.heard,
    listen: async () => undefined,
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

/** Fields that a client adds to every request. */
interface Manner {
  headers(method: string, params: Record<string, unknown>): Record<string, string>;
  meta?: Record<string, unknown>;
  /** Says that a request is not wanted any more, before its connection is closed. */
  cancel?(id: number): Promise<unknown>;
}

/** A POST per request: no `initialize`, no session. */
export async function talkHttp({ url }: Pick<Target, 'url'>): Promise<Conversation> {
  return posting(url, { headers: () => ({}) });
}

/** The same after `initialize`, in a session. */
export async function talkSession({ url }: Pick<Target, 'url'>): Promise<Conversation> {
  const send = (body: object, more = {}) =>
    fetch(url, { method: 'POST', headers: { ...POSTED, ...more }, body: JSON.stringify({ jsonrpc: '2.0', ...body }) });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const hello = await send({ id: 'hello', method: 'initialize', params });
  await hello.text();
  const own = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
  await send({ method: 'notifications/initialized' }, own);
  return posting(url, {
    headers: () => own,
    cancel: (requestId) => send({ method: 'notifications/cancelled', params: { requestId } }, own),
  });
}

const PREFIX = 'io.modelcontextprotocol/';
const MODERN = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientCapabilities`]: {},
  [`${PREFIX}clientInfo`]: { name: 'raw', version: '1' },
};

/** The modern era: every request says who sends it, in its headers and in its body. */
export async function talkModern({ url }: Pick<Target, 'url'>): Promise<Conversation> {
  return posting(url, {
    meta: MODERN,
    headers: (method, { name, uri }) => ({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof (name ?? uri) === 'string' && { 'mcp-name': String(name ?? uri) }),
    }),
  });
}

const POSTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function posting(url: string, { headers, meta, cancel }: Manner): Conversation {
  const ledger = new Ledger();
  const request: Conversation['request'] = async (method, given = {}, asking = {}) => {
    const id = ledger.newId();
    const params = meta ? { ...given, _meta: { ...(given._meta as object), ...meta } } : given;
    const result = new Promise((resolve, reject) => ledger.waiting.set(id, { ...asking, resolve, reject }));
    result.catch(() => undefined);
    const gone = new AbortController();
    asking.signal?.addEventListener('abort', async () => {
      await cancel?.(id);
      gone.abort();
    });
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...POSTED, ...headers(method, params) },
      body: JSON.stringify(requestOf(id, method, params, asking)),
      signal: gone.signal,
    });
    for await (const message of messagesOf(response)) ledger.take(message);
    gone.signal.throwIfAborted();
    return result;
  };
  return { request, heard: ledger.heard, listen: async () => undefined, close: async () => undefined };
}

/** The messages of a response, one by one as they come. */
async function* messagesOf(response: Response): AsyncGenerator<unknown> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield await response.json();
    return;
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const data = line.startsWith('data: ') ? line.slice(6) : '';
      if (data !== '') yield JSON.parse(data);
    }
  }
}
