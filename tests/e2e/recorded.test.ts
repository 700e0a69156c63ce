/** Calls and lists that meet a server which never came up, or a filter: what is recorded, shown and counted, with the executable. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseMetrics } from '../observe/prometheus.ts';
import { emptyPlace, fixture, post, run, start } from './program.ts';

const working = { command: process.execPath, args: [fixture('stdio.mjs')] };
const broken = { command: process.execPath, args: ['-e', 'process.exit(3)'] };

test('calls to a server that never came up are in the events, metrics, status and audit log', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', { mcpServers: { broken, working }, audit: { file: './audit.jsonl' } });
  const running = start(['serve', config, '--http', '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const events = (await fetch(`${url}/api/events`)).body?.pipeThrough(new TextDecoderStream()).getReader();
  const exec = { name: 'exec', arguments: { server_name: 'broken', tool_name: 'anything', arguments: {} } };
  expect((await post(`${url}/mcp`, 'tools/call', exec)).result.isError).toBe(true);
  let seen = '';
  while (!seen.includes('call_ended')) seen += (await events?.read())?.value ?? '';
  expect(seen).toMatch(/call_began[\s\S]*"name":"anything"[\s\S]*call_ended[\s\S]*"outcome":"failed"/);
  await events?.cancel();

  const { calls } = JSON.parse((await run(['status', '--url', url, '--json'], place)).stdout);
  expect(calls).toMatchObject({ calls: 1, errors: 1, live: [] });
  const metrics = parseMetrics(await (await fetch(`${url}/metrics`)).text());
  const labels = { profile: 'default', server: 'broken', tool: 'anything', outcome: 'failed' };
  expect(metrics.get('mcpx_calls_total')?.samples).toContainEqual(expect.objectContaining({ labels, value: 1 }));

  // A script that lists tools again reads nothing new.
  for (let i = 0; i < 3; i++) await post(`${url}/mcp`, 'tools/list');
  const { savings } = JSON.parse((await run(['status', '--url', url, '--json'], place)).stdout);
  expect(savings.menus).toBe(1);

  running.child.kill('SIGTERM');
  await running.finished;
  const lines = readFileSync(join(place.cwd, 'audit.jsonl'), 'utf8').trim().split('\n');
  const recorded = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'call');
  expect(recorded).toMatchObject([{ server: 'broken', name: 'anything', outcome: 'failed' }]);
});

test('calls of servers and tools that do not exist are in the audit log and counted, in each front and over REST', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', { mcpServers: { working }, audit: { file: './audit.jsonl' } });
  const running = start(['serve', config, '--http', '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  await post(`${url}/mcp`, 'tools/list');
  const exec = (server_name: string) => ({ name: 'exec', arguments: { server_name, tool_name: 'none' } });
  for (const server of ['working', 'nobody']) await post(`${url}/mcp`, 'tools/call', exec(server));
  await post(`${url}/mcp?front=aggregate`, 'tools/call', { name: 'nobody__none' });
  expect((await fetch(`${url}/api/default/tools/working/gone`, { method: 'POST' })).status).toBe(404);
  const metrics = parseMetrics(await (await fetch(`${url}/metrics`)).text());
  expect(metrics.get('mcpx_calls_missing_total')?.samples).toMatchObject([{ value: 4 }]);
  running.child.kill('SIGTERM');
  await running.finished;
  const lines = readFileSync(join(place.cwd, 'audit.jsonl'), 'utf8').trim().split('\n');
  const recorded = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'call');
  expect(recorded.map(({ server, name, outcome }) => [server, name, outcome])).toEqual([
    ['working', 'none', 'missing'],
    ['nobody', 'none', 'missing'],
    ['', 'nobody__none', 'missing'],
    ['working', 'gone', 'missing'],
  ]);
});

test('mcpx tools --json tells a server that failed from one without tools', async () => {
  const place = emptyPlace();
  const empty = { command: process.execPath, args: [fixture('listed.mjs'), place.file('none.json', [])] };
  const config = place.file('mcp.json', { mcpServers: { broken, empty, working } });
  const { stdout } = await run(['tools', '--config', config, '--json'], place);
  const servers = JSON.parse(stdout);
  expect(servers.find(({ server }: any) => server === 'empty')).toEqual({ server: 'empty', tools: [] });
  expect(servers.find(({ server }: any) => server === 'broken')).toMatchObject({
    ...{ tools: [], error: expect.stringContaining('broken') },
  });
  expect(servers.find(({ server }: any) => server === 'working')).not.toHaveProperty('error');
});

test('mcpx lock counts the tools that clients may use', async () => {
  const place = emptyPlace();
  const tools = place.file('tools.json', [{ name: 'read' }, { name: 'write' }, { name: 'drop' }]);
  const files = { command: process.execPath, args: [fixture('listed.mjs'), tools], tools: { deny: ['drop'] } };
  const config = place.file('mcp.json', { mcpServers: { files } });
  expect((await run(['lock', '--config', config], place)).stdout).toBe('files  2 tools  locked\n');
  expect(JSON.parse((await run(['lock', '--config', config, '--json'], place)).stdout)).toMatchObject([{ tools: 2 }]);
});
