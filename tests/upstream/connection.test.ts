import { describe, expect, test } from 'vitest';
import { McpxError, RpcError } from '../../src/errors.ts';
import { call, connection, serverSpec } from './world.ts';

describe('a connection to a process', () => {
  test('starts at the first request and answers it', async () => {
    const upstream = connection(serverSpec());
    expect(upstream.state).toEqual({ kind: 'idle' });
    expect(await call(upstream, 'echo', { a: [1, '中'] })).toEqual({ a: [1, '中'] });
    expect(upstream.state.kind).toBe('ready');
    expect(upstream.hello).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25', instructions: 'for tests' });
    expect(upstream.diagnostics().pid).toBeTypeOf('number');
  });

  test('relays an error of the upstream verbatim', async () => {
    const failure = await call(connection(serverSpec()), 'refuse').catch((error) => error);
    expect(failure).toBeInstanceOf(RpcError);
    expect(failure).toMatchObject({ code: -32042, message: 'No: "quoted"', data: { why: ['this', null] } });
  });

  test('fails calls in flight within a second when the process dies, with exit code and last words', async () => {
    const upstream = connection(serverSpec());
    await upstream.connect();
    const started = Date.now();
    const [waiting, dying] = await Promise.allSettled([
      call(upstream, 'never'),
      call(upstream, 'exit', { code: 3, stderr: 'out of cheese\n' }),
    ]);
    expect(Date.now() - started).toBeLessThan(1000);
    for (const outcome of [waiting, dying]) {
      expect(outcome).toMatchObject({ reason: { code: 'unreachable' } });
      expect((outcome as PromiseRejectedResult).reason.message).toBe(
        'server "x" exited with code 3 (stderr: out of cheese)',
      );
    }
    expect(await call(upstream, 'echo', { again: true })).toEqual({ again: true });
  });

  test('a command that does not exist is named, with a hint', async () => {
    const failure = await connection(serverSpec([], { command: 'no-such-command-here' }))
      .connect()
      .catch((error) => error);
    expect(failure).toBeInstanceOf(McpxError);
    expect(failure.message).toBe('server "x" could not be started: command "no-such-command-here" was not found');
    expect(failure.hint).toContain('PATH');
  });
});
