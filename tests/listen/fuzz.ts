/** Random and mutated HTTP requests as bytes, the same for the same seed, and a client that throws them at a port. */
import { connect as connectSocket } from 'node:net';
import { rpc } from './harness.ts';

/** ms of silence after which a request that does not end is left, provided that the gateway answers others meanwhile. */
const SILENCE = 400;

/** mulberry32: small, fast, and the same everywhere. */
export function randomOf(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  return { next, below, pick };
}

type Random = ReturnType<typeof randomOf>;

const NASTY = [
  ...[
    '',
    '0',
    '__proto__',
    'constructor',
    'toString',
    '../../etc/passwd',
    '%00',
    '\u0000',
    '\ud800',
    '🦀',
    'x'.repeat(3000),
  ],
  ...[
    'proxy://resource/',
    'proxy://resource/e30',
    'proxy://resource/eyJzZXJ2ZXIiOiJfX3Byb3RvX18iLCJ1cmkiOiJhIn0',
    'file:///',
  ],
  ...[
    null,
    true,
    false,
    0,
    -1,
    1e308,
    0.1,
    [],
    {},
    [[]],
    { __proto__: null, a: 1 },
    '{"a":1}',
    '\r\nX-Injected: 1',
    '中文',
  ],
];
const METHODS = [
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'resources/list', 'resources/read', 'resources/templates/list'],
  ...['resources/subscribe', 'resources/unsubscribe', 'prompts/list', 'prompts/get', 'completion/complete', 'nonsense'],
  ...[
    'logging/setLevel',
    'server/discover',
    'subscriptions/listen',
    'notifications/cancelled',
    'notifications/progress',
  ],
  ...['notifications/initialized', '__proto__', 'rpc.discover', ''],
];
const PATHS = [
  ...[
    '/mcp',
    '/mcp/default',
    '/mcp/off',
    '/mcp/nobody',
    '/mcp/%E0%A4%A',
    '/api/default/mcp',
    '/sse',
    '/messages?sessionId=x',
  ],
  ...[
    '/api/status',
    '/api/events',
    '/metrics',
    '/healthz',
    '/readyz',
    '/',
    '/api/default/tools',
    '/api/default/servers',
  ],
  ...[
    '/api/default/tools/math/calculate',
    '/api/default/tools/__proto__/x',
    '/api/openapi.json',
    '/api/reload',
    '/api/servers',
    '/authorize?client_id=x&redirect_uri=x',
    '/token',
    '/register',
    '/revoke',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/mcp/default',
  ],
  ...[
    '/mcp?front=aggregate',
    '/mcp?front=x',
    '//mcp',
    '/mcp/',
    '/mcp/default/x',
    '/..%2f',
    '*',
    'http://evil.example/mcp',
  ],
];

function value(random: Random, depth = 0): unknown {
  if (depth > 2 || random.next() < 0.6) return random.pick(NASTY);
  if (random.next() < 0.5) return Array.from({ length: random.below(4) }, () => value(random, depth + 1));
  const keys = [
    'name',
    'arguments',
    'uri',
    'ref',
    'cursor',
    'server_name',
    'tool_name',
    'calls',
    '_meta',
    '__proto__',
    'method',
  ];
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.pick(keys), value(random, depth + 1)]),
  );
}

function record(random: Random): object {
  const made = value(random);
  return typeof made === 'object' && made !== null ? made : {};
}

function params(random: Random, method: string): unknown {
  if (random.next() < 0.15) return value(random);
  const target = {
    server_name: random.pick(['math', 'text', 'x', '__proto__']),
    tool_name: random.pick(['calculate', 'x', 'constructor']),
  };
  const known: Record<string, unknown> = {
    initialize: {
      protocolVersion: random.pick(['2025-11-25', '2024-11-05', '1', 7]),
      capabilities: record(random),
      clientInfo: value(random),
    },
    'tools/call': {
      name: random.pick(['exec', 'inspect', 'math__calculate']),
      arguments: { ...target, arguments: value(random) },
      _meta: value(random),
    },
    'resources/read': { uri: random.pick(NASTY) },
    'prompts/get': { name: random.pick(NASTY), arguments: value(random) },
    'completion/complete': {
      ref: {
        type: random.pick(['ref/prompt', 'ref/resource', 'x']),
        name: random.pick(NASTY),
        uri: random.pick(NASTY),
      },
    },
    'logging/setLevel': { level: random.pick(['info', ...NASTY]) },
  };
  return Object.hasOwn(known, method) ? known[method] : { ...record(random) };
}

