import { setMaxListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type McpxError, RpcError } from '../../src/errors.ts';
import type { ConnectionState } from '../../src/upstream/connection-interface.ts';
import { createSlots } from '../../src/upstream/lifecycle/queue.ts';
import { call, connection, httpSpec, isRunning, recorder, SETTINGS, serverSpec, stopClock, until } from './world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

/** A file in which the fixture server writes down what it gets. */
function logFile(): {
  flag: string;
  messages(): { method?: string; started?: number; params?: Record<string, unknown> }[];
} {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-connection-')), 'log');
  // The end of the file may be a line that the server is still writing.
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  return { flag: `log=${file}`, messages: () => read().map((line) => JSON.parse(line)) };
}

describe('a connection to a process', () => {
  test('starts at the first request, says who we are, and answers', async () => {
    const upstream = connection(serverSpec());
    expect(upstream.state).toEqual({ kind: 'idle' });
    expect(await call(upstream, 'echo', { a: [1, '中'] })).toEqual({ a: [1, '中'] });
    expect(upstream.state.kind).toBe('ready');
    expect(upstream.handshake).toEqual({
      conversation: expect.any(String),
      era: 'legacy',
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: {
        name: 'fixture',
        version: '1.0.0',
        seen: { capabilities: {}, clientInfo: { name: 'mcpx', version: '0.0.0-test' } },
      },
      instructions: 'for tests',
    });
    const steps = { open: expect.any(Number), initialize: expect.any(Number), readyAt: expect.any(Number) };
    expect(upstream.diagnostics()).toEqual({ pid: expect.any(Number), stderr: [], noise: 0, steps });
  });

  test('starts it once, however many call at once', async () => {
    const log = logFile();
    const upstream = connection(serverSpec([log.flag]));
    const numbers = Array.from({ length: 100 }, (_, n) => ({ n }));
    expect(await Promise.all(numbers.map((args) => call(upstream, 'echo', args)))).toEqual(numbers);
    const started = log.messages().filter((line) => line.started);
    const methods = log.messages().flatMap(({ method }) => method ?? []);
    expect(started).toHaveLength(1);
    expect(methods.slice(0, 3)).toEqual(['initialize', 'notifications/initialized', 'tools/call']);
  });

  test('tells its states in order', async () => {
    const states: ConnectionState['kind'][] = [];
    const upstream = connection(serverSpec(), { events: { state: ({ kind }) => states.push(kind) } });
    await upstream.connect();
    await upstream.close();
    await upstream.close();
    expect(states).toEqual(['connecting', 'ready', 'closed']);
    expect(await failure(upstream.connect())).toMatchObject({ code: 'unreachable', message: 'server "x" is stopped' });
    expect(upstream.handshake?.serverInfo.name).toBe('fixture');
  });

  test('is not hurt by a listener that fails', async () => {
    const { log, lines } = recorder();
    const upstream = connection(serverSpec(), {
      log,
      events: {
        state: () => {
          throw new Error('listener');
        },
      },
    });
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    expect(lines).toContain('debug: a listener failed: listener');
  });

  test('relays an error of the upstream verbatim', async () => {
    const thrown = await failure(call(connection(serverSpec()), 'refuse'));
    expect(thrown).toBeInstanceOf(RpcError);
    expect(thrown).toMatchObject({ code: -32042, message: 'No: "quoted"', data: { why: ['this', null] } });
  });

  test.each([
    ['frames both ways', ['content-length'], 'content-length'],
    ['a banner, a BOM', ['banner', 'bom'], 'newline'],
  ] as const)('speaks %s', async (_, flags, framing) => {
    expect(await call(connection(serverSpec([...flags], { framing })), 'echo', { 中: '🙂' })).toEqual({ 中: '🙂' });
  });

  test('is the same to a built-in server', async () => {
    const { type: _, command, args, env, envFile, framing, ...base } = serverSpec();
    const upstream = connection({ ...base, type: 'builtin', builtin: 'math' });
    expect((await upstream.connect()).era).toBe('legacy');
    expect(await upstream.request('tools/list')).toHaveProperty('tools');
  });

  test('passes a result of 10 MB', async () => {
    const text = (await call(connection(serverSpec()), 'big', { bytes: 10_000_000 })) as string;
    expect(text).toHaveLength(10_000_000);
  });
});

