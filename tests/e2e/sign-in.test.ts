/** Sign-in to a protected server with the executable: the command, calls before and after it, a running session. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { browse, type ProtectedWorld, protectedWorld } from '../upstream/oauth-world.ts';
import { converse, EXECUTABLE, emptyPlace, openSession, type Place, run, start, WINDOWS } from './program.ts';

/** Signs in with `mcpx login`, as a user with a browser does. */
async function login(place: Place, args: string[] = []) {
  const running = start(['login', 'docs', '--config', join(place.cwd, 'mcp.json'), '--json', ...args], place);
  const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
  const { url } = JSON.parse(line) as { url: string };
  const page = await browse(url);
  return { page, ...(await running.finished) };
}

function placeFor(world: ProtectedWorld): Place {
  const place = emptyPlace();
  place.file('mcp.json', configFor(world));
  return place;
}

const configFor = ({ url }: ProtectedWorld) => ({ mcpServers: { docs: { type: 'http', url } } });

/** All text below a folder. */
function contents(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'tokens.json')
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
}

test.each(['legacy', 'modern'] as const)(
  'a call to a %s server names the command, and works after it in the session that was already running',
  async (era) => {
    const world = await protectedWorld({ era });
    const place = placeFor(world);
    const session = await openSession(place, configFor(world));
    const before = await session.exec('docs', 'whoami');
    expect(before.isError).toBe(true);
    expect(before.text).toContain('needs sign-in');
    expect(before.text).toContain('mcpx login docs');
    const { code, page, stdout, stderr } = await login(place);
    expect(page).toContain('Signed in');
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
    const after = await session.exec('docs', 'whoami');
    expect([after.text.trim(), after.isError]).toEqual(['signed in as ada', false]);
    const tokens = readFileSync(join(place.env.HOME ?? '', '.mcpx', 'tokens.json'), 'utf8');
    const [{ tokens: held }] = JSON.parse(tokens).signIns;
    const everything = [
      stdout,
      stderr,
      session.said.stdout,
      session.said.stderr,
      contents(place.env.HOME ?? ''),
    ].join();
    for (const secret of [held.access, held.refresh]) expect(everything).not.toContain(secret);
    if (!WINDOWS) expect(statSync(join(place.env.HOME ?? '', '.mcpx', 'tokens.json')).mode & 0o777).toBe(0o600);
  },
);

test('a session that began before the sign-in gets list_changed and the tools of the server', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const session = await openSession(place, { ...configFor(world), front: { kind: 'aggregate' } });
  expect((await session.request('tools/list')).result.tools).toEqual([]);
  const changed = session.wrote('stdout', 'notifications/tools/list_changed');
  expect((await login(place)).code).toBe(0);
  await changed;
  const [tool] = (await session.request('tools/list')).result.tools;
  expect(tool.name).toBe('docs__whoami');
});

test.each(['legacy', 'modern'] as const)(
  'a %s server that refuses only calls lists its tools before the sign-in',
  async (era) => {
    const world = await protectedWorld({ onlyCalls: true, era });
    const place = placeFor(world);
    const session = await openSession(place, configFor(world));
    const { result } = await session.request('tools/call', { name: 'inspect', arguments: { server_name: 'docs' } });
    expect(JSON.stringify(result)).toContain('whoami');
    expect((await session.exec('docs', 'whoami')).text).toContain('mcpx login docs');
    expect((await login(place)).code).toBe(0);
    expect((await session.exec('docs', 'whoami')).text.trim()).toBe('signed in as ada');
  },
);

test('a sign-in that cannot be stored fails, because it would end with the command', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  // A folder in the place of the lock: nobody can get it.
  mkdirSync(join(place.env.HOME ?? '', '.mcpx', 'tokens.json.lock'), { recursive: true });
  const { code, stderr } = await login(place);
  expect(code).toBe(1);
  expect(stderr).toContain('error: the sign-in to "docs" is lost, because it could not be stored');
  expect(stderr).toContain('tokens.json');
});

test('exec in a shell exits with 3 and the command; login --list and logout tell who is signed in', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const config = ['--config', join(place.cwd, 'mcp.json')];
  const refused = await run(['exec', 'docs.whoami', ...config], place);
  expect([refused.code, refused.stdout]).toEqual([3, '']);
  // The command works as it is: it names the config of this one.
  expect(refused.stderr).toContain(`hint: mcpx login docs --config ${join(place.cwd, 'mcp.json')}\n`);
  await login(place);
  expect((await run(['exec', 'docs.whoami', ...config], place)).stdout).toBe('signed in as ada\n');
  const list = await run(['login', '--list'], place);
  expect(list.stdout).toContain(world.url);
  expect(list.stdout).toMatch(/signed in, to be renewed by \d{4}-\d\d-\d\d \d\d:\d\d +read/);
  const out = await run(['logout', 'docs', ...config], place);
  expect([out.code, out.stdout]).toEqual([0, 'signed out of docs\n']);
  expect((await run(['exec', 'docs.whoami', ...config], place)).code).toBe(3);
  expect((await run(['login', '--list'], place)).stderr).toContain('not signed in');
});

