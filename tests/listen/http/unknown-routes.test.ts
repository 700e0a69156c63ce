/** A client with a wrong address or without a token shows a helpful answer; tested with the official clients. */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, test } from 'vitest';
import { closeAll, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const INFO = { name: 'lost', version: '1' };
const CLIENTS: [string, (url: URL, options: any) => [client: any, transport: any]][] = [
  ['the SDK v1', (url, options) => [new Client(INFO), new StreamableHTTPClientTransport(url, options)]],
  ['the SDK v2', (url, options) => [new ModernClient(INFO), new ModernHttp(url, options)]],
];
const TOKENS = [token('a', 'ka')];
const TAKES = 'this gateway takes a token';

/** A client that begins OAuth as soon as it is refused. */
const oauth = () => ({
  redirectUrl: 'http://localhost/callback',
  clientMetadata: { redirect_uris: ['http://localhost/callback'] },
  ...{ clientInformation: () => undefined, saveClientInformation: () => undefined },
  ...{ tokens: () => undefined, saveTokens: () => undefined, redirectToAuthorization: () => undefined },
  ...{ saveCodeVerifier: () => undefined, codeVerifier: () => '' },
});
const failure = ([client, transport]: [any, any]): Promise<string> =>
  client.connect(transport).then(
    () => 'connected',
    (error: Error) => error.message,
  );

describe.each(CLIENTS)('%s shows', (_, dial) => {
  test('that a token is missing or wrong, and how it is sent', async () => {
    const { url } = await stage({}, { tokens: TOKENS });
    const at = (options = {}) => failure(dial(new URL(url), options));
    for (const said of [await at(), await at({ authProvider: oauth() })]) {
      expect(said).toContain(TAKES);
      expect(said).toMatch(/Authorization: Bearer <token>.*http\.auth\.tokens/);
    }
    const wrong = await at({ requestInit: { headers: { authorization: 'Bearer guess' } } });
    expect(wrong).toMatch(/is not known to this gateway.*http\.auth\.tokens/);
  });

  test('where the endpoint is, and which setting is off', async () => {
    const { listener } = await stage();
    const at = (path: string) => failure(dial(new URL(path, listener.url), {}));
    for (const path of ['/', '/nowhere']) expect(await at(path)).toContain('the MCP endpoint is at /mcp');
    expect(await at('/sse')).toMatch(/HTTP\+SSE of 2024-11-05 is off.*legacySse/);
  });
});

test('a client of HTTP+SSE is told about the token too', async () => {
  const { listener } = await stage({}, { tokens: TOKENS });
  const transport = new SSEClientTransport(new URL('/sse', listener.url), { authProvider: oauth() as any });
  expect(await failure([new Client(INFO), transport])).toContain(TAKES);
});

describe('without OAuth', () => {
  const WELL_KNOWN = ['oauth-protected-resource', 'oauth-authorization-server', 'openid-configuration'];

  test('its routes say in its own form that a token is taken', async () => {
    const { listener } = await stage({}, { tokens: TOKENS });
    const described = expect.stringMatching(/^this gateway takes a token: /);
    const get = (path: string) => send(`${listener.url}${path}`, { method: 'GET' });
    for (const name of WELL_KNOWN)
      for (const path of [`/.well-known/${name}`, `/.well-known/${name}/mcp`, `/mcp/.well-known/${name}`]) {
        const answer = await get(path);
        expect([path, answer.status]).toEqual([path, 404]);
        expect(await answer.json()).toMatchObject({ error: 'invalid_request', error_description: described });
      }
    for (const path of ['/register', '/token']) {
      const answer = await send(`${listener.url}${path}`, { body: {} });
      expect([answer.status, (await answer.json()).error_description]).toEqual([400, described]);
    }
    expect((await get('/nowhere')).status).toBe(401);
  });

  test('and without tokens there is nothing of the kind', async () => {
    const { listener } = await stage();
    const answer = await send(`${listener.url}/register`, { body: {} });
    expect([answer.status, await answer.json()]).toEqual([
      404,
      expect.objectContaining({ error: 'no such route: /register' }),
    ]);
  });
});

test('the 401 tells a wrong token from none, in the header as well', async () => {
  const { url } = await stage({}, { tokens: TOKENS });
  const challenge = async (headers = {}) =>
    (await send(url, { body: rpc('ping'), headers })).headers['www-authenticate'];
  expect(await challenge()).toBe('Bearer');
  expect(await challenge({ authorization: 'Bearer guess' })).toMatch(/^Bearer error="invalid_token"/);
});

test('at / a browser gets the page, and a client that wants events the address', async () => {
  const { listener } = await stage();
  const get = (accept: string) => send(`${listener.url}/`, { method: 'GET', headers: { accept } });
  expect((await get('text/html,*/*')).status).toBe(200);
  const lost = await get('text/event-stream');
  expect([lost.status, (await lost.json()).hint]).toEqual([404, expect.stringContaining('/mcp')]);
});
