/** Thousands of random and mutated requests over real sockets, after which the gateway still answers and nothing broke. Seeded. */
import { afterEach, expect, test } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import { type Config, DEFAULTS } from '../../src/config/config.ts';
import { type HttpListener, listenHttp } from '../../src/listen/http/http.ts';
import { createLog } from '../../src/observe/log.ts';
import { createAuthenticator } from '../../src/policy/auth.ts';
import { specOf } from '../world.ts';
import { bytes, randomOf, throwAt } from './fuzz.ts';
import { connect, rpc, send, token } from './harness.ts';

const REQUESTS = 2500;
/** Requests at once. */
const WIDTH = 40;
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
