import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ConnectionOptions } from '../../src/upstream/connection-options.ts';
import { call, cleanup, connection, httpSpec, stdioSpec, until } from './world.ts';

const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** The server over HTTP; resolves when it listens. */
async function startHttp(port: number, transport = 'streamableHttp'): Promise<() => Promise<void>> {
  const env = { PATH: process.env.PATH, PORT: String(port) };
  const child = spawn(process.execPath, [EVERYTHING, transport], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  cleanup(stop);
  await until(() => new RegExp(`port ${port}`).test(said));
  return stop;
}

/** The behaviour that both transports share. */
async function check(spec: ConnectionOptions['spec']): Promise<void> {
  const notifications: string[] = [];
  const upstream = connection(spec, { events: { notification: ({ method }) => notifications.push(method) } });
  const handshake = await upstream.connect();
  expect(handshake.protocolVersion).toBe('2025-11-25');
  expect(handshake.capabilities).toHaveProperty('tools');
  const { tools } = (await upstream.request('tools/list')) as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).toContain('echo');
  expect(await call(upstream, 'echo', { message: 'héllo 中' })).toBe('Echo: héllo 中');
  const wrong = (await upstream.request('tools/call', { name: 'echo', arguments: {} })) as { isError?: boolean };
  expect(wrong.isError).toBe(true);
  const progress: unknown[] = [];
  const long = { duration: 0.4, steps: 4 };
  const done = await call(upstream, 'trigger-long-running-operation', long, {
    progress: (params: unknown) => progress.push(params),
  });
  expect(done).toContain('completed');
  expect(progress.map((params) => (params as { progress: number }).progress)).toEqual([1, 2, 3, 4]);
  await expect(upstream.request('no/such')).rejects.toMatchObject({ code: -32601 });
  const many = Array.from({ length: 50 }, (_, n) => `m${n}`);
  const answers = await Promise.all(many.map((message) => call(upstream, 'echo', { message })));
  expect(answers).toEqual(many.map((message) => `Echo: ${message}`));
  await upstream.close();
}

describe('the official SDK server', () => {
  test('works over stdio', () => check(stdioSpec(process.execPath, [EVERYTHING, 'stdio'])));

  test('works over Streamable HTTP', async () => {
    const port = await freePort();
    await startHttp(port);
    await check(httpSpec(`http://127.0.0.1:${port}/mcp`));
  });

  test.each(['sse', 'auto'] as const)('works over the old SSE transport, asked for as "%s"', async (type) => {
    const port = await freePort();
    await startHttp(port, 'sse');
    await check(httpSpec(`http://127.0.0.1:${port}/sse`, { type }));
  });

  test('is found again after a restart without a failed call', async () => {
    const port = await freePort();
    const stop = await startHttp(port);
    const upstream = connection(httpSpec(`http://127.0.0.1:${port}/mcp`));
    expect(await call(upstream, 'echo', { message: '1' })).toBe('Echo: 1');
    await stop();
    await startHttp(port);
    expect(await call(upstream, 'echo', { message: '2' })).toBe('Echo: 2');
  });
});
