/** A server with a Chinese name, wherever a name is written. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import { answers, emptyPlace, fixture, openSession, rpc, run, start } from './program.ts';

const stdio = (...flags: string[]) => ({ command: process.execPath, args: [fixture('stdio.mjs'), ...flags] });
const config = { mcpServers: { '文件 系统': stdio(), 数据库: stdio('second') } };

test('a model calls it by the name that was written, and what it writes to stderr has a file', async () => {
  const place = emptyPlace();
  const session = await openSession(place, config);
  expect(await session.exec('数据库', 'echo', { a: 1 })).toEqual({ text: '{"a":1}', isError: false });
  await session.exec('文件 系统', 'exit', { code: 3, stderr: 'gone\n' });
  const logs = join(place.env.HOME ?? '', '.mcpx', 'logs');
  await until(() => existsSync(logs) && readdirSync(logs).some((file) => /^文件-系统-\w+\.log$/.test(file)));
});

test('the shell lists and calls it by that name', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', config);
  const { stdout, stderr } = await run(['tools', '--config', file], place);
  expect(stdout).toMatch(/^文件 系统\.echo$/m);
  expect(stderr).toBe('');
  expect((await run(['exec', '文件 系统.echo', '--config', file, '--args', '{"a":1}'], place)).stdout).toBe(
    '{"a":1}\n',
  );
});

test('REST takes it in a path', async () => {
  const place = emptyPlace();
  const running = start(['serve', place.file('mcp.json', config), '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const path = `/api/default/tools/${encodeURIComponent('文件 系统')}/echo`;
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: '{"a":1}' });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('{\\"a\\":1}');
  running.child.kill('SIGTERM');
  await running.finished;
});

test('names of tools in the aggregate front have its place instead', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', { ...config, connect: { firstListWait: '30s' } });
  const words = [
    rpc(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }),
    rpc(1, 'tools/list'),
    rpc(2, 'tools/call', { name: 'server-2__echo', arguments: { a: 1 } }),
  ];
  const { stdout } = await run(['serve', file, '--front', 'aggregate'], place, words.join(''));
  const [, listed, called] = answers(stdout).toSorted((a, b) => a.id - b.id);
  const names = listed.result.tools.map(({ name }: { name: string }) => name);
  expect(names).toContain('server-1__echo');
  expect(names.every((name: string) => /^server-[12]__[\w-]+$/.test(name))).toBe(true);
  expect(called.result.content[0].text).toBe('{"a":1}');
});
