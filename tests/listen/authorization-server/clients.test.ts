/** Clients of the authorization server: metadata documents and dynamic registration, both bounded. */
import { describe, expect, test } from 'vitest';
import {
  type ClientDocuments,
  createClientDocuments,
  type FetchDocument,
} from '../../../src/listen/authorization-server/client-documents.ts';
import { createRegistrations } from '../../../src/listen/authorization-server/dynamic-registration.ts';
import { createGrantFile, type Grant } from '../../../src/listen/authorization-server/grant-file.ts';
import { createPublicGuard } from '../../../src/upstream/oauth/network-guard.ts';

const HOUR = 60 * 60_000;
const URL_ID = 'https://app.example/client.json';
const LOCAL_ID = 'http://127.0.0.1:9000/client.json';
const metadata = (more: object = {}) => ({
  client_id: URL_ID,
  client_name: 'App',
  redirect_uris: ['https://app.example/cb'],
  ...more,
});

function documents(fetchDocument?: FetchDocument) {
  const clock = { now: 0 };
  const asked: [string, boolean][] = [];
  const lines: string[] = [];
  const found = createClientDocuments({
    fetchDocument:
      fetchDocument &&
      ((url, allowLoopback) => {
        asked.push([url, allowLoopback]);
        return fetchDocument(url, allowLoopback);
      }),
    log: { debug: (line) => void lines.push(line) },
    now: () => clock.now,
  });
  return { found, clock, asked, lines };
}

const says =
  (value: unknown, status = 200): FetchDocument =>
  async () => ({
    status,
    text: typeof value === 'string' ? value : JSON.stringify(value),
  });
const find = (found: ClientDocuments, url = URL_ID, isLocal = false, address = '203.0.113.7') =>
  found.find(url, { address, isLocal });

