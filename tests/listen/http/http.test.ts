/** The HTTP listener on a real socket, with the built-in servers behind it. */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type App, createApp } from '../../../src/app/app.ts';
import { type Config, DEFAULTS, type Profile } from '../../../src/config/config.ts';
import { urlOf } from '../../../src/listen/http/guard.ts';
import { type HttpListener, listenHttp } from '../../../src/listen/http/http.ts';
import { createLog } from '../../../src/observe/log.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { specOf } from '../../world.ts';
import { token } from '../harness.ts';

const open: { app: App; listener: HttpListener }[] = [];
afterEach(async () => {
  for (const { app, listener } of open.splice(0)) {
    await listener.close();
    await app.stop();
  }
});

const profile = (name: string, servers: string[], more: Partial<Profile> = {}): Profile => ({
  name,
  enabled: true,
  servers: servers.map((server) => specOf(server)),
  tools: {},
  resources: {},
  prompts: {},
  ...more,
});

async function start({
  tokens = [],
  http = {},
}: {
  tokens?: ReturnType<typeof token>[];
  http?: Partial<typeof DEFAULTS.http>;
} = {}) {
  const config: Config = {
    files: [],
    settings: { ...DEFAULTS, http: { ...DEFAULTS.http, port: 0, ...http } },
    profiles: [
      profile('default', ['math', 'time']),
      profile('other', ['memory']),
      profile('off', ['json'], { enabled: false }),
    ],
    warnings: [],
  };
  const log = createLog({ level: 'silent' });
  const app = createApp(config, { log });
  const auth = createAuthenticator(tokens);
  const listener = await listenHttp({ gateway: app, settings: config.settings.http, auth, log });
  app.start();
  open.push({ app, listener });
  return listener.url;
}

interface Sent {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** node:http and not fetch, which forbids Host and Origin. */
function send(
  url: string,
  { method = 'POST', body, headers = {} }: Sent = {},
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; json: any }> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const request = httpRequest(
      url,
      { method, headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            json: answer === '' ? undefined : JSON.parse(answer),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(text);
  });
}

const rpc = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params !== undefined && { params }),
});
const exec = (server_name: string, tool_name: string, args: unknown) =>
  rpc('tools/call', { name: 'exec', arguments: { server_name, tool_name, arguments: args } });

