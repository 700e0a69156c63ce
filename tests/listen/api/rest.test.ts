/** REST on a whole app: lists, calls, and the statuses that say what happened. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../../src/app/app.ts';
import { createReloader } from '../../../src/app/reload-queue.ts';
import { createAdministration } from '../../../src/app/server-edits.ts';
import { resolveTokens } from '../../../src/config/env.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { McpxError } from '../../../src/errors.ts';
import { OPERATIONS } from '../../../src/listen/api/openapi.ts';
import { listenHttp } from '../../../src/listen/http/http.ts';
import { ROUTES } from '../../../src/listen/http/routes.ts';
import { SILENT } from '../../../src/observe/log.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { send } from '../harness.ts';

const FIXTURE = resolve(import.meta.dirname, '../../fixtures/servers/stdio.mjs');
const stdio = (more = {}) => ({ command: process.execPath, args: [FIXTURE], ...more });
const BUILTIN = { mcpServers: { math: { type: 'builtin' }, time: { type: 'builtin' } } };

/** Objects inside of objects. */
const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

async function serve(document: object, { comments = '', prepare = () => () => {}, loaded = () => {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-rest-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, comments + JSON.stringify(document, null, 2));
  const load = (texts?: ReadonlyMap<string, string>) => {
    const { config } = loadConfig({ files: [file], ...(texts && { texts }), env: { HOME: folder } });
    if (texts !== undefined && texts.size > 0) loaded();
    return config;
  };
  const config = load();
  const app = createApp(config, { log: SILENT });
  const reloader = createReloader({ app, load, log: SILENT, prepare });
  const { http } = config.settings;
  const listener = await listenHttp({
    ...{ gateway: app, settings: { ...http, port: 0 }, log: SILENT },
    auth: createAuthenticator(resolveTokens(http.auth.tokens)),
    admin: createAdministration({ reloader, load }),
  });
  onTestFinished(async () => {
    await listener.close();
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const { status, headers: answered, text } = await send(`${listener.url}${path}`, { method, body, headers });
    const said = await text();
    return { status, headers: answered, body: said === '' ? undefined : JSON.parse(said) };
  };
  return { app, ask, file, url: listener.url, text: () => readFileSync(file, 'utf8'), load };
}

describe('lists', () => {
  test('servers say how they are in a sentence, and what mends them', async () => {
    const { ask } = await serve({
      mcpServers: {
        math: { type: 'builtin' },
        gone: { command: 'no-such-program-anywhere' },
        off: stdio({ disabled: true }),
      },
    });
    await ask('GET', '/api/default/tools');
    const { status, body } = await ask('GET', '/api/default/servers');
    expect(status).toBe(200);
    expect(body.servers).toMatchObject([
      { name: 'math', sentence: expect.stringMatching(/offers \d+ tools$/) },
      {
        name: 'gone',
        sentence: expect.stringContaining('command "no-such-program-anywhere" was not found'),
        mend: expect.stringContaining('install "no-such-program-anywhere"'),
      },
      { name: 'off', state: 'disabled', sentence: 'it is disabled in the config' },
    ]);
  });

  test('tools come whole, of one server where asked, in pages, and with signatures', async () => {
    const { ask } = await serve(BUILTIN);
    const all = (await ask('GET', '/api/default/tools')).body;
    expect(all.total).toBe(all.tools.length);
    expect(all.tools[0]).toMatchObject({ server: 'math', name: expect.any(String), inputSchema: { type: 'object' } });
    expect(all.tools[0].signature).toBeUndefined();
    const time = (await ask('GET', '/api/default/tools?server=time&limit=2&offset=1&signatures=true')).body;
    expect(time.total).toBe(5);
    expect(time.tools).toHaveLength(2);
    expect(time.tools[0].signature).toContain(`${time.tools[0].name}(args`);
    expect(time.tools[0].signature).not.toContain(time.tools[0].description);
    const found = (await ask('GET', '/api/default/tools?q=convert+a+time+zone&signatures=true')).body.tools;
    expect(found[0]).toMatchObject({ server: 'time', name: 'convert', summary: expect.any(String) });
    const inMath = (await ask('GET', '/api/default/tools?q=convert&server=math')).body.tools;
    expect(new Set(inMath.map(({ server }: { server: string }) => server))).toEqual(new Set(['math']));
    expect((await ask('GET', '/api/default/tools?limit=x')).status).toBe(400);
  });

  test('what a client reads before the first question is told, and telling it saves nothing', async () => {
    const { ask } = await serve({
      ...BUILTIN,
      profiles: { default: {}, less: { servers: ['time'] } },
    });
    const all = (await ask('GET', '/api/default/tokens')).body;
    const less = (await ask('GET', '/api/less/tokens')).body;
    const costs = { without: expect.any(Number), with: expect.any(Number) };
    const deferring = ['Claude Code', 'Qwen Code'].map((client) => ({ client, ...costs }));
    expect(all).toEqual({ tools: 8, ...costs, deferring });
    expect(all.deferring[0].without).toBeLessThan(all.without / 5);
    expect(all.with).toBeLessThan(all.without / 2);
    expect(less.tools).toBe(5);
    expect(less.without).toBeLessThan(all.without);
    expect((await ask('GET', '/api/status')).body.savings).toMatchObject({ menus: 0, tokens: { net: 0 } });
  });

  test('the command that tries a server finds it; where the config is, is told to who may change it', async () => {
    const tokens = [
      { name: 'plain', token: 'p' },
      { name: 'admin', token: 'a', admin: true },
    ];
    const gone = { command: 'no-such-program-anywhere' };
    const profiles = { default: {}, second: {} };
    const { ask, file } = await serve({ mcpServers: { gone }, profiles, http: { auth: { tokens } } });
    const checks = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      for (const name of Object.keys(profiles))
        await ask('GET', `/api/${encodeURIComponent(name)}/tools`, undefined, headers);
      const { profiles: shown } = (await ask('GET', '/api/status', undefined, headers)).body;
      return shown.map(({ servers }: any) => servers[0].check);
    };
    expect(await checks('p')).toEqual(['mcpx tools gone', 'mcpx tools --profile second gone']);
    expect(await checks('a')).toEqual([
      `mcpx tools --config ${file} gone`,
      `mcpx tools --config ${file} --profile second gone`,
    ]);
  });

  test('resources and prompts are listed with their servers', async () => {
    const { ask } = await serve({ mcpServers: { s: stdio() } });
    expect((await ask('GET', '/api/default/resources')).body).toMatchObject({ total: expect.any(Number) });
    expect((await ask('GET', '/api/default/prompts')).body).toMatchObject({ prompts: expect.any(Array) });
  });

  test('a disabled profile is 403, an unknown or foreign one 404', async () => {
    const tokens = [{ name: 'ci', token: 'c', profiles: ['second'] }];
    const profiles = { default: {}, second: {}, off: { enabled: false } };
    const { ask } = await serve({ ...BUILTIN, profiles, http: { auth: { tokens } } });
    const as = { authorization: 'Bearer c' };
    const status = async (path: string) => (await ask('GET', path, undefined, as)).status;
    expect(await status('/api/second/servers')).toBe(200);
    expect(await status('/api/default/servers')).toBe(404);
    expect(await status('/api/none/servers')).toBe(404);
    expect((await ask('GET', '/api/second/servers')).body).toEqual({
      ...{
        error: expect.stringMatching(/^Unauthorized: /),
        code: 'auth',
        hint: expect.stringContaining('Authorization: Bearer'),
      },
      requestId: expect.any(String),
    });
    const open = await serve({ ...BUILTIN, profiles });
    expect((await open.ask('GET', '/api/off/servers')).status).toBe(403);
  });
});

describe('calls', () => {
  const at = (tool: string, server = 's') => `/api/default/tools/${server}/${tool}`;

  test('the body is the arguments, the answer the result', async () => {
    const { ask } = await serve(BUILTIN);
    const { status, body } = await ask('POST', at('calculate', 'math'), { expression: '6 * 7' });
    expect(status).toBe(200);
    expect(body.structuredContent).toMatchObject({ result: 42 });
  });

  test.each<[status: number, tool: string, body: unknown, words: unknown]>([
    [404, 'nothing', {}, { code: 'not_found', hint: expect.stringMatching(/^the nearest of \d+ are: \w+/) }],
    [422, 'calculate', { n: 'x' }, { code: 'arguments', problems: expect.any(Array) }],
    [424, 'calculate', { expression: '1 +' }, { isError: true }],
    [502, 'refuse', {}, { code: 'upstream', rpc: -32042 }],
    [502, 'exit', { code: 3 }, { code: 'unreachable' }],
    [504, 'never', {}, { code: 'timeout' }],
    [400, 'echo', [1], { error: expect.stringContaining('must be a JSON object') }],
    [400, 'echo', '{', { error: 'the body is not JSON' }],
  ])('%d for %s', async (status, tool, body, words) => {
    const { ask } = await serve({
      mcpServers: { s: stdio(tool === 'never' ? { timeout: 1000 } : {}), math: { type: 'builtin' } },
    });
    const answer = await ask('POST', at(tool, tool === 'calculate' ? 'math' : 's'), body);
    expect([answer.status, answer.body]).toEqual([status, expect.objectContaining(words as object)]);
    if (status !== 424) expect(answer.body.requestId).toBe(answer.headers['x-request-id']);
  });

  test('any name is data: it is missing, and repeated on one line', async () => {
    const { ask } = await serve(BUILTIN);
    const said = async (path: string) => {
      const { status, body } = await ask('POST', `/api/default/tools/${path}`, {});
      return [status, body.error];
    };
    expect(await said('math/..%2F..%2Fetc')).toEqual([404, 'server "math" has no tool "../../etc"']);
    expect(await said('math/calculate%00')).toEqual([
      ...[404, 'server "math" has no tool "calculate"; did you mean "calculate"?'],
    ]);
    expect(await said('math/a%0Ab%1B%5B31mc')).toEqual([404, 'server "math" has no tool "a bc"']);
    expect(await said('__proto__/constructor')).toEqual([404, 'no server is called "__proto__"']);
    expect(await said('MATH/calculate')).toEqual([404, 'no server is called "MATH"; did you mean "math"?']);
    expect((await said(`math/${'x'.repeat(5000)}`))[1].length).toBeLessThan(250);
    expect((await said('math/%FF%FE'))[0]).toBe(404);
  });

  test('no body is no arguments; another type is 415; too much is 413; another method is 405', async () => {
    const { ask } = await serve({ ...BUILTIN, http: { maxBody: 1024 } });
    expect((await ask('POST', at('now', 'time'))).status).toBe(200);
    expect((await ask('POST', at('now', 'time'), {}, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await ask('POST', at('now', 'time'), { x: 'y'.repeat(2000) })).status).toBe(413);
    const wrong = await ask('PUT', at('now', 'time'));
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'POST']);
  });

  test('a denied tool looks missing, and the audit knows the difference', async () => {
    const tokens = [{ name: 'ci', token: 'c', tools: { deny: ['math.calculate'] } }];
    const { ask, app } = await serve({ ...BUILTIN, http: { auth: { tokens } } });
    const outcomes: string[] = [];
    const as = { authorization: 'Bearer c' };
    app.watch(undefined, (event) => event.type === 'call_ended' && outcomes.push(event.call.outcome));
    const denied = await ask('POST', at('calculate', 'math'), { expression: '1' }, as);
    const missing = await ask('POST', at('calculatf', 'math'), { expression: '1' }, as);
    expect(denied.status).toBe(missing.status);
    const words = (text: string) => text.replace(/calculat[ef]/g, 'X');
    expect(words(denied.body.error)).toBe(words(missing.body.error));
    expect(outcomes).toEqual(['denied', 'missing']);
  });

  test('a client that leaves cancels its call', async () => {
    const { app, url } = await serve({ mcpServers: { s: stdio() } });
    const gone = new AbortController();
    const answer = fetch(`${url}${at('sleep')}`, {
      ...{ method: 'POST', body: '{"ms":20000}', headers: { 'content-type': 'application/json' }, signal: gone.signal },
    }).catch(() => undefined);
    const live = () => app.status().calls.live.length;
    await expect.poll(live).toBe(1);
    gone.abort();
    await answer;
    await expect.poll(live).toBe(0);
  });
});