test('the list of tools and the status name the sign-in that is needed', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const list = await run(['tools', '--config', join(place.cwd, 'mcp.json')], place);
  expect(list.stderr).toContain('server "docs" needs sign-in');
  expect(list.stderr).toContain('mcpx login docs');
  place.file('oauth.json', { mcpServers: { docs: { type: 'http', url: world.url, oauth: {} } } });
  const configured = await run(['list', '--config', join(place.cwd, 'oauth.json')], place);
  expect(configured.stdout).toMatch(
    /^docs +http +needs sign-in +– .*\n {4}hint: mcpx login docs --config \S+oauth\.json$/m,
  );
  const gateway = start(['serve', join(place.cwd, 'mcp.json'), '--http', '127.0.0.1:0'], place);
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  await fetch(`${url}/api/default/tools/docs/whoami`, { method: 'POST', body: '{}' });
  const { stdout } = await run(['status', '--url', url], place);
  expect(stdout).toContain('server "docs" needs sign-in: mcpx login docs');
});

test.each([
  [[], 'name the server to sign in to: docs', 2],
  [['dogs'], 'there is no server "dogs" with a URL', 7],
] as const)('login %j is refused with a hint', async (args, message, code) => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const refused = await run(['login', ...args, '--config', join(place.cwd, 'mcp.json')], place);
  expect(refused.code).toBe(code);
  expect(refused.stderr).toContain(message);
  expect(refused.stderr).toContain('hint: mcpx login docs');
});

/** Makes the stored access tokens look expired. */
function expireStored(place: Place): void {
  const file = join(place.env.HOME ?? '', '.mcpx', 'tokens.json');
  const { signIns } = JSON.parse(readFileSync(file, 'utf8'));
  for (const { tokens } of signIns) tokens.expiresAt = 1;
  writeFileSync(file, JSON.stringify({ version: 1, signIns }), { mode: 0o600 });
}

test('twelve processes with one expired token renew it once, and none is signed out', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const words = ['exec', 'docs.whoami', '--config', join(place.cwd, 'mcp.json')];
  await login(place);
  expireStored(place);
  world.asked.length = 0;
  const all = await Promise.all(Array.from({ length: 12 }, () => run(words, place)));
  expect(new Set(all.map(({ code, stdout }) => `${code} ${stdout}`))).toEqual(new Set(['0 signed in as ada\n']));
  expect(world.asked.filter((line) => line === 'POST /token')).toHaveLength(1);
  expect(all.map(({ stderr }) => stderr).join()).not.toContain('invalid_grant');
  expireStored(place);
  expect((await run(words, place)).stdout).toBe('signed in as ada\n');
  const everything = [...all.map(({ stdout, stderr }) => stdout + stderr), contents(place.env.HOME ?? '')].join();
  expect(new Set(world.bearers).size).toBe(2);
  for (const secret of world.bearers) expect(everything).not.toContain(secret);
}, 120_000);

test('a process that is killed during a renewal signs nobody out', async () => {
  let holds = false;
  let arrived = () => {};
  const request = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const world = await protectedWorld({
    intercept: ({ url }) => {
      const held = holds && url === '/token';
      if (held) arrived();
      return held;
    },
  });
  const place = placeFor(world);
  const words = ['exec', 'docs.whoami', '--config', join(place.cwd, 'mcp.json')];
  await login(place);
  expireStored(place);
  holds = true;
  const killed = start(words, place);
  await request;
  const waiting = run(words, place);
  killed.child.kill('SIGKILL');
  await killed.finished;
  holds = false;
  expect((await waiting).stdout).toBe('signed in as ada\n');
  expect((await run(words, place)).stdout).toBe('signed in as ada\n');
}, 120_000);