describe('a start that fails', () => {
  const cases: [title: string, flags: string[], expected: object][] = [
    [
      'by an exit before the handshake',
      ['exit=4'],
      { code: 'unreachable', message: 'server "x" exited with code 4 (stderr: no such luck)' },
    ],
    [
      'by an exit inside the handshake',
      ['exit-init'],
      { code: 'unreachable', message: 'server "x" exited with code 7 (stderr: cannot open | the database)' },
    ],
    ['by a refusal', ['refuse-init'], { code: 'protocol', message: 'server "x" refused "initialize": go away' }],
    [
      'by an odd answer',
      ['odd-init'],
      { code: 'protocol', message: 'server "x" answered "initialize" with no object' },
    ],
    [
      'by an unknown version',
      ['version=1900-01-01'],
      { code: 'protocol', message: 'server "x" speaks protocol version "1900-01-01", which mcpx does not know' },
    ],
    [
      'by silence',
      ['hang-init'],
      {
        code: 'unreachable',
        message: 'server "x" did not start within 400 ms',
        hint: expect.stringContaining('startupTimeout'),
      },
    ],
  ];
  test('by printing what is not MCP is told with the first line of it', async () => {
    stopClock();
    const wrong = connection(serverSpec(['hang-init', 'banner'], { startupTimeout: 2500 }));
    const failed = failure(wrong.connect());
    await until(() => wrong.diagnostics().noise === 1);
    await vi.advanceTimersByTimeAsync(2500);
    expect(await failed).toMatchObject({
      code: 'unreachable',
      message: 'server "x" did not start within 2500 ms: it wrote "Welcome to the fixture!", which is not MCP',
      hint: expect.stringContaining('check "command" of server "x"'),
    });
  });

  test.each(cases)(
    '%s says so at once, and again while the next try is further away than a call can wait',
    async (_, flags, expected) => {
      const { log, lines } = recorder();
      const more = {
        timeout: 30_000,
        startupTimeout: flags[0] === 'hang-init' ? 400 : 30_000,
        reconnect: { interval: 60_000, maxRetries: 1 },
      };
      const upstream = connection(serverSpec(flags, more), { log });
      const [first, second] = await Promise.all([failure(upstream.connect()), failure(call(upstream, 'echo'))]);
      expect(first).toMatchObject(expected);
      expect(second).toBe(first);
      expect(upstream.state).toMatchObject({ kind: 'backoff', failures: 1, reason: first.message });
      expect(lines).toContain(`warn: ${first.message}`);
      const rested = await failure(call(upstream, 'echo'));
      expect(rested).toMatchObject({ code: first.code, cause: first });
      expect(rested.message).toMatch(/; next try in [4-7]\d s$/);
    },
  );

  test('for a missing variable is final, and names it', async () => {
    const upstream = connection(serverSpec([], { env: { KEY: '${NO_SUCH_VARIABLE_HERE}' } }));
    const first = await failure(upstream.connect());
    expect(first).toMatchObject({ code: 'config', message: expect.stringContaining('NO_SUCH_VARIABLE_HERE') });
    expect(upstream.state).toEqual({ kind: 'closed', reason: first.message, failure: first });
    expect(await failure(call(upstream, 'echo'))).toBe(first);
  });

  test('leaves no process behind', async () => {
    stopClock();
    const log = logFile();
    const upstream = connection(serverSpec(['hang-init', 'stubborn', log.flag], { startupTimeout: 1500 }));
    const failed = failure(upstream.connect());
    await until(() => log.messages().some(({ method }) => method === 'initialize'));
    await vi.advanceTimersByTimeAsync(1500);
    expect(await failed).toMatchObject({ code: 'unreachable' });
    vi.useRealTimers();
    await upstream.close({ eof: 0, term: 0 });
    expect(isRunning(log.messages()[0]?.started ?? 0)).toBe(false);
  });

  test('accepts a server that says as little as possible', async () => {
    const upstream = connection(serverSpec(['bare-init', 'version=2024-10-07']));
    expect(await upstream.connect()).toEqual({
      conversation: expect.any(String),
      era: 'legacy',
      protocolVersion: '2024-10-07',
      capabilities: {},
      serverInfo: { name: 'x', version: '' },
    });
  });
});

