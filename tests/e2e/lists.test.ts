/** Servers whose lists fail, hang or change, as a user sees them. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { emptyPlace, fixture, INITIALIZE, openSession, type Place, post, run, start } from './program.ts';

const server = (...flags: string[]) => ({ command: process.execPath, args: [fixture('lists.mjs'), ...flags] });

/** The text of an answer. */
const textOf = ({ result }: any): string => result.content.map(({ text }: { text?: string }) => text ?? '').join('\n');

describe('a server whose secondary lists fail or hang', () => {
  const flags = ['prompts=hang', 'resources=error', 'templates=error'];

  test('its tools are listed and called, and the failed lists are named where a user looks', async () => {
    const place = emptyPlace();
    const session = await openSession(place, { mcpServers: { half: server(...flags) } });
    expect(await session.exec('half', 'echo', { a: 1 })).toMatchObject({ isError: false });
    const inspect = { name: 'inspect', arguments: { server_name: 'half' } };
    expect(textOf(await session.request('tools/call', inspect))).toContain('resources/list: the resources are locked');
    await session.wrote(
      'stderr',
      'server "half" did not answer all of its lists: resources/list: the resources are locked',
    );
  });

  test('mcpx tools prints them, and says on stderr which lists are missing', async () => {
    const place = emptyPlace();
    const file = place.file('mcp.json', { mcpServers: { half: server(...flags) } });
    const { stdout, stderr, code } = await run(['tools', '--config', file], place);
    expect(code).toBe(0);
    expect(stdout).toContain('half.echo');
    expect(stderr).toContain('server "half": resources/list: the resources are locked');
    expect(stderr).toContain('server "half": prompts/list: not answered yet');
  });

  test('the status names them', async () => {
    const place = emptyPlace();
    const [url] = await gateway(place, { half: server(...flags, 'ttl=60') });
    await expect
      .poll(() => statusOf(url), { timeout: 20_000 })
      .toMatchObject({
        tools: 3,
        reason: expect.stringContaining('resources/templates/list: the templates are locked'),
        sentence: expect.stringContaining('some of its lists failed'),
      });
  });
});