/** The official client, which can open pages for its user; `answer` is what the user does. */
async function clientWithPages(world: ProtectedWorld, answer: (url: string) => ElicitResult) {
  const place = placeFor(world);
  const client = new Client({ name: 'e2e', version: '1' }, { capabilities: { elicitation: { url: {} } } });
  const asked: Record<string, unknown>[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return answer(String('url' in params && params.url));
  });
  const completed: string[] = [];
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    completed.push(params.elicitationId);
  });
  const args = ['serve', join(place.cwd, 'mcp.json')];
  await client.connect(new StdioClientTransport({ command: EXECUTABLE, args, ...place, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  const call = async () => {
    const values = { server_name: 'docs', tool_name: 'whoami', arguments: {} };
    const { content, isError } = await client.callTool({ name: 'exec', arguments: values });
    const [{ text }] = content as [{ text: string }];
    return { text: text.trim(), isError: isError === true };
  };
  return { call, asked, completed };
}

const agrees = (url: string): ElicitResult => {
  void browse(url);
  return { action: 'accept' };
};

test('a client that can open pages gets the sign-in page, and its call goes on by itself', async () => {
  const world = await protectedWorld();
  const { call, asked, completed } = await clientWithPages(world, agrees);
  expect(await call()).toEqual({ text: 'signed in as ada', isError: false });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ mode: 'url', message: expect.stringContaining('"docs"') });
  await expect.poll(() => completed).toEqual([asked[0]?.elicitationId]);
});

test('several calls of one client at the same time get one page', async () => {
  const world = await protectedWorld({ onlyCalls: true });
  const { call, asked } = await clientWithPages(world, agrees);
  const texts = (await Promise.all([call(), call(), call()])).map(({ text }) => text);
  expect(new Set(texts)).toEqual(new Set(['signed in as ada']));
  expect(asked).toHaveLength(1);
});

test('a call that needs more scopes offers a page with all of them', async () => {
  const world = await protectedWorld();
  const { call, asked } = await clientWithPages(world, agrees);
  await call();
  world.demand('write');
  expect(await call()).toEqual({ text: 'signed in as ada', isError: false });
  const scopes = new URL(String(asked[1]?.url)).searchParams.get('scope')?.split(' ');
  expect(scopes).toEqual(expect.arrayContaining(['read', 'write']));
});

test('a user who declines the page gets the command instead', async () => {
  const world = await protectedWorld();
  const { call } = await clientWithPages(world, () => ({ action: 'decline' }));
  const { text, isError } = await call();
  expect([text, isError]).toEqual([expect.stringContaining('mcpx login docs'), true]);
});

test('a program of the user prints the headers, and its failure names the server and the exit code', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  await login(place);
  const file = join(place.env.HOME ?? '', '.mcpx', 'tokens.json');
  const { access } = JSON.parse(readFileSync(file, 'utf8')).signIns[0].tokens;
  writeFileSync(file, JSON.stringify({ version: 1, signIns: [] }), { mode: 0o600 });
  const print =
    'console.log(JSON.stringify({ Authorization: process.argv[2] })); process.exit(Number(process.argv[3]));';
  const script = place.file('print.cjs', print);
  const config = (code: string) =>
    place.file('helped.json', {
      mcpServers: { docs: { url: world.url, headersHelper: [process.execPath, script, `Bearer ${access}`, code] } },
    });
  expect((await run(['exec', 'docs.whoami', '--config', config('0')], place)).stdout).toBe('signed in as ada\n');
  const failed = await run(['exec', 'docs.whoami', '--config', config('4')], place);
  expect([failed.code, failed.stderr]).toEqual([
    3,
    expect.stringContaining('the headersHelper of server "docs" ended with exit code 4'),
  ]);
  const shown = await run(['get', 'docs', '--config', join(place.cwd, 'helped.json')], place);
  for (const { stdout, stderr } of [failed, shown]) expect(stdout + stderr).not.toContain(access);
});

test('a client of 2026-07-28 gets the page as an input request, and its next request goes on', async () => {
  const world = await protectedWorld();
  const place = placeFor(world);
  const session = converse(['serve', join(place.cwd, 'mcp.json')], place);
  const prefix = 'io.modelcontextprotocol/';
  const _meta = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientCapabilities`]: { elicitation: { url: {} } },
    [`${prefix}clientInfo`]: { name: 'modern', version: '1' },
  };
  const values = { server_name: 'docs', tool_name: 'whoami', arguments: {} };
  const ask = async (more: object = {}) =>
    (await session.request('tools/call', { name: 'exec', arguments: values, ...more, _meta })).result;
  const first = await ask();
  expect(first.resultType).toBe('input_required');
  const [key = '', { params }] = Object.entries<any>(first.inputRequests)[0] ?? ['', {}];
  expect(params).toMatchObject({ mode: 'url' });
  void browse(params.url);
  const { requestState } = first;
  const second = await ask({ requestState, inputResponses: { [key]: { action: 'accept' } } });
  expect(JSON.stringify(second.content)).toContain('signed in as ada');
  session.child.stdin?.end();
  await session.finished;
});
