/** Kept results over HTTP: for a session, for a request that stands alone, in both eras, and for nobody else. */
import { afterEach, expect, test } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import { type Config, DEFAULTS } from '../../src/config/config.ts';
import { type HttpListener, listenHttp } from '../../src/listen/http/http.ts';
import { createLog } from '../../src/observe/log.ts';
import { createAuthenticator } from '../../src/policy/auth.ts';
import { specOf } from '../world.ts';
import { BOTH, call, connect, rpc, send, token } from './harness.ts';

const open: { app: App; listener: HttpListener }[] = [];
afterEach(async () => {
  for (const { app, listener } of open.splice(0)) {
    await listener.close();
    await app.stop();
  }
});

async function start(tokens: ReturnType<typeof token>[] = []): Promise<string> {
  const profile = (name: string) => ({
    ...{ name, enabled: true, servers: [specOf('math')] },
    ...{ tools: {}, resources: {}, prompts: {} },
  });
  const config: Config = {
    files: [],
    settings: {
      ...DEFAULTS,
      http: { ...DEFAULTS.http, port: 0 },
      limits: { ...DEFAULTS.limits, resultChars: 100 },
    },
    profiles: [profile('default'), profile('other')],
    warnings: [],
  };
  const log = createLog({ level: 'silent' });
  const app = createApp(config, { log });
  const auth = createAuthenticator(tokens);
  const listener = await listenHttp({ gateway: app, settings: config.settings.http, auth, log });
  open.push({ app, listener });
  return listener.url;
}

const LARGE = call('exec', {
  ...{ server_name: 'math', tool_name: 'convert_base' },
  arguments: { number: 'a'.repeat(500), from: 16, to: 16 },
});
const idIn = (answer: { result: unknown }) => /as \\"([\w-]+)\\"/.exec(JSON.stringify(answer.result))?.[1] ?? '';
const page = (result: string) => call('inspect', { result, offset: 11, limit: 5 });
const read = (answer: any): string => answer.result.content[0].text;

test('without a session, a later request reads on; another profile or token does not', async () => {
  const url = await start([token('a', 'secret-a'), token('b', 'secret-b')]);
  const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const ask = async (body: unknown, secret = 'secret-a', path = '/mcp') =>
    (await send(url + path, { body, headers: as(secret) })).json();
  const id = idIn(await ask(LARGE));
  expect(id).toHaveLength(22);
  expect(read(await ask(page(id)))).toBe('aaaaa');
  expect(read(await ask(page(id), 'secret-b'))).toContain('no result is kept');
  expect(read(await ask(page(id), 'secret-a', '/mcp/other'))).toContain('no result is kept');
  expect((await ask(rpc('resources/list'))).result.resources).toEqual([]);
  const { result } = await ask(rpc('resources/read', { uri: `mcpx://result/${id}` }));
  expect(JSON.parse(result.contents[0].text)).toEqual({ number: 'a'.repeat(500) });
});

test('a session has its own results, until it ends', async () => {
  const url = `${await start()}/mcp`;
  const [one, two] = [await connect(url), await connect(url)];
  const answer = async (client: typeof one, body: unknown) => (await client.post(body)).json();
  const id = idIn(await answer(one, LARGE));
  expect(read(await answer(one, page(id)))).toBe('aaaaa');
  expect((await answer(one, rpc('resources/list'))).result.resources).toHaveLength(1);
  expect(read(await answer(two, page(id)))).toContain('no result is kept');
  expect((await answer(two, rpc('resources/list'))).result.resources).toEqual([]);
  expect(read(await (await send(url, { body: page(id), headers: BOTH })).json())).toContain('no result is kept');
  await one.delete();
  expect(read(await answer(await connect(url), page(id)))).toContain('no result is kept');
});

test('requests of 2026-07-28 stand alone, and read on by the id', async () => {
  const url = `${await start()}/mcp`;
  const meta = 'io.modelcontextprotocol/';
  const ask = async ({ params }: { params?: any }) => {
    const envelope = { [`${meta}protocolVersion`]: '2026-07-28', [`${meta}clientCapabilities`]: {} };
    const body = rpc('tools/call', { ...params, _meta: envelope });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name };
    return (await send(url, { body, headers: { ...BOTH, ...headers } })).json();
  };
  const id = idIn(await ask(LARGE));
  expect(read(await ask(page(id)))).toBe('aaaaa');
});