describe('a tool that a server has just added', () => {
  test('is called by name at once where the server announced it', async () => {
    const session = await openSession(emptyPlace(), { mcpServers: { grows: server() } });
    expect(await session.exec('grows', 'add', { name: 'fresh' })).toMatchObject({ isError: false });
    expect(await session.exec('grows', 'fresh', { a: 1 })).toMatchObject({ isError: false });
  });

  test('is called by name where nothing was announced and the list is older than a moment', async () => {
    const session = await openSession(emptyPlace(), { mcpServers: { grows: server() } });
    expect(await session.exec('grows', 'add', { name: 'fresh', quiet: true })).toMatchObject({ isError: false });
    await expect.poll(() => session.exec('grows', 'fresh'), { timeout: 20_000 }).toMatchObject({ isError: false });
  });

  test('is called by its exposed name and over REST', async () => {
    const place = emptyPlace();
    const [url] = await gateway(place, { grows: server() });
    const call = (tool: string, body: unknown) =>
      fetch(`${url}/api/default/tools/grows/${tool}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await call('add', { name: 'fresh' })).status).toBe(200);
    expect((await call('fresh', {})).status).toBe(200);
    expect((await call('add', { name: 'newest' })).status).toBe(200);
    const answer = await post(`${url}/mcp?front=aggregate`, 'tools/call', { name: 'grows__newest', arguments: {} });
    expect(answer.error).toBeUndefined();
  });
});

describe('a first start with many servers', () => {
  const COUNT = 12;
  const many = (note: string) =>
    Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [`s${index}`, server(`note=${note}`)]));

  test('few run at once only to be listed, all of those stop, changes are announced together, and used ones go on', async () => {
    const place = emptyPlace();
    const note = place.file('note', '');
    const connect = { concurrency: 3 };
    const began = performance.now();
    const session = await openSession(place, { mcpServers: many(note), connect });
    await expect.poll(() => alive(note).ended, { timeout: 60_000 }).toBe(COUNT);
    expect(alive(note)).toMatchObject({ most: 3, now: 0 });
    const announced = session.said.stdout.split('notifications/tools/list_changed').length - 1;
    expect(announced).toBeLessThanOrEqual(2 + Math.floor((performance.now() - began) / 10_000));
    expect(await session.exec('s1', 'pid')).toMatchObject({ isError: false });
    expect(alive(note).now).toBe(1);
  });

  test('servers that are kept by the config stay', async () => {
    const place = emptyPlace();
    const note = place.file('note', '');
    const session = await openSession(place, { mcpServers: many(note), connect: { mode: 'eager' } });
    await expect.poll(() => alive(note).now, { timeout: 60_000 }).toBe(COUNT);
    expect(alive(note).ended).toBe(0);
    expect(await session.exec('s1', 'pid')).toMatchObject({ isError: false });
  });
});

test('config validate --check starts every server, names what fails, and fills the first list of a client', async () => {
  const place = emptyPlace();
  const note = place.file('note', '');
  const dead = { command: process.execPath, args: [fixture('stdio.mjs'), 'exit=3'] };
  const file = place.file('mcp.json', { mcpServers: { good: server(`note=${note}`), dead } });
  const { code, stdout } = await run(['config', 'validate', '--check', file], place);
  expect(code).not.toBe(0);
  expect(stdout).toMatch(/good +3 tools/);
  expect(stdout).toMatch(/dead +not available +server "dead"/);
  const starts = alive(note).ended;
  const session = await openSession(place, { mcpServers: { good: server(`note=${note}`) } });
  const { result } = await session.request('tools/list');
  expect(result.tools[0].description).toContain('echo');
  // The description is from the disk: nothing was started for it.
  expect(alive(note)).toMatchObject({ now: 0, ended: starts });
});

test('a server that hangs delays no initialize, list or inspect, of any client', async () => {
  const place = emptyPlace();
  const hung = { command: process.execPath, args: [fixture('stdio.mjs'), 'hang-init'] };
  const connect = { firstListWait: '5m' };
  const [url] = await gateway(place, { hung, good: server() }, { connect, front: { structured: 'never' } });
  // Each of these would wait for five minutes, or for the end of the start of the server.
  for (const client of ['one', 'two']) {
    const clientInfo = { name: client, version: '1' };
    expect((await post(`${url}/mcp`, 'initialize', { ...INITIALIZE, clientInfo })).error).toBeUndefined();
    const listed = await post(`${url}/mcp`, 'tools/list');
    expect(listed.result.tools[0].description).toContain('hung (not listed yet)');
    const all = await post(`${url}/mcp`, 'tools/call', { name: 'inspect', arguments: {} });
    expect(textOf(all)).toContain('hung: still starting');
  }
});

test('a server that hung at its last start delays no later start of mcpx', async () => {
  const place = emptyPlace();
  const hung = server(`gate=${place.cwd}/missing`);
  const servers = (startupTimeout: string) => ({ good: server(), hung: { ...hung, startupTimeout } });
  const file = place.file('first.json', { mcpServers: servers('1s') });
  expect((await run(['tools', '--config', file], place)).stderr).toContain('"hung" did not start');
  const session = await openSession(place, {
    mcpServers: servers('5m'),
    front: { kind: 'aggregate' },
    connect: { firstListWait: '5m' },
  });
  const { result } = await session.request('tools/list');
  expect(result.tools.map(({ name }: { name: string }) => name)).toContain('good__echo');
});

test('nor does one that had not answered when mcpx ended', async () => {
  const place = emptyPlace();
  const mcpServers = { good: server(), hung: server(`gate=${place.cwd}/missing`) };
  const lists = async (firstListWait: string) => {
    const connect = { firstListWait };
    const session = await openSession(place, { mcpServers, connect, front: { kind: 'aggregate' } });
    const { result } = await session.request('tools/list');
    session.child.stdin?.end();
    await session.finished;
    return result.tools.map(({ name }: { name: string }) => name);
  };
  expect(await lists('500ms')).toContain('good__echo');
  const { stdout } = await run(['list', '--config', place.file('mcp.json', { mcpServers })], place);
  expect(stdout).toContain('server "hung" had not answered 0.5 s after it was needed');
  expect(await lists('5m')).toContain('good__echo');
});

/** How many processes ran at once, at most and just now, by what they noted. */
function alive(note: string): { most: number; now: number; ended: number } {
  let [most, now, ended] = [0, 0, 0];
  for (const line of readFileSync(note, 'utf8').split('\n')) {
    if (line.endsWith(' start')) now++;
    if (line.endsWith(' end')) [now, ended] = [now - 1, ended + 1];
    most = Math.max(most, now);
  }
  return { most, now, ended };
}

/** A gateway over HTTP, and its process. */
async function gateway(place: Place, mcpServers: Record<string, unknown>, settings = {}) {
  const file = place.file('mcp.json', { mcpServers, ...settings });
  const running = start(['serve', '--http', '127.0.0.1:0', '--config', file], place);
  const [url = ''] = await running.wrote('stderr', /http:\/\/127\.0\.0\.1:\d+/);
  return [url, running] as const;
}

async function statusOf(url: string): Promise<any> {
  const status: any = await (await fetch(`${url}/api/status`)).json();
  return status.profiles[0].servers[0];
}