describe('metadata documents', () => {
  test('a document describes its client, and is fetched again after ten minutes', async () => {
    const { found, clock, asked } = documents(says(metadata({ client_name: 'App\u202e\n<b>' })));
    expect(await find(found)).toEqual({ name: 'App <b>', redirectUris: ['https://app.example/cb'] });
    clock.now += 599_999;
    await find(found);
    expect(asked).toEqual([[URL_ID, false]]);
    clock.now += 1;
    await find(found);
    expect(asked).toHaveLength(2);
  });

  test.each<[string, unknown, number]>([
    ['the status 404', metadata(), 404],
    ['the status 302', metadata(), 302],
    ['more than 64 KiB', metadata({ logo_uri: 'x'.repeat(70_000) }), 200],
    ['not a JSON object', '<html>', 200],
    ['not a JSON object', '[]', 200],
    ['not a JSON object', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 200],
    ['about another client id', metadata({ client_id: 'https://app.example/other.json' }), 200],
    ['about another client id', {}, 200],
    ['redirect_uris must be a list', metadata({ redirect_uris: undefined }), 200],
    ['must not have the scheme "javascript:"', metadata({ redirect_uris: ['javascript:alert(1)'] }), 200],
  ])('a document with or that is %s is refused, and not fetched again for 30 s', async (why, value, status) => {
    const { found, clock, asked } = documents(says(value, status));
    for (let time = 0; time < 2; time++)
      await expect(find(found)).rejects.toMatchObject({
        error: 'invalid_client',
        message: expect.stringContaining(why),
      });
    expect(asked).toHaveLength(1);
    clock.now += 30_000;
    await expect(find(found)).rejects.toThrow(why);
    expect(asked).toHaveLength(2);
  });

  test('the reason of a failed fetch is logged and not shown', async () => {
    const { found, lines } = documents(() => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1')));
    await expect(find(found)).rejects.toThrow('the client cannot be used: its document cannot be fetched');
    expect(lines.join()).toContain('10.0.0.1');
  });

  test.each([
    'http://app.example/client.json',
    'https://app.example/',
    'https://app.example',
    'https://app.example/a/../client.json',
    'https://APP.example/client.json',
    'https://user:pass@app.example/client.json',
    'https://app.example/client.json#x',
    'https://app.example:443/client.json',
    `https://app.example/${'x'.repeat(500)}`,
    'https://',
    LOCAL_ID,
  ])('%s is no client id of a public gateway', async (url) => {
    const { found, asked } = documents(says(metadata({ client_id: url })));
    await expect(find(found, url)).rejects.toMatchObject({ error: 'invalid_client' });
    expect(asked).toEqual([]);
  });

  test('a gateway on loopback takes documents of this machine, and no others without TLS', async () => {
    const { found, asked } = documents(says(metadata({ client_id: LOCAL_ID })));
    await expect(find(found, LOCAL_ID, true)).resolves.toBeDefined();
    await expect(find(found, 'http://app.example/client.json', true)).rejects.toThrow('must be an https URL');
    await expect(find(found, URL_ID, true)).rejects.toThrow('about another client id');
    expect(asked).toEqual([
      [LOCAL_ID, true],
      [URL_ID, false],
    ]);
  });

  test('an address makes the gateway fetch 20 documents per minute, all together 60', async () => {
    const { found, clock, asked } = documents(says(metadata(), 404));
    const ask = (i: number, address: string) =>
      find(found, `https://app.example/${i}`, false, address).catch((error) => error);
    for (let i = 0; i < 30; i++) await ask(i, '203.0.113.7');
    expect(asked).toHaveLength(20);
    for (let i = 100; i < 200; i++) await ask(i, `203.0.113.${i}`);
    expect(asked).toHaveLength(60);
    expect(await ask(300, '198.51.100.1')).toMatchObject({ status: 429, wait: expect.any(Number) });
    clock.now += 60_000;
    expect(await ask(301, '198.51.100.1')).toMatchObject({ status: 400 });
  });

  test('without a way to fetch, there are none', async () => {
    await expect(find(documents().found)).rejects.toThrow('this gateway fetches no client documents');
  });
});

describe('addresses of documents', () => {
  const allows = (url: string, allowLoopback: boolean, address?: string) => {
    const guard = createPublicGuard(allowLoopback);
    try {
      guard.checkUrl(new URL(url));
      if (address !== undefined) guard.checkAddress(address, new URL(url).hostname);
      return true;
    } catch {
      return false;
    }
  };

  test.each<[string, string | undefined, boolean, boolean]>([
    ['https://app.example/c', '203.0.113.9', true, true],
    ['https://app.example/c', '10.0.0.1', false, false],
    ['https://app.example/c', '169.254.169.254', false, false],
    ['https://app.example/c', '127.0.0.1', false, false],
    ['https://app.example/c', '::1', false, false],
    ['https://app.example/c', 'fe80::1', false, false],
    ['https://10.0.0.1/c', undefined, false, false],
    ['https://[fd00::1]/c', undefined, false, false],
    ['https://127.0.0.1:9/c', undefined, false, true],
    ['http://127.0.0.1:9/c', undefined, false, true],
    ['http://localhost:9/c', '127.0.0.1', false, true],
    ['http://localhost:9/c', '10.0.0.1', false, false],
    ['http://app.example/c', undefined, false, false],
  ])('%s at %s: for a public gateway %s, for one on loopback %s', (url, address, forPublic, forLocal) => {
    expect([allows(url, false, address), allows(url, true, address)]).toEqual([forPublic, forLocal]);
  });
});

describe('dynamic registration', () => {
  const REDIRECTS = { redirect_uris: ['http://127.0.0.1/cb'] };

  function registry() {
    const clock = { now: Date.parse('2026-11-18T12:00:00Z') };
    const file = createGrantFile(undefined, () => undefined);
    let sender = 0;
    const open = () => createRegistrations({ file, now: () => clock.now });
    let registrations = open();
    return {
      ...{ clock, file },
      find: (id: string) => registrations.find(id),
      /** Forgets the limits per minute. */
      nextMinute: () => {
        registrations = open();
      },
      register: (body: unknown, address = `198.51.${Math.floor(sender / 200)}.${(sender++ % 200) + 1}`) =>
        registrations.register(body, address) as Promise<any>,
    };
  }

  test('a client gets an id, is public whatever it asked for, and is found again', async () => {
    const { register, find } = registry();
    const asked = { ...REDIRECTS, client_name: 'App\u0007', token_endpoint_auth_method: 'client_secret_basic' };
    const made = await register(asked);
    expect(made).toMatchObject({ client_name: 'App', ...REDIRECTS, token_endpoint_auth_method: 'none' });
    expect(made.client_secret).toBeUndefined();
    expect(find(made.client_id)).toMatchObject({ name: 'App' });
    expect(find('mcpx-unknown')).toBeUndefined();
  });

  test.each<[unknown, string]>([
    [null, 'invalid_client_metadata'],
    [[], 'invalid_client_metadata'],
    [{}, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    [{ ...REDIRECTS, grant_types: ['implicit'] }, 'invalid_client_metadata'],
    [{ ...REDIRECTS, response_types: ['token'] }, 'invalid_client_metadata'],
  ])('%j is refused', async (body, error) => {
    await expect(registry().register(body)).rejects.toMatchObject({ error });
  });

  test('an address registers 20 clients per minute, all together 60', async () => {
    const { register } = registry();
    for (let i = 0; i < 20; i++) await register(REDIRECTS, '203.0.113.7');
    await expect(register(REDIRECTS, '203.0.113.7')).rejects.toMatchObject({ status: 429 });
    for (let i = 0; i < 40; i++) await register(REDIRECTS);
    await expect(register(REDIRECTS)).rejects.toMatchObject({ status: 429 });
  });

  test('a client without a sign-in is forgotten after a day, one with a sign-in after 90 days', async () => {
    const { register, find, clock, file } = registry();
    const [unused, used] = [await register(REDIRECTS), await register(REDIRECTS)];
    const mark = (id: string) =>
      file.change((all) => ({
        ...all,
        clients: all.clients.map((one) => (one.id === id ? { ...one, used: clock.now } : one)),
      }));
    await mark(used.client_id);
    clock.now += 24 * HOUR;
    await register(REDIRECTS);
    expect([find(unused.client_id), find(used.client_id)]).toEqual([undefined, expect.anything()]);
    clock.now += 89 * 24 * HOUR;
    await register(REDIRECTS);
    expect(find(used.client_id)).toBeUndefined();
  });

  test('at the limit, the oldest client that nobody used goes; the newest ones are protected', async () => {
    const { register, find, clock, file, nextMinute } = registry();
    const first = await register(REDIRECTS);
    const granted = await register(REDIRECTS);
    const example = { client: { id: granted.client_id } } as Grant;
    await file.change((all) => ({ ...all, grants: [example] }));
    const {
      clients: [one],
    } = file.read();
    const fill = Array.from({ length: 498 }, (_, i) => ({
      ...one,
      id: `c${i}`,
      name: '',
      redirectUris: [],
      registered: clock.now,
    }));
    await file.change((all) => ({ ...all, clients: [...all.clients, ...fill] }));
    await expect(register(REDIRECTS)).rejects.toMatchObject({ status: 429 });
    clock.now += 10 * 60_000 + 1;
    nextMinute();
    const last = await register(REDIRECTS);
    expect(file.read().clients).toHaveLength(500);
    expect([find(first.client_id), find(granted.client_id)]).toEqual([undefined, expect.anything()]);
    expect(find(last.client_id)).toBeDefined();
  });
});