function message(random: Random): unknown {
  const method = random.pick(METHODS);
  const id = random.next() < 0.15 ? undefined : random.next() < 0.9 ? random.below(9) : random.pick(NASTY);
  return {
    jsonrpc: random.next() < 0.95 ? '2.0' : value(random),
    id,
    method: random.next() < 0.97 ? method : value(random),
    params: params(random, method),
  };
}

function body(random: Random): string {
  const kind = random.next();
  if (kind < 0.1)
    return Array.from({ length: random.below(60) }, () => String.fromCharCode(random.below(300))).join('');
  if (kind < 0.2) return JSON.stringify(Array.from({ length: random.below(6) }, () => message(random)));
  if (kind < 0.22) return `${'['.repeat(20_000)}`;
  if (kind < 0.24) return JSON.stringify(rpc('ping', { pad: 'x'.repeat(120_000) }));
  return JSON.stringify(message(random) ?? null);
}

/** One request as bytes: well-formed first, then damaged. */
export function bytes(random: Random, secret: string | undefined, session: string): Buffer {
  const method = random.pick([
    'POST',
    'POST',
    'POST',
    'POST',
    'GET',
    'DELETE',
    'OPTIONS',
    'PUT',
    'PATCH',
    'HEAD',
    'TRACE',
    'X',
  ]);
  const text = method === 'GET' || method === 'HEAD' ? '' : body(random);
  const rare = (chance: number, line: string) => (random.next() < chance ? [line] : []);
  const lines = [
    `${method} ${random.next() < 0.7 ? '/mcp' : random.pick(PATHS)} HTTP/1.1`,
    `Host: ${random.next() < 0.95 ? 'localhost' : random.pick(['evil.example', '', '[::1', 'a b'])}`,
    'Connection: close',
    `Content-Type: ${random.next() < 0.95 ? 'application/json' : 'text/plain'}`,
    `Accept: ${random.pick(['application/json, text/event-stream', 'application/json', 'text/event-stream', '*/*', 'x'])}`,
    ...(secret === undefined || random.next() < 0.05
      ? []
      : [`Authorization: Bearer ${random.next() < 0.95 ? secret : 'x'}`]),
    ...rare(0.2, `Mcp-Session-Id: ${random.next() < 0.8 ? session : 'x'}`),
    ...rare(0.2, `MCP-Protocol-Version: ${random.pick(['2025-11-25', '2026-07-28', '2025-03-26', 'x'])}`),
    ...rare(0.2, `Mcp-Method: ${random.pick(METHODS)}`),
    ...rare(0.1, `Last-Event-ID: ${random.pick(['0-1', 'z-9', '-', '999999999999999999999-1'])}`),
    ...rare(0.05, `Origin: ${random.pick(['null', 'https://evil.example', 'http://localhost'])}`),
    ...rare(0.02, `X-Pad: ${'y'.repeat(20_000)}`),
    ...rare(0.03, 'Transfer-Encoding: chunked'),
    ...rare(0.03, 'Expect: 100-continue'),
    ...rare(0.03, 'Upgrade: websocket'),
    `Content-Length: ${random.next() < 0.95 ? Buffer.byteLength(text) : random.pick([0, -1, 5, 1e9, 'x'])}`,
  ];
  const whole = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`);
  return random.next() < 0.25 ? damaged(whole, random) : whole;
}

function damaged(whole: Buffer, random: Random): Buffer {
  const at = random.below(whole.length);
  const kind = random.below(4);
  if (kind === 0) return whole.subarray(0, at);
  if (kind === 1) return Buffer.concat([whole.subarray(0, at), Buffer.from([random.below(256)]), whole.subarray(at)]);
  if (kind === 2) return Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1 + random.below(8))]);
  const copy = Buffer.from(whole);
  for (let i = 0; i < 4; i++) copy[random.below(copy.length)] = random.below(256);
  return copy;
}

/** Resolves when another request has been answered. */
function probe(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.resume();
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  });
}

/** The status line of the answer, and the start of its body; empty where there was none. */
export function throwAt(port: number, request: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1');
    let text = '';
    const done = () => {
      socket.destroy();
      resolve(text);
    };
    // Silence of a busy gateway means nothing: requests that came later must have been answered.
    socket.setTimeout(
      SILENCE,
      () =>
        void probe(port)
          .then(() => probe(port))
          .then(done),
    );
    socket.on('data', (chunk) => {
      if (text.length < 4000) text += chunk.toString('latin1');
    });
    socket.on('error', done);
    socket.on('close', done);
    socket.write(request);
  });
}