describe('MCP over POST', () => {
  test('initialize, tools/list and a call work without a session', async () => {
    const url = `${await start()}/mcp`;
    const hello = await send(url, { body: rpc('initialize', { protocolVersion: '2025-06-18', capabilities: {} }) });
    expect(hello).toMatchObject({
      status: 200,
      json: { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-06-18' } },
    });
    expect(hello.headers['content-type']).toBe('application/json');
    const list = await send(url, { body: rpc('tools/list') });
    expect(list.json.result.tools.map(({ name }: { name: string }) => name)).toEqual(['inspect', 'exec']);
    const call = await send(url, { body: exec('math', 'calculate', { expression: '6 * 7' }) });
    expect(JSON.stringify(call.json.result)).toContain('42');
  });

  test('id 0 is answered as 0', async () => {
    expect((await send(`${await start()}/mcp`, { body: rpc('ping', undefined, 0) })).json).toEqual({
      jsonrpc: '2.0',
      id: 0,
      result: {},
    });
  });

  test('a notification is accepted without an answer', async () => {
    const { status, json } = await send(`${await start()}/mcp`, {
      body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    });
    expect([status, json]).toEqual([202, undefined]);
  });

  test('/api/{profile}/mcp shows all tools, /mcp/{profile} the two of that profile', async () => {
    const url = await start();
    const all = await send(`${url}/api/default/mcp`, { body: rpc('tools/list') });
    expect(all.json.result.tools.map(({ name }: { name: string }) => name)).toContain('math__calculate');
    const call = await send(`${url}/api/default/mcp`, {
      body: rpc('tools/call', { name: 'math__calculate', arguments: { expression: '1+1' } }),
    });
    expect(JSON.stringify(call.json.result)).toContain('2');
    const other = await send(`${url}/mcp/other`, { body: rpc('tools/list') });
    expect(other.json.result.tools[0].description).toContain('memory');
    expect(other.json.result.tools[0].description).not.toContain('math');
    const front = await send(`${url}/mcp/other?front=aggregate`, { body: rpc('tools/list') });
    expect(front.json.result.tools.length).toBeGreaterThan(2);
  });
});

describe('bad input', () => {
  test.each([
    ['garbage', '{nope', 400, -32700],
    ['an array', '[]', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":5}', 400, -32600],
    ['a wrong version', '{"jsonrpc":"1.0","id":5,"method":"ping"}', 400, -32600],
    ['an unknown method', JSON.stringify(rpc('nonsense')), 200, -32601],
  ])('%s', async (_, body, status, code) => {
    const answer = await send(`${await start()}/mcp`, { body });
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
  });

  test('an invalid request is answered under its id', async () => {
    expect((await send(`${await start()}/mcp`, { body: '{"jsonrpc":"1.0","id":"x","method":"ping"}' })).json.id).toBe(
      'x',
    );
  });

  test('too large a body is 413, announced or not', async () => {
    const url = `${await start({ http: { maxBody: 1000 } })}/mcp`;
    const body = JSON.stringify(rpc('ping', { pad: 'x'.repeat(2000) }));
    expect((await send(url, { body, headers: { 'content-length': String(body.length) } })).status).toBe(413);
    expect((await send(url, { body, headers: { 'transfer-encoding': 'chunked' } })).status).toBe(413);
  });

  test('another content type is 415', async () => {
    const url = `${await start()}/mcp`;
    expect((await send(url, { body: '{}', headers: { 'content-type': 'text/plain' } })).status).toBe(415);
  });

  test('another method is 405 with Allow, an unknown route 404', async () => {
    const url = await start();
    const wrong = await send(`${url}/mcp`, { method: 'PUT' });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
    expect((await send(`${url}/nowhere`, { method: 'GET' })).status).toBe(404);
  });

  test('one slash at the end is no other route, two are', async () => {
    const url = await start();
    expect((await send(`${url}/mcp/`, { body: rpc('ping') })).status).toBe(200);
    expect((await send(`${url}/mcp//`, { body: rpc('ping') })).status).toBe(404);
    const refused = await send(`${url}/api/off/mcp/`, { body: rpc('ping') });
    expect([refused.status, refused.json.error.message]).toEqual([403, 'the profile "off" is disabled']);
  });

  test('an unknown profile is 404, a disabled one 403 and named', async () => {
    const url = await start();
    expect((await send(`${url}/mcp/nobody`, { body: rpc('ping') })).status).toBe(404);
    expect((await send(`${url}/mcp/%E0%A4%A`, { body: rpc('ping') })).status).toBe(404);
    const off = await send(`${url}/mcp/off`, { body: rpc('ping') });
    expect([off.status, off.json.error.message]).toEqual([403, 'the profile "off" is disabled']);
    const ids = ['/mcp/off', '/mcp/nobody', '/mcp?front=nice'].map(async (path) => {
      const { json } = await send(`${url}${path}`, { body: rpc('ping', {}, 'own') });
      return json.id;
    });
    expect(await Promise.all(ids)).toEqual(['own', 'own', 'own']);
    expect((await send(`${url}/mcp/nobody`, { body: '{' })).status).toBe(404);
  });

  test('an unknown front is 400', async () => {
    expect((await send(`${await start()}/mcp?front=nice`, { body: rpc('ping') })).status).toBe(400);
  });

  test('a client that hangs up in the middle disturbs nobody', async () => {
    const url = await start();
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"jsonrpc"`,
    );
    socket.destroy();
    expect((await send(`${url}/mcp`, { body: rpc('ping') })).status).toBe(200);
  });
});

describe('who may call', () => {
  test.each([
    ['the bound address', {}, 200],
    ['localhost', { host: 'LocalHost:1' }, 200],
    ['::1', { host: '[::1]:1' }, 200],
    ['a rebound name', { host: 'evil.example' }, 403],
    ['a name that begins like ours', { host: '127.0.0.1.evil.example' }, 403],
    ['a configured name', { host: 'gateway.example' }, 200],
    ['its own page', { host: 'localhost:9', origin: 'http://localhost:9' }, 200],
    ['another page', { host: 'localhost:9', origin: 'http://localhost:8' }, 403],
    ['a foreign page', { origin: 'https://evil.example' }, 403],
    ['a sandboxed page', { origin: 'null' }, 403],
    ['a name that was configured with its port', { host: 'ported.example:8443' }, 200],
    ['a configured page', { origin: 'https://app.example' }, 200],
  ])('%s', async (_, headers, status) => {
    const url = await start({
      http: { hosts: ['gateway.example', 'Ported.example:8443'], cors: { origins: ['https://app.example'] } },
    });
    expect((await send(`${url}/mcp`, { body: rpc('ping'), headers: headers as Record<string, string> })).status).toBe(
      status,
    );
  });

  test('with tokens, none or a wrong one is 401, and nothing is said of the right ones', async () => {
    const url = `${await start({ tokens: [token('ci', 'right')] })}/mcp`;
    const none = await send(url, { body: rpc('ping') });
    const wrong = await send(url, { body: rpc('ping'), headers: { authorization: 'Bearer wrong' } });
    expect([none.status, wrong.status, none.headers['www-authenticate']]).toEqual([401, 401, 'Bearer']);
    const { requestId, ...rest } = wrong.json.error.data;
    expect([rest, wrong.json.error.code]).toEqual([{ hint: none.json.error.data.hint }, none.json.error.code]);
    expect(requestId).toBe(wrong.headers['x-request-id']);
    expect(JSON.stringify([none.json, wrong.json])).not.toMatch(/ci|right/);
    expect((await send(url, { body: rpc('ping'), headers: { authorization: 'Bearer right' } })).status).toBe(200);
  });

  test('a token sees its profiles and tools only', async () => {
    const url = await start({
      tokens: [token('ci', 'k', { profiles: ['default'], tools: { allow: ['math.calc*'] } })],
    });
    const headers = { authorization: 'Bearer k' };
    const list = await send(`${url}/api/default/mcp`, { body: rpc('tools/list'), headers });
    expect(list.json.result.tools.map(({ name }: { name: string }) => name)).toEqual(['math__calculate']);
    const denied = await send(`${url}/mcp`, { body: exec('time', 'now', {}), headers });
    expect(denied.json.result.isError).toBe(true);
    const hidden = await send(`${url}/mcp/other`, { body: rpc('ping'), headers });
    const missing = await send(`${url}/mcp/xther`, { body: rpc('ping'), headers });
    expect([hidden.status, missing.status]).toEqual([404, 404]);
    const status = await send(`${url}/api/status`, { method: 'GET', headers });
    expect(status.json.profiles.map(({ name }: { name: string }) => name)).toEqual(['default']);
    expect(status.json.profiles[0].servers).toMatchObject([
      { name: 'math', tools: 1 },
      { name: 'time', tools: 0 },
    ]);
  });

  test('binding elsewhere without a token is refused', async () => {
    await expect(start({ http: { host: '0.0.0.0' } })).rejects.toMatchObject({
      code: 'config',
      hint: expect.stringContaining('MCPX_TOKEN'),
    });
    const url = await start({ http: { host: '0.0.0.0' }, tokens: [token('ci', 'k')] });
    const { port } = new URL(url);
    const headers = { authorization: 'Bearer k' };
    expect((await send(`http://127.0.0.1:${port}/mcp`, { body: rpc('ping'), headers })).status).toBe(200);
    expect(
      (await send(`http://127.0.0.1:${port}/mcp`, { body: rpc('ping'), headers: { ...headers, host: 'x' } })).status,
    ).toBe(403);
  });
});

test('a taken port is said, with what to type instead', async () => {
  const { port } = new URL(await start());
  await expect(start({ http: { port: Number(port) } })).rejects.toMatchObject({
    code: 'failed',
    message: `port ${port} on 127.0.0.1 is taken`,
    hint: expect.stringContaining('--port 0'),
  });
});

test('an address that is not ours is said', async () => {
  await expect(start({ http: { host: '192.0.2.1' }, tokens: [token('a', 'b')] })).rejects.toMatchObject({
    code: 'failed',
    message: expect.stringContaining('cannot listen on 192.0.2.1'),
    hint: 'listen on an address of this machine, as --host 127.0.0.1',
  });
});

test('the status names every server and its state', async () => {
  const url = await start();
  await send(`${url}/mcp`, { body: exec('math', 'calculate', { expression: '1' }) });
  const { json } = await send(`${url}/api/status`, { method: 'GET' });
  expect(json).toMatchObject({
    name: 'mcpx',
    calls: { calls: 1, errors: 0 },
    profiles: [
      {
        name: 'default',
        enabled: true,
        servers: [{ name: 'math', type: 'builtin', state: 'ready' }, { name: 'time' }],
      },
      { name: 'other' },
      { name: 'off', enabled: false },
    ],
  });
});

test('addresses are written as URLs', () => {
  expect(urlOf('::1', 1)).toBe('http://[::1]:1');
  expect(urlOf('127.0.0.1', 1)).toBe('http://127.0.0.1:1');
});
