/**
 * The MCP clients of `bench-soak.mjs`: over HTTP with a session, without one, and of the modern era; over stdio. Each has `request`, which
 * resolves with `{result}` or `{error}` of the answer and rejects with a `Lost` where none came, and answers questions for roots.
 */
import { Agent, request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';

/** No answer: a connection that failed, an HTTP status that is none of MCP, silence. Never excused by a fault of a server. */
export class Lost extends Error {}

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';
export const LEGACY = '2025-11-25';

/** Messages of an event stream, as they come. */
function readEvents(response, take) {
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk) => {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n');
      if (data !== '') take(JSON.parse(data));
    }
  });
}

/** One HTTP exchange; `take` gets every message of the answer, whatever its form. Resolves with status and headers when it is over. */
function exchange({ port, path, method = 'POST', headers, body, agent, patience, opened }, take) {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent });
    const timer = setTimeout(
      () => sent.destroy(new Lost(`no answer within ${patience / 1000} s`)),
      patience ?? 2 ** 30,
    );
    const fail = (error) => {
      clearTimeout(timer);
      const reused = sent.reusedSocket ? ' on a kept connection' : '';
      reject(error instanceof Lost ? error : new Lost(`${error.code ?? ''} ${error.message}${reused}`.trim()));
    };
    sent.on('error', fail);
    sent.on('response', (response) => {
      const { statusCode: status, headers: got } = response;
      let text = '';
      const read = (message) => {
        try {
          take(message);
        } catch (error) {
          fail(error);
        }
      };
      const isStream = got['content-type']?.startsWith('text/event-stream');
      if (isStream) readEvents(response, read);
      else response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('error', fail);
      response.on('end', () => {
        clearTimeout(timer);
        if (!isStream && text.startsWith('{')) read(JSON.parse(text));
        resolve({ status, headers: got, text });
      });
    });
    opened?.(sent);
    sent.end(body);
  });
}

/**
 * Connections that were not used for a while are closed by the client, well before mcpx does (75 s): a request that is sent at the moment
 * of such a closing is lost, which no server can prevent.
 */
const openAgent = (keepAlive) => new Agent({ keepAlive, maxSockets: 256, timeout: 20_000 });

const LEGACY_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/**
 * `kind`: `session`, `stateless` or `modern`. `keepAlive` is false for one that connects anew for every request. `roots` are URIs.
 * `heard` is told of every notification.
 */
export function httpClient({ port, path, token, kind, keepAlive, roots, patience, heard = () => undefined }) {
  let agent = openAgent(keepAlive);
  const streams = new Set();
  let session;
  let lastId = 0;

  const headersOf = (message) => ({
    ...LEGACY_HEADERS,
    authorization: `Bearer ${token}`,
    ...(kind === 'modern' && {
      'mcp-protocol-version': MODERN,
      'mcp-method': message?.method,
      ...(message?.params?.name !== undefined && { 'mcp-name': message.params.name }),
    }),
    ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY }),
  });
  const post = (message, take = () => undefined) => {
    const body = JSON.stringify(message);
    return exchange(
      {
        port,
        path,
        headers: { ...headersOf(message), 'content-length': Buffer.byteLength(body) },
        body,
        agent,
        patience,
      },
      take,
    );
  };
  const reply = (message) => {
    const answer =
      message.method === 'roots/list'
        ? { result: { roots: (roots ?? []).map((uri) => ({ uri })) } }
        : { error: { code: -32601, message: 'Method not found' } };
    post({ jsonrpc: '2.0', id: message.id, ...answer }).catch((error) => heard({ method: 'lost', params: error }));
  };

  const client = {
    async request(method, params = {}) {
      const id = ++lastId;
      const meta = {
        [`${META}protocolVersion`]: MODERN,
        [`${META}clientCapabilities`]: {},
        [`${META}clientInfo`]: { name: 'soak', version: '1' },
      };
      const sent = kind === 'modern' ? { ...params, _meta: { ...params._meta, ...meta } } : params;
      let answer;
      const { status, headers, text } = await post({ jsonrpc: '2.0', id, method, params: sent }, (message) => {
        if (message.method === undefined) answer = message;
        else if (message.id !== undefined) reply(message);
        else heard(message);
      });
      if (answer === undefined || answer.id !== id || status >= 500)
        throw new Lost(`HTTP ${status}: ${text.slice(0, 300)}`);
      if (method === 'initialize') session = headers['mcp-session-id'];
      return answer;
    },
    async open() {
      if (kind !== 'session') return;
      session = undefined;
      const capabilities = roots === undefined ? {} : { roots: {} };
      const { error } = await client.request('initialize', {
        ...{ protocolVersion: LEGACY, capabilities },
        clientInfo: { name: 'soak', version: '1' },
      });
      if (error !== undefined || session === undefined) throw new Lost(`no session: ${JSON.stringify(error)}`);
      await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    },
    /** The stream of a session for what belongs to no request; `ended` is called when it ends before `close`. */
    listen(ended) {
      const headers = { ...headersOf(), accept: 'text/event-stream' };
      const take = (message) => (message.id === undefined ? heard(message) : reply(message));
      let stream;
      const opened = (sent) => {
        stream = sent;
        streams.add(sent);
      };
      exchange({ port, path, method: 'GET', headers, opened }, take).then(
        ({ status }) => streams.has(stream) && ended(`the stream of a session ended (HTTP ${status})`),
        (error) => streams.has(stream) && ended(`the stream of a session was lost: ${error.message}`),
      );
    },
    /** Closes the connections that are kept; not for a moment in which something is asked. */
    rest() {
      agent.destroy();
      agent = openAgent(keepAlive);
    },
    /** Ends the session. */
    async end() {
      if (session === undefined) return;
      const { status } = await exchange(
        { port, path, method: 'DELETE', headers: headersOf(), agent, patience },
        () => undefined,
      );
      session = undefined;
      if (status >= 300) throw new Lost(`DELETE of a session: HTTP ${status}`);
    },
    close() {
      const all = [...streams];
      streams.clear();
      for (const stream of all) stream.destroy();
      agent.destroy();
    },
  };
  return client;
}

/** Over the pipes of a child. */
export function stdioClient({ child, roots, patience, heard = () => undefined }) {
  const waiting = new Map();
  let lastId = 0;
  const send = (message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const settle = (id, how, what) => {
    const { [how]: done, timer } = waiting.get(id) ?? {};
    clearTimeout(timer);
    waiting.delete(id);
    done?.(what);
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) settle(message.id, 'resolve', message);
    else if (message.method === 'roots/list')
      send({ id: message.id, result: { roots: (roots ?? []).map((uri) => ({ uri })) } });
    else if (message.id === undefined) heard(message);
  });
  child.stdin.on('error', () => undefined);
  child.once('close', (code, signal) => {
    for (const id of [...waiting.keys()]) settle(id, 'reject', new Lost(`mcpx ended with ${signal ?? code}`));
  });
  const client = {
    request: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        const silence = new Lost(`no answer within ${patience / 1000} s`);
        waiting.set(id, { resolve, reject, timer: setTimeout(() => settle(id, 'reject', silence), patience) });
        send({ id, method, params });
      }),
    async open() {
      const capabilities = roots === undefined ? {} : { roots: {} };
      await client.request('initialize', {
        ...{ protocolVersion: LEGACY, capabilities },
        clientInfo: { name: 'soak', version: '1' },
      });
      send({ method: 'notifications/initialized' });
    },
    rest: () => undefined,
    end: async () => undefined,
    close: () => undefined,
  };
  return client;
}
