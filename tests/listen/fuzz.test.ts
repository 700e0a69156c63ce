/** Thousands of random and mutated requests over real sockets, after which the gateway still answers and nothing broke. Seeded. */
import { connect as connectSocket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import { type Config, DEFAULTS } from '../../src/config/config.ts';
import { type HttpListener, listenHttp } from '../../src/listen/http.ts';
import { createLog } from '../../src/observe/log.ts';
import { createAuthenticator } from '../../src/policy/auth.ts';
import { specOf } from '../world.ts';
import { connect, rpc, send, token } from './harness.ts';

const REQUESTS = 2500;
/** Requests at once. */
const WIDTH = 40;
/** ms of silence after which a request that does not end is left. */
const SILENCE = 400;

const open: { app: App; listener: HttpListener }[] = [];
afterEach(async () => {
  for (const { app, listener } of open.splice(0)) {
    await listener.close();
    await app.stop();
  }
});

async function start(secret: string | undefined) {
  const servers = ['math', 'time', 'text', 'memory', 'json'].map((name) => specOf(name));
  const http = { ...DEFAULTS.http, port: 0, legacySse: true, maxBody: 100_000, maxSessions: 60, sessionsPerToken: 60 };
  const rules = { tools: {}, resources: {}, prompts: {} };
  const config: Config = {
    files: [],
    settings: { ...DEFAULTS, http },
    profiles: [
      { name: 'default', enabled: true, servers, ...rules },
      { name: 'off', enabled: false, servers, ...rules },
    ],
    warnings: [],
  };
  const errors: string[] = [];
  const log = createLog({ level: 'error', write: (line) => errors.push(line) });
  const app = createApp(config, { log });
  const auth = createAuthenticator(secret === undefined ? [] : [token('fuzz', secret, { admin: true })]);
  const listener = await listenHttp({ gateway: app, settings: http, auth, log, arrival: 2000 });
  open.push({ app, listener });
  await app.listed();
  return { url: listener.url, errors };
}

/** mulberry32: small, fast, and the same everywhere. */
function randomOf(seed: number) {
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
function bytes(random: Random, secret: string | undefined, session: string): Buffer {
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

/** The status line of the answer, and the start of its body; empty where there was none. */
function throwAt(port: number, request: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1');
    let text = '';
    const done = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(SILENCE, done);
    socket.on('data', (chunk) => {
      if (text.length < 4000) text += chunk.toString('latin1');
    });
    socket.on('error', done);
    socket.on('close', done);
    socket.write(request);
  });
}

test.each([
  ['an open gateway', undefined, 7],
  ['a gateway with tokens', 's3cret', 11],
])('%s survives whatever is thrown at it', { timeout: 120_000 }, async (_, secret, seed) => {
  const { url, errors } = await start(secret);
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const random = randomOf(seed);
  /** One session is used by whatever is sent, and may be ended by it; the other is nobody's but its own. */
  const prey = await connect(`${url}/mcp`, { headers });
  const own = await connect(`${url}/mcp`, { headers });
  // With an open stream it is not idle, and need not make room for others.
  const stream = await own.get();
  const port = Number(new URL(url).port);
  const statuses = new Map<string, number>();
  const unexplained: string[] = [];
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      const answer = await throwAt(port, bytes(random, secret, prey.id));
      const status = /HTTP\/1\.1 (?!100)(\d{3})/.exec(answer)?.[1] ?? 'none';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const explained = !status.startsWith('5') || (status === '503' && /"(?:message|hint)"/.test(answer));
      if (!explained) unexplained.push(answer.slice(0, 500));
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));

  expect(unexplained).toEqual([]);
  expect(errors).toEqual([]);
  // It was not all refused at the door.
  const usual = ['200', '202', '400', '403', '404', '405', '406', '413', '415', '431'];
  expect(usual.filter((status) => !statuses.has(status))).toEqual([]);
  expect(statuses.get('200')).toBeGreaterThan(100);
  expect(statuses.get('400')).toBeGreaterThan(100);
  if (secret !== undefined) expect(statuses.get('401')).toBeGreaterThan(10);
  const call = {
    name: 'exec',
    arguments: { server_name: 'math', tool_name: 'calculate', arguments: { expression: '6*7' } },
  };
  const still = await send(`${url}/mcp`, { body: rpc('tools/call', call), headers });
  expect([still.status, JSON.stringify(await still.json())]).toEqual([200, expect.stringContaining('42')]);
  const answer = await (await own.post(rpc('tools/call', call, 'mine'))).text();
  expect(answer).toContain('"id":"mine"');
  expect(answer).toContain('42');
  stream.leave();
});