describe('probes', () => {
  test('answer anybody with no detail: no token, any Host, any Origin', async () => {
    const tokens = [{ name: 'ci', token: 'c' }];
    const { ask } = await serve({ ...BUILTIN, http: { auth: { tokens } } });
    const strange = { host: 'evil.example', origin: 'https://evil.example' };
    for (const path of ['/healthz', '/readyz']) {
      const { status, body } = await ask('GET', path, undefined, strange);
      expect([status, Object.keys(body)]).toEqual([200, ['status']]);
      expect((await ask('HEAD', path)).status).toBe(200);
      expect((await ask('POST', path)).status).toBe(405);
    }
    expect((await ask('GET', '/api/status', undefined, strange)).status).toBe(403);
  });

  test('not ready where no profile runs', async () => {
    const { ask } = await serve({ ...BUILTIN, profiles: { only: { enabled: false } } });
    expect((await ask('GET', '/readyz')).status).toBe(503);
    expect((await ask('GET', '/healthz')).status).toBe(200);
  });
});

describe('the OpenAPI document', () => {
  test('has every route and method of the table, and nothing else', async () => {
    const { ask } = await serve(BUILTIN);
    const { body } = await ask('GET', '/api/openapi.json');
    const table = ROUTES.flatMap(({ path, methods }) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ).sort();
    const document = Object.entries<object>(body.paths)
      .flatMap(([path, item]) =>
        Object.keys(item)
          .filter((key) => key !== 'parameters')
          .map((method) => `${method.toUpperCase()} ${path}`),
      )
      .sort();
    expect(document).toEqual(table);
    expect(Object.keys(OPERATIONS).sort()).toEqual(table);
    expect(body.openapi).toBe('3.1.0');
  });

  test('names only schemas that are there, describes every status, and every path part', async () => {
    const { ask } = await serve(BUILTIN);
    const { body } = await ask('GET', '/api/openapi.json');
    const text = JSON.stringify(body);
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(body.components.schemas).toHaveProperty(name);
    for (const [path, item] of Object.entries<any>(body.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect((item.parameters ?? []).map(({ name }: { name: string }) => name)).toEqual(named);
      for (const [key, operation] of Object.entries<any>(item)) {
        if (key === 'parameters') continue;
        expect(operation.summary).not.toBe('');
        for (const response of Object.values<any>(operation.responses)) expect(response.description).not.toBe('');
      }
    }
  });

  test('says what is answered: real answers fit their schemas, and their statuses are listed', async () => {
    const tokens = [
      { name: 'boss', token: 'b', admin: true },
      { name: 'ci', token: 'c' },
    ];
    const { ask } = await serve({
      ...BUILTIN,
      profiles: { default: {}, off: { enabled: false } },
      http: { auth: { tokens } },
    });
    const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
    const { body: document } = await ask('GET', '/api/openapi.json', undefined, as('c'));
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'api', ...document });
    const cases: [status: number, route: string, path: string, body?: unknown, secret?: string][] = [
      [200, 'GET /api/status', '/api/status'],
      [200, 'GET /api/{profile}/servers', '/api/default/servers'],
      [200, 'GET /api/{profile}/tools', '/api/default/tools?q=add'],
      [400, 'GET /api/{profile}/tools', '/api/default/tools?limit=x'],
      [403, 'GET /api/{profile}/tools', '/api/off/tools'],
      [404, 'GET /api/{profile}/tools', '/api/none/tools'],
      [401, 'GET /api/{profile}/tools', '/api/default/tools', undefined, 'wrong'],
      [414, 'GET /api/{profile}/tools', `/api/default/tools?q=${'x'.repeat(9000)}`],
      [200, 'GET /api/{profile}/resources', '/api/default/resources'],
      [200, 'GET /api/{profile}/prompts', '/api/default/prompts'],
      [200, 'POST /api/{profile}/tools/{server}/{tool}', '/api/default/tools/math/calculate', { expression: '1+1' }],
      [424, 'POST /api/{profile}/tools/{server}/{tool}', '/api/default/tools/math/calculate', { expression: '1/' }],
      [422, 'POST /api/{profile}/tools/{server}/{tool}', '/api/default/tools/math/calculate', {}],
      [404, 'POST /api/{profile}/tools/{server}/{tool}', '/api/default/tools/math/none', {}],
      [400, 'POST /api/{profile}/tools/{server}/{tool}', '/api/default/tools/math/calculate', []],
      [403, 'POST /api/reload', '/api/reload'],
      [200, 'POST /api/reload', '/api/reload', undefined, 'b'],
      [422, 'POST /api/servers', '/api/servers', { name: 'x' }, 'b'],
      [409, 'POST /api/servers', '/api/servers', { name: 'math', url: 'http://127.0.0.1:9' }, 'b'],
      [201, 'POST /api/servers', '/api/servers', { name: 'far', url: 'http://127.0.0.1:9' }, 'b'],
      [200, 'PATCH /api/servers/{name}', '/api/servers/far', { disabled: true }, 'b'],
      [404, 'PATCH /api/servers/{name}', '/api/servers/none', { disabled: true }, 'b'],
      [200, 'DELETE /api/servers/{name}', '/api/servers/far', undefined, 'b'],
      [200, 'POST /mcp', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }],
      [400, 'POST /mcp', '/mcp', { nothing: 1 }],
      [404, 'POST /mcp/{profile}', '/mcp/none', {}],
      [400, 'DELETE /api/{profile}/mcp', '/api/default/mcp'],
    ];
    for (const [status, route, path, body, secret = 'c'] of cases) {
      const [method = '', row = ''] = route.split(' ');
      const answer = await ask(method, path, body, as(secret));
      expect([route, answer.status]).toEqual([route, status]);
      const described = document.paths[row][method.toLowerCase()].responses[status];
      expect(described, `${route} ${status}`).toBeDefined();
      const { $ref } = described.content['application/json'].schema;
      const fits = ajv.getSchema(`api${$ref}`);
      expect(fits?.(answer.body), `${route} ${status}: ${ajv.errorsText(fits?.errors)}`).toBe(true);
    }
  });

  test('each operation has a name of its own, for programs that write clients', async () => {
    const { ask } = await serve(BUILTIN);
    const { body } = await ask('GET', '/api/openapi.json');
    const operations = Object.values<any>(body.paths).flatMap((item) =>
      Object.entries<any>(item).flatMap(([key, operation]) => (key === 'parameters' ? [] : [operation])),
    );
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('postApiProfileToolsServerTool');
  });

  test('no row hides another: each path finds its own', async () => {
    const { findRoute } = await import('../../../src/listen/http/routes.ts');
    const { http } = loadConfig({ files: [], env: {} }).config.settings;
    const auth = { ...http.auth, oauth: { ...http.auth.oauth, mode: 'builtin' as const } };
    for (const { path } of ROUTES) {
      const concrete = path.replace(/\{\w+\}/g, 'x');
      expect(findRoute(concrete, { ...http, auth, legacySse: true })?.route.path).toBe(path);
    }
  });
});