describe('an upstream that dies', () => {
  test.each([
    ['exit', { code: 3, stderr: 'out of cheese\n' }, 'server "x" exited with code 3 (stderr: out of cheese)'],
    ['signal', {}, 'server "x" was ended by SIGKILL'],
    ['half', {}, 'server "x" exited with code 1'],
    ['close-stdout', {}, 'server "x" closed its pipes'],
  ])(
    'by %s fails calls in flight, without waiting for their timeout, and the next call finds it again',
    async (tool, args, message) => {
      const upstream = connection(serverSpec());
      await upstream.connect();
      const { pid } = upstream.diagnostics();
      const outcomes = await Promise.all([failure(call(upstream, 'never')), failure(call(upstream, tool, args))]);
      const hint = expect.stringContaining('had worked until then');
      for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 'unreachable', message, hint });
      expect(upstream.state).toMatchObject({ kind: 'backoff', failures: 1, reason: message });
      expect(await call(upstream, 'echo', { again: true })).toEqual({ again: true });
      expect(upstream.diagnostics().pid).not.toBe(pid);
      expect(isRunning(pid ?? 0)).toBe(false);
    },
  );

  test('while idle is found again too', async () => {
    const upstream = connection(serverSpec());
    await upstream.connect();
    process.kill(upstream.diagnostics().pid ?? 0, 'SIGKILL');
    await until(() => upstream.state.kind === 'backoff');
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
  });

  test('just before a call does not cost the call', async () => {
    const upstream = connection(serverSpec());
    await upstream.connect();
    process.kill(upstream.diagnostics().pid ?? 0, 'SIGKILL');
    // Its pipes are closed before its end is known; a call in that moment was certainly not sent.
    const results: unknown[] = [];
    for (let n = 0; n < 20; n++) {
      results.push(await call(upstream, 'echo', { n }).catch((error: McpxError) => error.message));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const lost = results.filter((result) => typeof result === 'string');
    expect(lost.length).toBeLessThanOrEqual(1);
    for (const message of lost) expect(message).toBe('server "x" was ended by SIGKILL');
    expect(results.at(-1)).toEqual({ n: 19 });
  });

  test('closing its stdin is as good as dead', async () => {
    const upstream = connection(serverSpec());
    await call(upstream, 'close-stdin');
    const outcomes: unknown[] = [];
    await until(() => {
      void call(upstream, 'echo', { a: 1 }).then(
        (result) => outcomes.push(result),
        () => undefined,
      );
      return outcomes.length > 0;
    });
    expect(outcomes[0]).toEqual({ a: 1 });
  });
});

