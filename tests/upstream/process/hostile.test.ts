import { describe, expect, test, vi } from 'vitest';
import { call, cleanup, connection, isRunning, SETTINGS, serverSpec, until } from '../world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

const calm = { ...SETTINGS, limits: { ...SETTINGS.limits, messageBytes: 1_000_000 } };

/** Calls of another upstream, one after the other. */
async function expectAnswers(upstream: ReturnType<typeof connection>): Promise<void> {
  for (let n = 0; n < 30; n++) expect(await call(upstream, 'echo', { n })).toEqual({ n });
}

/** As many are read at once. */
const AT_ONCE = 20_000;
/** As many more may have been read when the limit is reached. */
const READ_ALREADY = 10_000;

describe('an upstream that pours', () => {
  const notification = { text: 'news' };
  const noise = { line: 'Listening on nothing, for ever' };
  test.each([
    ['notifications', AT_ONCE, notification],
    ['noise', AT_ONCE, noise],
    ['requests', 1, { line: '{"jsonrpc":"2.0","id":"again","method":"sampling/createMessage","params":{}}' }],
    ['answers that nobody asked for', AT_ONCE, { line: '{"jsonrpc":"2.0","id":77,"result":{}}' }],
  ])('%s is read so slowly that others are answered, and answers too', async (_, enough, args) => {
    // No time passes until the test says so, and the allowance grows with time only.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    cleanup(() => clock.mockRestore());
    let heard = 0;
    const events = { notification: () => void heard++, request: async () => void heard++ };
    const upstream = connection(serverSpec(), { settings: calm, events });
    const other = connection(serverSpec([], { name: 'y' }));
    await Promise.all([upstream.connect(), other.connect()]);
    const before = process.memoryUsage().rss;
    expect(await call(upstream, 'pour', args)).toBe('pouring');
    const taken = () => heard + upstream.diagnostics().noise;
    await until(() => taken() >= enough);
    await expectAnswers(other);
    expect(taken()).toBeLessThan(AT_ONCE + READ_ALREADY);
    clock.mockRestore();
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    await expectAnswers(other);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });

  test('one line without an end is given up with a clear error, and comes back', async () => {
    const upstream = connection(serverSpec(), { settings: calm });
    const other = connection(serverSpec([], { name: 'y' }));
    await Promise.all([upstream.connect(), other.connect()]);
    const { pid = 0 } = upstream.diagnostics();
    const before = process.memoryUsage().rss;
    const endless = failure(call(upstream, 'endless'));
    await expectAnswers(other);
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
    const late = Array.from({ length: 20 }, () => failure(call(upstream, 'late', {}, { timeout: 50 })));
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
      process.kill(upstream.diagnostics().pid ?? 0, 'SIGKILL');
      const outcomes = await Promise.all(flying);
      failed += outcomes.filter((error) => error.message === 'server "x" was ended by SIGKILL').length;
      await Promise.all(others);
      expect(await call(upstream, 'echo', { round })).toEqual({ round });
    }
    expect(failed).toBe(40);
  });
});