describe('administration', () => {
  const tokens = [
    { name: 'boss', token: 'b', admin: true },
    { name: 'ci', token: 'c' },
  ];
  const boss = { authorization: 'Bearer b' };
  const document = (more = {}) => ({ ...BUILTIN, http: { auth: { tokens }, ...more } });

  test('is for tokens with the admin right only, and for nobody where there are no tokens', async () => {
    const { ask } = await serve(document());
    const open = await serve(BUILTIN);
    for (const [method, path, body] of [
      ['POST', '/api/servers', {}],
      ['PATCH', '/api/servers/math', {}],
      ['DELETE', '/api/servers/math', undefined],
      ['POST', '/api/reload', undefined],
    ] as const) {
      expect((await ask(method, path, body, { authorization: 'Bearer c' })).status).toBe(403);
      expect((await ask(method, path, body)).status).toBe(401);
      expect((await open.ask(method, path, body)).status).toBe(403);
    }
  });

  test('a server is added, changed and removed, in the file and at once; comments stay', async () => {
    const { ask, text, app } = await serve(document(), { comments: '// mine\n' });
    const names = () => app.status().profiles[0]?.servers.map(({ name, state }) => `${name} ${state}`);
    const { status, body } = await ask('POST', '/api/servers', { name: 'far', url: 'http://127.0.0.1:9/mcp' }, boss);
    expect([status, body.added]).toEqual([201, ['far']]);
    expect(body.servers).toMatchObject([{ profile: 'default', name: 'far' }]);
    expect(text()).toMatch(/^\/\/ mine\n/);
    expect(JSON.parse(text().slice(8)).mcpServers.far).toEqual({ url: 'http://127.0.0.1:9/mcp' });
    const changed = await ask('PATCH', '/api/servers/far', { disabled: true }, boss);
    expect([changed.status, changed.body.removed]).toEqual([200, ['far']]);
    expect(names()).toContain('far disabled');
    expect((await ask('PATCH', '/api/servers/far', { disabled: null, timeout: '5s' }, boss)).status).toBe(200);
    expect(JSON.parse(text().slice(8)).mcpServers.far).toEqual({ url: 'http://127.0.0.1:9/mcp', timeout: '5s' });
    expect((await ask('DELETE', '/api/servers/far', undefined, boss)).body.removed).toEqual(['far']);
    expect(names()?.some((name) => name.startsWith('far'))).toBe(false);
    expect((await ask('DELETE', '/api/servers/far', undefined, boss)).status).toBe(404);
  });

  test.each<[status: number, what: string, method: string, path: string, body: unknown]>([
    [409, 'exists already', 'POST', '/api/servers', { name: 'math', url: 'http://127.0.0.1:9/' }],
    [422, 'has no good name', 'POST', '/api/servers', { name: '../x', url: 'http://127.0.0.1:9/' }],
    [422, 'has no good name', 'POST', '/api/servers', { url: 'http://127.0.0.1:9/' }],
    [422, 'is no server', 'POST', '/api/servers', { name: 'x' }],
    [422, 'is no server', 'POST', '/api/servers', { name: 'x', url: 5 }],
    [403, 'runs a program', 'POST', '/api/servers', { name: 'x', command: 'sh' }],
    [403, 'runs a program', 'POST', '/api/servers', { name: 'x', module: './x.mjs' }],
    [403, 'runs a program', 'PATCH', '/api/servers/prog', { args: ['x'] }],
    [403, 'runs a program', 'PATCH', '/api/servers/prog', { env: { NODE_OPTIONS: '--x' } }],
    [403, 'reads a secret', 'POST', '/api/servers', { name: 'x', url: 'http://127.0.0.1:9/${HOME}' }],
    [
      403,
      'reads a file',
      'POST',
      '/api/servers',
      { name: 'x', url: 'http://x/', headers: { a: '{file:/etc/passwd}' } },
    ],
    [403, 'takes a secret elsewhere', 'PATCH', '/api/servers/paid', { url: 'http://127.0.0.1:8/mcp' }],
    [404, 'is missing', 'PATCH', '/api/servers/none', { disabled: true }],
    [404, 'cannot be a name', 'PATCH', '/api/servers/..%2Fx%0Ay', { disabled: true }],
    [404, 'cannot be a name', 'DELETE', '/api/servers/__proto__', undefined],
    [422, 'is renamed', 'PATCH', '/api/servers/math', { name: 'other' }],
    [400, 'is no object', 'POST', '/api/servers', [1]],
    [400, 'is nested too deep', 'POST', '/api/servers', { name: 'x', url: 'http://127.0.0.1:9/', deep: nested(2000) }],
    [400, 'is nested too deep', 'PATCH', '/api/servers/math', { tools: nested(2000) }],
  ])('%d for what %s, and nothing is written', async (status, _, method, path, body) => {
    const paid = { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer ${PAID}' } };
    const mcpServers = { ...BUILTIN.mcpServers, prog: stdio(), paid };
    const { ask, text, app } = await serve({ ...document(), mcpServers });
    const before = [text(), JSON.stringify(app.status().profiles[0]?.servers.map(({ name }) => name))];
    const answer = await ask(method, path, body, boss);
    expect([answer.status, typeof answer.body.error]).toEqual([status, 'string']);
    expect([text(), JSON.stringify(app.status().profiles[0]?.servers.map(({ name }) => name))]).toEqual(before);
  });

  test('409 while somebody saves the file, and what they save stays', async () => {
    const add = { name: 'far', url: 'http://127.0.0.1:9/mcp' };
    let save: () => void = () => undefined;
    // Runs between the look at the file and the change, as a save may.
    const { ask, file, text } = await serve(document(), { loaded: () => save() });
    const broken = '{ "mcpServers": ';
    const whole = text();
    writeFileSync(file, broken);
    const half = await ask('POST', '/api/servers', add, boss);
    expect([half.status, half.body.code, text()]).toEqual([409, 'conflict', broken]);
    writeFileSync(file, whole);
    save = () => writeFileSync(file, `${whole} `);
    const raced = await ask('POST', '/api/servers', add, boss);
    expect([raced.status, raced.body.code, text()]).toEqual([409, 'conflict', `${whole} `]);
    save = () => undefined;
    expect((await ask('POST', '/api/servers', add, boss)).status).toBe(201);
  });

  test('a change that cannot be applied is taken back, but nothing that somebody saved meanwhile', async () => {
    let refuse: () => void = () => undefined;
    const { ask, file, text } = await serve(document(), {
      prepare: () => {
        refuse();
        return () => {};
      },
    });
    const before = text();
    refuse = () => {
      throw new McpxError('config', 'not that one');
    };
    const add = { name: 'far', url: 'http://127.0.0.1:9/mcp' };
    expect((await ask('POST', '/api/servers', add, boss)).status).toBe(422);
    expect(text()).toBe(before);
    refuse = () => {
      writeFileSync(file, '{ "mcpServers": {} }');
      throw new McpxError('config', 'not that one');
    };
    expect((await ask('POST', '/api/servers', add, boss)).status).toBe(422);
    expect(text()).toBe('{ "mcpServers": {} }');
  });

  test('programs and placeholders are accepted where the config says so', async () => {
    const { ask } = await serve(document({ admin: { commands: true } }));
    const answer = await ask('POST', '/api/servers', { name: 'prog', ...stdio(), env: { A: '${HOME}' } }, boss);
    expect(answer.status).toBe(201);
    const called = await ask('POST', '/api/default/tools/prog/echo', { n: 1 }, boss);
    expect(called.body.content[0].text).toBe('{"n":1}');
  });

  test('a server that runs a program can be switched off and on from afar', async () => {
    const { ask } = await serve({ ...document(), mcpServers: { prog: stdio() } });
    expect((await ask('PATCH', '/api/servers/prog', { disabled: true }, boss)).status).toBe(200);
    expect((await ask('PATCH', '/api/servers/prog', { disabled: false }, boss)).body.added).toEqual(['prog']);
  });

  test('a file that is wrong is not reloaded, and says why', async () => {
    const { ask, file, app } = await serve(document());
    writeFileSync(file, '{ "mcpServers": ');
    const answer = await ask('POST', '/api/reload', undefined, boss);
    expect([answer.status, answer.body.code]).toEqual([422, 'config']);
    expect(app.status().profiles[0]?.servers).toHaveLength(2);
    writeFileSync(file, JSON.stringify({ ...document(), mcpServers: { time: { type: 'builtin' } } }));
    expect((await ask('POST', '/api/reload', undefined, boss)).body).toMatchObject({ removed: ['math'] });
  });

  test('a change that cannot be applied leaves the file and what runs as they were', async () => {
    const prepare = () => {
      throw new McpxError('config', 'the listener cannot take it');
    };
    const { ask, text, app } = await serve(document(), { prepare });
    const before = text();
    const answer = await ask('POST', '/api/servers', { name: 'far', url: 'http://127.0.0.1:9/mcp' }, boss);
    expect([answer.status, answer.body.error]).toEqual([422, 'the listener cannot take it']);
    expect(text()).toBe(before);
    expect(app.status().profiles[0]?.servers).toHaveLength(2);
  });

  test('a server that no profile would take is not added', async () => {
    const { ask, text } = await serve({ ...document(), profiles: { default: { servers: ['math'] } } });
    const before = text();
    const answer = await ask('POST', '/api/servers', { name: 'far', url: 'http://127.0.0.1:9/mcp' }, boss);
    expect([answer.status, answer.body.error]).toEqual([403, 'no profile would include the server "far"']);
    expect(text()).toBe(before);
  });

  test('changes at the same time are made one after the other', async () => {
    const { ask, text } = await serve(document());
    const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
    const answers = await Promise.all(
      names.map((name) => ask('POST', '/api/servers', { name, url: 'http://127.0.0.1:9/mcp' }, boss)),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(Object.keys(JSON.parse(text()).mcpServers)).toEqual(['math', 'time', ...names]);
  });
});
