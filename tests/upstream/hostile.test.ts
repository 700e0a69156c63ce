import { describe, expect, test } from 'vitest';
import { call, connection, isRunning, SETTINGS, serverSpec, until } from './world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

const calm = { ...SETTINGS, limits: { ...SETTINGS.limits, messageBytes: 1_000_000 } };

/** How long a call of another upstream takes in the middle, in ms: the machine may be busy with other tests. */
async function latency(upstream: ReturnType<typeof connection>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 31; n++) {
    const started = performance.now();
    await call(upstream, 'echo', { n });
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[15] ?? 0;
}

describe('an upstream that pours', () => {
  const notification = { text: 'news' };
  const noise = { line: 'Listening on nothing, for ever' };
  test.each([
    ['notifications', notification],
    ['noise', noise],
    ['requests', { line: '{"jsonrpc":"2.0","id":"again","method":"sampling/createMessage","params":{}}' }],
    ['answers that nobody asked for', { line: '{"jsonrpc":"2.0","id":77,"result":{}}' }],
  ])('%s still answers, and costs the others next to nothing', async (_, args) => {
    let heard = 0;
    const events = { notification: () => void heard++, request: async () => void heard++ };
    const upstream = connection(serverSpec(), { settings: calm, events });
    const other = connection(serverSpec([], { name: 'y' }));
    await Promise.all([upstream.connect(), other.connect()]);
    const before = process.memoryUsage().rss;
    expect(await call(upstream, 'pour', args)).toBe('pouring');
    const started = performance.now();
    expect(await latency(other)).toBeLessThan(100);
    expect(await call(upstream, 'echo', { a: 1 }, { timeout: 15_000 })).toEqual({ a: 1 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const ms = performance.now() - started;
    // 25 per ms in the long run, 20,000 at once, and what was read already.
    const taken = heard + upstream.diagnostics().noise;
    expect(taken).toBeLessThan(ms * 25 + 30_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });

  test('one line without an end is given up with a clear error, and comes back', async () => {
    const upstream = connection(serverSpec(), { settings: calm });
    const other = connection(serverSpec([], { name: 'y' }));
    await Promise.all([upstream.connect(), other.connect()]);
    const { pid = 0 } = upstream.diagnostics();
    const before = process.memoryUsage().rss;
    const endless = failure(call(upstream, 'endless', {}, { timeout: 15_000 }));
    expect(await latency(other)).toBeLessThan(100);
    expect(await endless).toMatchObject({
      code: 'protocol',
      message: 'server "x" wrote 16000000 bytes without a message and was given up',
      hint: 'check that the command of server "x" speaks MCP on its stdout',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
    expect(await call(upstream, 'echo', { back: true })).toEqual({ back: true });
    await until(() => !isRunning(pid));
  });
});

describe('an upstream that is careless', () => {
  test('with UTF-8 is read as far as it goes', async () => {
    const upstream = connection(serverSpec());
    expect(await call(upstream, 'bad-utf8')).toBe('a\ufffd\ufffd\ufffdb');
  });

  test('and answers after the timeout disturbs nothing', async () => {
    const upstream = connection(serverSpec());
    await upstream.connect();
    const late = Array.from({ length: 20 }, () => failure(call(upstream, 'sleep', { ms: 300 }, { timeout: 50 })));
    for (const outcome of await Promise.all(late)) expect(outcome).toMatchObject({ code: 'timeout' });
    await until(() => upstream.diagnostics().noise === 20);
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    expect(upstream.state.kind).toBe('ready');
  });

  test('and dies again and again under load fails only the calls that it had', async () => {
    const upstream = connection(serverSpec([], { reconnect: { interval: 20, maxRetries: 50 } }));
    const other = connection(serverSpec([], { name: 'y' }));
    await Promise.all([upstream.connect(), other.connect()]);
    let failed = 0;
    for (let round = 0; round < 4; round++) {
      const flying = Array.from({ length: 10 }, () => failure(call(upstream, 'never')));
      const others = Array.from({ length: 10 }, (_, n) => call(other, 'echo', { n }));
      await call(upstream, 'echo');
      const started = performance.now();
      process.kill(upstream.diagnostics().pid ?? 0, 'SIGKILL');
      const outcomes = await Promise.all(flying);
      expect(performance.now() - started).toBeLessThan(1000);
      failed += outcomes.filter((error) => error.message === 'server "x" was ended by SIGKILL').length;
      await Promise.all(others);
      expect(await call(upstream, 'echo', { round })).toEqual({ round });
    }
    expect(failed).toBe(40);
  });
});
