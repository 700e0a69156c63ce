/** What a user meets of servers whose lists fail, hang or change. */
import { describe, expect, test } from 'vitest';
import { emptyPlace, fixture, openSession, type Place, post, run, start } from './program.ts';

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
        sentence: expect.stringContaining('it did not answer all of its lists'),
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