describe('a call', () => {
  test('ends after its timeout, the upstream is told, and the late answer is dropped', async () => {
    const upstream = connection(serverSpec());
    await upstream.connect();
    expect(await failure(call(upstream, 'late', {}, { timeout: 150 }))).toMatchObject({
      code: 'timeout',
      message: 'server "x" did not answer "tools/call" within 150 ms',
    });
    const [told] = (await call(upstream, 'cancelled')) as { requestId: number; reason: string }[];
    expect(told).toEqual({ requestId: 1002, reason: 'timeout after 150 ms' });
    await until(() => upstream.diagnostics().noise === 1);
  });

  test('may take longer than its timeout while progress comes', async () => {
    stopClock();
    const upstream = connection(serverSpec([], { timeout: 600 }));
    await upstream.connect();
    const progress: unknown[] = [];
    const options = {
      progress(params: unknown) {
        progress.push(params);
        vi.advanceTimersByTime(500);
      },
    };
    expect(await call(upstream, 'progress', { steps: 5, ms: 0 }, options)).toBe('done');
    expect(progress).toHaveLength(5);
    expect(progress[4]).toEqual({ progress: 5, total: 5, message: 'step 5' });
  });

  test('that is cancelled is cancelled at the upstream, under the id that it knows', async () => {
    const log = logFile();
    const upstream = connection(serverSpec([log.flag]));
    await upstream.connect();
    const controller = new AbortController();
    const waiting = failure(call(upstream, 'never', {}, { signal: controller.signal }));
    await until(() => log.messages().some(({ method }) => method === 'tools/call'));
    controller.abort('enough');
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    expect(await call(upstream, 'cancelled')).toEqual([{ requestId: 1002, reason: 'enough' }]);
  });

  test('that is cancelled while the upstream starts does not wait, and does not stop the start', async () => {
    const upstream = connection(serverSpec());
    const controller = new AbortController();
    const waiting = failure(call(upstream, 'echo', {}, { signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    expect(await failure(call(upstream, 'echo', {}, { signal: controller.signal }))).toMatchObject({
      code: 'cancelled',
    });
  });

  test('that was cancelled before it could be sent starts nothing', async () => {
    const upstream = connection(serverSpec());
    const signal = AbortSignal.abort();
    expect(await failure(call(upstream, 'echo', {}, { signal }))).toMatchObject({ code: 'cancelled' });
    expect(upstream.state.kind).toBe('idle');
  });

  test('waits for its turn, first come first served, and no longer than its timeout', async () => {
    const log = logFile();
    const upstream = connection(serverSpec([log.flag], { concurrency: 2 }));
    const calls = [200, 200, 1, 1].map((ms, n) => call(upstream, 'sleep', { ms, n }));
    const impatient = await failure(call(upstream, 'echo', {}, { timeout: 60 }));
    expect(impatient).toMatchObject({ code: 'overloaded', message: expect.stringContaining('waited 60 ms') });
    const controller = new AbortController();
    const cancelled = failure(call(upstream, 'echo', {}, { signal: controller.signal }));
    controller.abort();
    expect(await cancelled).toMatchObject({ code: 'cancelled' });
    await Promise.all(calls);
    const order = log.messages().flatMap(({ params }) => (params?.arguments as { n?: number } | undefined)?.n ?? []);
    expect(order).toEqual([0, 1, 2, 3]);
  });
});

describe('calls of several callers', () => {
  test('take turns where they have to wait, and one too many is refused at once', async () => {
    const log = logFile();
    const upstream = connection(serverSpec([log.flag], { concurrency: 1 }));
    await upstream.connect();
    const from = (caller: string, n: string) =>
      call(upstream, 'sleep', { ms: 5, n }, { client: { key: caller, capabilities: {} } });
    const many = ['1', '2', '3', '4'].map((n) => from('hog', `hog${n}`));
    await Promise.all([...many, from('other', 'other')]);
    const order = log.messages().flatMap(({ params }) => (params?.arguments as { n?: string } | undefined)?.n ?? []);
    expect(order.indexOf('other')).toBeLessThanOrEqual(2);

    const controller = new AbortController();
    const { signal } = controller;
    setMaxListeners(0, signal);
    const held = failure(call(upstream, 'never', {}, { signal }));
    const line = Array.from({ length: 2048 }, () => failure(call(upstream, 'echo', {}, { signal })));
    expect(await failure(call(upstream, 'echo'))).toMatchObject({
      code: 'overloaded',
      message: 'server "x" is overloaded: 2048 calls wait already',
    });
    controller.abort();
    for (const outcome of await Promise.all([held, ...line])) expect(outcome).toMatchObject({ code: 'cancelled' });
  });
});

describe('an upstream that misbehaves', () => {
  test.each([
    ['twice', 'first', 1],
    ['strangers', 'mine', 5],
    ['noise', 'heard', 3],
    ['string-id', 'found', 0],
    ['utf8', '中文 🙂 é', 0],
  ])('(%s) is understood as far as it goes', async (tool, expected, noise) => {
    const upstream = connection(serverSpec());
    expect(await call(upstream, tool)).toBe(expected);
    await upstream.request('ping');
    expect(upstream.diagnostics().noise).toBe(noise);
  });

  test('fails only the call whose answer is malformed', async () => {
    const upstream = connection(serverSpec());
    const [broken, fine] = await Promise.all([failure(call(upstream, 'malformed')), call(upstream, 'echo', { a: 1 })]);
    expect(broken).toMatchObject({
      code: 'protocol',
      message: 'server "x" sent an answer that cannot be used: "jsonrpc" must be "2.0"',
    });
    expect(fine).toEqual({ a: 1 });
  });

  test('fails only the call whose answer is over the limit', async () => {
    const limits = { ...SETTINGS.limits, messageBytes: 100_000 };
    const upstream = connection(serverSpec(), { settings: { ...SETTINGS, limits } });
    expect(await failure(call(upstream, 'big', { bytes: 1_000_000 }))).toMatchObject({
      code: 'protocol',
      message: expect.stringContaining('over the limit of 100000 bytes'),
    });
    expect(await call(upstream, 'big', { bytes: 1000 })).toHaveLength(1000);
  });

  test('with a flood of notifications is heard in full', async () => {
    let heard = 0;
    const upstream = connection(serverSpec(), {
      events: {
        notification: ({ method }) => {
          heard += method === 'notifications/message' ? 1 : 0;
        },
      },
    });
    expect(await call(upstream, 'flood', { count: 20_000 })).toBe('flooded');
    expect(heard).toBe(20_000);
  });
});

describe('a request of the upstream', () => {
  test('is answered when it is a ping, and refused otherwise', async () => {
    const upstream = connection(serverSpec());
    expect(await call(upstream, 'ask', { method: 'ping' })).toEqual({});
    expect(await call(upstream, 'ask', { method: 'roots/list' })).toEqual({
      code: -32601,
      message: 'method not found: roots/list',
    });
  });

  test('goes to the hook where there is one', async () => {
    const upstream = connection(serverSpec(), {
      events: { request: async ({ method, params }) => ({ method, params }) },
    });
    const params = { message: 'sure?' };
    expect(await call(upstream, 'ask', { method: 'elicitation/create', params })).toEqual({
      method: 'elicitation/create',
      params,
    });
    expect(await call(upstream, 'ask', { method: 'ping' })).toEqual({});
  });
});

describe('the end of a connection', () => {
  test('fails what is under way, and leaves nothing', async () => {
    const upstream = connection(serverSpec(['stubborn']));
    await upstream.connect();
    const { pid } = upstream.diagnostics();
    const waiting = failure(call(upstream, 'never'));
    await new Promise((resolve) => setImmediate(resolve));
    await upstream.close({ eof: 50, term: 50 });
    expect(await waiting).toMatchObject({ code: 'unreachable' });
    expect(isRunning(pid ?? 0)).toBe(false);
  });

  test('gives a server the time that it needs to end', async () => {
    const log = logFile();
    const upstream = connection(serverSpec([log.flag, 'slow-end=600']));
    await upstream.connect();
    await upstream.close();
    expect(log.messages().at(-1)).toEqual({ ended: true });
  });

  test('while it starts ends the start', async () => {
    const log = logFile();
    const upstream = connection(serverSpec(['hang-init', log.flag]));
    const waiting = failure(upstream.connect());
    await until(() => {
      try {
        return log.messages().some(({ method }) => method === 'initialize');
      } catch {
        return false;
      }
    });
    await upstream.close();
    expect(await waiting).toMatchObject({ code: 'unreachable', message: 'server "x" is stopped' });
    expect(isRunning(log.messages()[0]?.started ?? 0)).toBe(false);
  });

  test('while it waits for its turn to start never starts it', async () => {
    const starts = createSlots({ limit: 1, subject: 'the start of servers' });
    starts.enter();
    const upstream = connection(serverSpec(), { starts });
    const waiting = failure(upstream.connect());
    await new Promise((resolve) => setImmediate(resolve));
    await upstream.close();
    expect(await waiting).toMatchObject({ message: 'server "x" is stopped' });
    expect(starts.waiting).toBe(0);
    expect(starts.active).toBe(1);
  });

  test('can be had at once', async () => {
    const upstream = connection(serverSpec(['stubborn']));
    await upstream.connect();
    const { pid } = upstream.diagnostics();
    upstream.killNow();
    await until(() => !isRunning(pid ?? 0));
  });
});

test('a call to an upstream that is slow to start waits its own timeout, not that of the start', async () => {
  const upstream = connection(serverSpec(['hang-init'], { timeout: 300, startupTimeout: 60_000 }));
  expect(await failure(call(upstream, 'echo'))).toMatchObject({ code: 'timeout' });
  expect(upstream.state.kind).toBe('connecting');
});

describe('offline', () => {
  const offline = { ...SETTINGS, offline: true };

  test.each(['https://mcp.example.com/mcp', 'ws://192.0.2.1/mcp', 'http://localhost.example.com/'])(
    '%s is not contacted, and the reason is said',
    async (url) => {
      const upstream = connection(httpSpec(url), { settings: offline });
      expect(await failure(upstream.connect())).toMatchObject({
        code: 'config',
        message: 'server "x" is not contacted: mcpx is offline',
        hint: expect.stringContaining('"offline": false'),
      });
    },
  );

  test('what is on this machine is contacted all the same', async () => {
    const upstream = connection(httpSpec('http://127.0.0.1:1/mcp'), { settings: offline });
    expect(await failure(upstream.connect())).toMatchObject({ code: 'unreachable' });
    expect(await call(connection(serverSpec(), { settings: offline }), 'echo', { a: 1 })).toEqual({ a: 1 });
  });
});
