import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { McpxError, RpcError } from '../../../src/errors.ts';
import type { CallOptions, Precondition } from '../../../src/upstream/call-options.ts';
import { createConnection } from '../../../src/upstream/connection.ts';
import type { Connection, ConnectionState } from '../../../src/upstream/connection-interface.ts';
import type { Handshake } from '../../../src/upstream/handshake.ts';
import type { LinkOptions } from '../../../src/upstream/lifecycle/connect.ts';
import type { Link } from '../../../src/upstream/lifecycle/link.ts';
import type { Transport } from '../../../src/upstream/transports/transport.ts';
import { undelivered } from '../../../src/wire/undelivered.ts';
import { recorder, SETTINGS, serverSpec } from '../world.ts';

/** The state machine on a clock of its own: links are staged, everything else is real. */
type Answer = (method: string) => unknown;
const stage = vi.hoisted(() => ({ open: undefined as unknown as (options: LinkOptions) => Promise<Link> }));
vi.mock('../../../src/upstream/lifecycle/connect.ts', () => ({
  openLink: (options: LinkOptions) => stage.open(options),
}));

interface Staged {
  upstream: Connection;
  states: ConnectionState[];
  lines: string[];
  /** When each start was tried, in ms since the beginning. */
  tries: number[];
  /** Every request that was sent. */
  sent: string[];
  /** Why a start fails; undefined = it succeeds. */
  fault: { start?: Error | undefined; answer: Answer };
  /** Ends the open conversation from the far side. */
  die(message?: string): void;
  stopped: number;
  isSubscribed: boolean;
}

const HELLO = {
  era: 'legacy' as const,
  protocolVersion: '2025-11-25',
  capabilities: {},
  serverInfo: { name: 'x', version: '1' },
};
const unreachable = (message = 'server "x" exited with code 1') => new McpxError('unreachable', message);

function staged(more: Parameters<typeof serverSpec>[1] = {}, settings: Partial<typeof SETTINGS> = {}): Staged {
  const states: ConnectionState[] = [];
  const { log, lines } = recorder();
  const began = Date.now();
  let handlers: LinkOptions['handlers'] | undefined;
  let pending = new Set<(error: Error) => void>();
  const world: Staged = {
    upstream: createConnection({
      spec: serverSpec([], more),
      settings: { ...SETTINGS, ...settings },
      log,
      events: { state: (state) => states.push(state) },
      isSubscribed: () => world.isSubscribed,
    }),
    states,
    lines,
    tries: [],
    sent: [],
    fault: { answer: () => ({}) },
    stopped: 0,
    isSubscribed: false,
    die(message) {
      for (const reject of pending) reject(unreachable(message));
      handlers?.closed?.(unreachable(message));
    },
  };
  stage.open = async ({ opened, handlers: given }) => {
    world.tries.push(Date.now() - began);
    if (world.fault.start) throw world.fault.start;
    const rejects = new Set<(error: Error) => void>();
    pending = rejects;
    handlers = given;
    const transport = { start() {}, send() {}, close: async () => void world.stopped++ } as Transport;
    opened(transport);
    const request = (method: string) =>
      new Promise((resolve, reject) => {
        world.sent.push(method);
        rejects.add(reject);
        Promise.resolve()
          .then(() => world.fault.answer(method))
          .then((result) => result !== undefined && resolve(result), reject);
      });
    const close = async () => {
      for (const reject of rejects) reject(unreachable('the connection is closed'));
      given.closed?.();
    };
    return {
      transport,
      handshake: { ...HELLO },
      peer: { request, notify() {}, close, pending: { ours: 0, theirs: 0 } },
    };
  };
  return world;
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const call = ({ upstream }: Staged, options = {}) => upstream.request('tools/call', {}, options);

let open: Staged[] = [];
function world(...args: Parameters<typeof staged>): Staged {
  const created = staged(...args);
  open.push(created);
  return created;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

afterEach(async () => {
  for (const { upstream } of open) await upstream.close();
  open = [];
  expect(vi.getTimerCount()).toBe(0);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('an upstream that is lost', () => {
  test('comes back by itself after half a second, and then after twice as long each time', async () => {
    const x = world({ reconnect: { interval: 500, maxRetries: 10 } });
    await x.upstream.connect();
    await pass(10_000);
    x.fault.start = unreachable();
    x.die();
    await pass(200_000);
    const gaps = [10_000, ...x.tries.slice(1)].map((at, n, all) => at - (all[n - 1] ?? at)).slice(1);
    expect(gaps).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
    expect(x.upstream.state).toMatchObject({ kind: 'backoff', failures: 11, resting: true });
  });

  test('counts from the beginning once it has been up for ten seconds', async () => {
    const x = world();
    await x.upstream.connect();
    // Up for so long, then dead; it comes back within 30 s, of which none count.
    for (const up of [1000, 9999, 9999, 10_000, 0]) {
      await pass(up);
      x.die();
      const { until } = x.upstream.state as Extract<ConnectionState, { kind: 'backoff' }>;
      await pass(until - Date.now());
    }
    const failures = x.states.flatMap((state) => (state.kind === 'backoff' ? [state.failures] : []));
    expect(failures).toEqual([1, 2, 3, 1, 2]);
  });

  test('fails what is in flight, and what was not sent yet waits', async () => {
    const x = world();
    await x.upstream.connect();
    x.fault.answer = () => undefined;
    const flying = failure(call(x));
    await pass(1);
    x.die();
    expect(await flying).toMatchObject({ code: 'unreachable', message: 'server "x" exited with code 1' });
    x.fault.answer = () => 'answer';
    const waiting = call(x);
    await pass(499);
    expect(x.tries).toHaveLength(1);
    await pass(1);
    expect(await waiting).toBe('answer');
    expect(x.sent).toEqual(['tools/call', 'tools/call']);
  });

  test('is waited for over several tries, within the timeout of the call', async () => {
    const x = world({ timeout: 5000, startupTimeout: 100 });
    await x.upstream.connect();
    x.fault.start = unreachable('server "x" cannot be reached');
    x.die();
    const patient = call(x);
    const impatient = failure(call(x, { timeout: 1200 }));
    await pass(1500);
    expect(await impatient).toMatchObject({
      code: 'unreachable',
      message: 'server "x" cannot be reached; next try in 1 s',
    });
    x.fault.start = undefined;
    await pass(2000);
    expect(await patient).toEqual({});
  });

  test('is not waited for by a call that is cancelled', async () => {
    const x = world();
    await x.upstream.connect();
    x.die();
    const controller = new AbortController();
    const waiting = failure(call(x, { signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'cancelled' });
  });

  test('gets a call that may run twice once more, and no other', async () => {
    const x = world();
    await x.upstream.connect();
    x.fault.answer = () => undefined;
    const [once, twice] = [failure(call(x)), call(x, { repeatable: true })];
    await pass(1);
    x.fault.answer = () => 'second';
    x.die();
    await pass(1000);
    expect(await once).toMatchObject({ code: 'unreachable' });
    expect(await twice).toBe('second');
    expect(x.sent).toHaveLength(3);
  });

  test('gets it once more only', async () => {
    const x = world();
    await x.upstream.connect();
    x.fault.answer = () => undefined;
    const twice = failure(call(x, { repeatable: true }));
    await pass(1);
    x.die('first end');
    await pass(501);
    x.die('second end');
    expect(await twice).toMatchObject({ message: 'second end' });
    expect(x.sent).toHaveLength(2);
  });

  test('in its session only is connected again at once, however many calls found out', async () => {
    const x = world();
    await x.upstream.connect();
    let expired = true;
    x.fault.answer = () => {
      if (expired) throw undelivered('server "x" no longer knows the session (HTTP 404)');
      return 'answer';
    };
    const calls = Promise.all(Array.from({ length: 20 }, () => call(x)));
    await Promise.resolve();
    stageOnce(x, () => {
      expired = false;
    });
    await pass(0);
    expect(new Set(await calls)).toEqual(new Set(['answer']));
    expect(x.tries).toEqual([0, 0]);
  });

  /** Runs something when the next start begins. */
  function stageOnce(x: Staged, then: () => void) {
    const before = stage.open;
    stage.open = (options) => {
      then();
      stage.open = before;
      return before(options);
    };
    expect(x.tries).toHaveLength(1);
  }
});

describe('a call that relies on what its server has said', () => {
  /** A list is valid for the connection on which it was read; `look` reads it. */
  function relying(x: Staged, look: (handshake: Handshake) => Promise<unknown> = async () => undefined) {
    const listed = new Set<unknown>([x.upstream.handshake]);
    const precondition: Precondition = {
      isMet: (handshake) => listed.has(handshake),
      async satisfy(handshake, request) {
        await look(handshake);
        listed.add(handshake);
        return x.upstream.handshake === handshake ? request : undefined;
      },
    };
    const list = () => x.upstream.request('tools/list', {}, { bypassQueue: true });
    return { call: (options: CallOptions = {}) => call(x, { ...options, precondition }), list };
  }
  const refuse = () => Promise.reject(new McpxError('refused', 'it has changed'));

  test('goes at once where that was in the same conversation', async () => {
    const x = world();
    await x.upstream.connect();
    expect(await relying(x, refuse).call()).toEqual({});
  });

  test.each<[string, CallOptions, (x: Staged) => void]>([
    ['was not delivered', {}, (x) => (x.fault.answer = () => Promise.reject(undelivered('no session')))],
    ['may run twice', { repeatable: true }, (x) => (x.fault.answer = () => undefined)],
  ])('and %s is not sent again to a server that has changed since', async (_, options, fail) => {
    const x = world();
    await x.upstream.connect();
    const call = relying(x, refuse).call;
    fail(x);
    const first = failure(call(options));
    await pass(1);
    if (x.upstream.state.kind === 'ready' && x.tries.length === 1) x.die();
    x.fault.answer = () => 'ran';
    await pass(1000);
    expect(await first).toMatchObject({ code: 'refused' });
    expect(x.sent).toEqual(['tools/call']);
    expect(x.upstream.state.kind).toBe('ready');
  });

  test('and waits for its turn while its server starts again is looked at when it has it', async () => {
    const x = world({ concurrency: 1 });
    await x.upstream.connect();
    const { call } = relying(x, refuse);
    x.fault.answer = () => undefined;
    const [first, second] = [failure(call()), failure(call())];
    await pass(1);
    x.fault.answer = () => 'ran';
    x.die();
    await pass(500);
    expect(await first).toMatchObject({ code: 'unreachable' });
    expect(await second).toMatchObject({ code: 'refused' });
    expect(x.sent).toHaveLength(1);
  });

  test('waits for a server that is lost over several tries, then for what it says', async () => {
    const x = world();
    await x.upstream.connect();
    const { call, list } = relying(x, () => list());
    x.fault.start = unreachable('server "x" cannot be reached');
    x.die();
    const waiting = call();
    await pass(700);
    x.fault.start = undefined;
    await pass(1000);
    expect(await waiting).toEqual({});
    expect(x.sent).toEqual(['tools/list', 'tools/call']);
  });

  test('waits no longer than its timeout, and not when it is cancelled', async () => {
    const x = world();
    await x.upstream.connect();
    const { call } = relying(x, () => new Promise((resolve) => setTimeout(resolve, 5000)));
    x.die();
    const controller = new AbortController();
    const [late, cancelled] = [failure(call({ timeout: 900 })), failure(call({ signal: controller.signal }))];
    await pass(600);
    controller.abort();
    expect(await cancelled).toMatchObject({ code: 'cancelled' });
    expect(await failure(call({ signal: controller.signal }))).toMatchObject({ code: 'cancelled' });
    await pass(300);
    expect(await late).toMatchObject({
      code: 'timeout',
      message: 'server "x" did not say what it offers in time',
    });
    await pass(5000);
    expect(x.sent).toEqual([]);
  });

  test('looks again where the server is lost while it is listed', async () => {
    const x = world();
    await x.upstream.connect();
    const looked: Handshake[] = [];
    const { call } = relying(x, async (handshake) => {
      looked.push(handshake);
      if (looked.length === 1) x.die();
    });
    x.die();
    const waiting = call();
    await pass(5000);
    expect(await waiting).toEqual({});
    expect(new Set(looked).size).toBe(2);
    expect(x.sent).toEqual(['tools/call']);
  });

  test('is not sent where that cannot be found out', async () => {
    const x = world();
    await x.upstream.connect();
    x.die();
    const precondition = { isMet: () => false, satisfy: async () => undefined };
    const waiting = failure(call(x, { precondition }));
    await pass(500);
    expect(await waiting).toMatchObject({ code: 'unreachable', message: 'server "x" did not say what it offers' });
    expect(x.sent).toEqual([]);
  });

  test('leaves room for the list that it waits for, whatever else waits, and is no second probe', async () => {
    const x = world({ concurrency: 1 });
    await x.upstream.connect();
    const { call, list } = relying(x, () => list());
    x.fault.start = unreachable('server "x" cannot be reached');
    x.die();
    await pass(7500);
    x.fault.start = undefined;
    await pass(8000);
    expect(await Promise.all([call(), call()])).toEqual([{}, {}]);
    expect(x.sent).toEqual(['tools/list', 'tools/call', 'tools/call']);
  });
});

describe('an upstream that does not start', () => {
  test('says why to the call that began it, and is tried again by itself', async () => {
    const x = world();
    x.fault.start = unreachable();
    const [first, second] = [failure(call(x)), failure(x.upstream.connect())];
    expect(await first).toBe(x.fault.start);
    expect(await second).toBe(x.fault.start);
    expect(x.upstream.state).toMatchObject({ kind: 'backoff', failures: 1, until: 500 + Date.now() });
    const waiting = call(x);
    await pass(400);
    x.fault.start = undefined;
    await pass(100);
    expect(await waiting).toEqual({});
  });

  test('rests after its tries; then each call tries once', async () => {
    const x = world({ reconnect: { interval: 100, maxRetries: 2 } });
    x.fault.start = unreachable();
    await failure(call(x));
    await pass(60_000);
    expect(x.tries).toEqual([0, 100, 300]);
    expect(x.upstream.state).toMatchObject({ kind: 'backoff', failures: 3, resting: true });
    // Said once, however often it is tried.
    expect(x.lines.filter((line) => line.startsWith('warn: '))).toEqual(['warn: server "x" exited with code 1']);
    expect(await failure(call(x))).toBe(x.fault.start);
    expect(x.tries).toHaveLength(4);
    await pass(60_000);
    expect(x.tries).toHaveLength(4);
    x.fault.start = undefined;
    expect(await call(x)).toEqual({});
  });

  test('is not tried again by itself where there are no tries', async () => {
    const x = world({ reconnect: { interval: 100, maxRetries: 0 } });
    x.fault.start = unreachable();
    await failure(call(x));
    await pass(60_000);
    expect(x.tries).toEqual([0]);
  });

  const spawnFault = Object.assign(new Error('spawn nope ENOENT'), { code: 'ENOENT', syscall: 'spawn nope' });
  test.each([
    [
      'a missing command',
      new McpxError('unreachable', 'command "nope" was not found', { hint: 'install "nope"', cause: spawnFault }),
    ],
    ['refused credentials', new McpxError('auth', 'server "x" wants other credentials', { hint: 'set "headers"' })],
  ])('for %s is not tried in a loop, says what to do, and may be tried by a call after a pause', async (_, fault) => {
    const x = world();
    x.fault.start = fault;
    expect(await failure(call(x))).toBe(fault);
    const { code, hint } = fault;
    expect(await failure(call(x))).toMatchObject({ code, hint, message: `${fault.message}; next try in 2 s` });
    await pass(60_000);
    expect(x.tries).toEqual([0]);
    x.fault.start = undefined;
    expect(await call(x)).toEqual({});
  });

  test('for its config is never tried again', async () => {
    const x = world();
    x.fault.start = new McpxError('config', 'no');
    await failure(call(x));
    await pass(60_000);
    expect(await failure(call(x))).toBe(x.fault.start);
    expect(x.tries).toEqual([0]);
    expect(x.upstream.state).toEqual({ kind: 'closed', reason: 'no', failure: x.fault.start });
  });

  test('and is closed meanwhile tells those who wait', async () => {
    const x = world();
    x.fault.start = unreachable();
    await failure(call(x));
    const waiting = failure(call(x));
    await x.upstream.close();
    expect(await waiting).toMatchObject({ message: 'server "x" is stopped' });
  });
});

describe('an upstream that fails five times in a row', () => {
  async function broken(): Promise<Staged> {
    const x = world();
    await x.upstream.connect();
    x.fault.start = unreachable('server "x" cannot be reached');
    x.die();
    return x;
  }

  test('answers at once, with the reason and when it is tried again', async () => {
    const x = await broken();
    const waiting = failure(call(x));
    await pass(500 + 1000 + 2000 + 4000);
    const message = 'server "x" cannot be reached; 5 failures in a row, next try in 8 s';
    expect(await waiting).toMatchObject({ code: 'unreachable', message });
    expect(await failure(call(x))).toMatchObject({ message });
    expect(await failure(x.upstream.connect())).toMatchObject({ message });
    expect(x.tries).toHaveLength(5);
    await pass(5500);
    expect(await failure(call(x))).toMatchObject({ message: expect.stringContaining('next try in 3 s') });
  });

  test('is tried with one call at a time, and an answer opens it for all', async () => {
    const x = await broken();
    await pass(7500);
    x.fault.start = undefined;
    let answer = (_: string) => {};
    const held = new Promise<string>((resolve) => (answer = resolve));
    x.fault.answer = () => held;
    await pass(8000);
    expect(x.upstream.state.kind).toBe('ready');
    const probe = call(x);
    expect(await failure(call(x))).toMatchObject({ message: expect.stringContaining('it is being tried again now') });
    answer('answer');
    expect(await probe).toBe('answer');
    expect(await Promise.all([call(x), call(x)])).toEqual(['answer', 'answer']);
  });

  test('stays so when the probe fails', async () => {
    const x = await broken();
    await pass(7500);
    x.fault.start = undefined;
    x.fault.answer = () => undefined;
    await pass(8000);
    const probe = failure(call(x));
    await pass(1);
    x.die('died again');
    expect(await probe).toMatchObject({ message: 'died again' });
    expect(await failure(call(x))).toMatchObject({
      message: expect.stringMatching(/^died again; 6 failures in a row, next try in \d+ s$/),
    });
  });

  test('over a connection that stays open is connected anew', async () => {
    const x = world();
    x.fault.answer = () => {
      throw unreachable('server "x" answered HTTP 502');
    };
    for (let n = 0; n < 5; n++) {
      expect(await failure(call(x))).toMatchObject({ message: 'server "x" answered HTTP 502' });
      await pass(1);
    }
    expect(x.upstream.state).toMatchObject({ kind: 'backoff', reason: 'server "x" answered HTTP 502' });
    expect(await failure(call(x))).toMatchObject({ message: expect.stringContaining('5 failures in a row') });
    expect(x.sent).toHaveLength(5);
    x.fault.answer = () => 'well again';
    await pass(30_000);
    expect(await call(x)).toBe('well again');
  });

  test('is not what calls that fail together make of it, nor an error in its own words', async () => {
    const x = world();
    x.fault.answer = () => {
      throw unreachable('reset');
    };
    await Promise.all(Array.from({ length: 20 }, () => failure(call(x))));
    expect(x.upstream.state.kind).toBe('ready');
    await pass(1);
    for (let n = 0; n < 10; n++) {
      x.fault.answer = () => {
        throw n % 3 === 2 ? new RpcError(-32000, 'no') : unreachable('reset');
      };
      await failure(call(x));
      await pass(1);
    }
    expect(x.upstream.state.kind).toBe('ready');
  });
});

describe('an upstream that nobody uses', () => {
  const connect = { ...SETTINGS.connect, idleStop: 60_000 };

  test('is stopped after a while, and started by the next call', async () => {
    const x = world({}, { connect, health: { ...SETTINGS.health, enabled: false } });
    await call(x);
    await pass(50_000);
    await call(x);
    await pass(59_000);
    expect([x.upstream.state.kind, x.stopped]).toEqual(['ready', 0]);
    await pass(1001);
    expect([x.upstream.state.kind, x.stopped > 0]).toEqual(['idle', true]);
    expect(x.lines).toEqual([]);
    expect(await call(x)).toEqual({});
    expect(x.tries).toHaveLength(2);
  });

  test('is not stopped under a call, nor while somebody is subscribed, nor where all are kept', async () => {
    const x = world({ timeout: 1_000_000 }, { connect });
    x.fault.answer = () => undefined;
    const long = failure(call(x));
    await pass(200_000);
    expect(x.upstream.state.kind).toBe('ready');
    x.die();
    await long;
    x.fault.answer = () => ({});
    await pass(1000);
    await call(x);
    x.isSubscribed = true;
    await pass(200_000);
    expect(x.upstream.state.kind).toBe('ready');
    x.isSubscribed = false;
    await pass(130_000);
    expect(x.upstream.state.kind).toBe('idle');

    const eager = world({}, { connect: { ...connect, mode: 'eager' } });
    await eager.upstream.connect();
    await pass(500_000);
    expect(eager.upstream.state.kind).toBe('ready');
  });
});

describe('the health of a connected upstream', () => {
  const health = { enabled: true, interval: 1000, failures: 3 };

  test('is looked at while nobody asks', async () => {
    const x = world({}, { health });
    await x.upstream.connect();
    await pass(3500);
    expect(x.sent).toEqual(['ping', 'ping', 'ping']);
    for (let n = 0; n < 10; n++) {
      await call(x);
      await pass(500);
    }
    expect(x.sent.filter((method) => method === 'ping')).toHaveLength(3);
  });

  test('is bad after so many failed checks in a row, and then it is connected again', async () => {
    const x = world({}, { health });
    await x.upstream.connect();
    const down = () => {
      throw new McpxError('timeout', 'server "x" did not answer "ping" within 1 s');
    };
    x.fault.answer = down;
    await pass(2500);
    x.fault.answer = () => ({});
    await pass(1000);
    x.fault.answer = down;
    await pass(2000);
    expect(x.upstream.state.kind).toBe('ready');
    await pass(700);
    const reason = 'server "x" is unhealthy: it failed 3 checks in a row (server "x" did not answer "ping" within 1 s)';
    expect(x.states.at(-1)).toMatchObject({ kind: 'backoff', reason });
    expect(x.stopped).toBeGreaterThan(0);
    x.fault.answer = () => ({});
    await pass(500);
    expect(x.upstream.state.kind).toBe('ready');
  });

  test('is good when it refuses a ping in its own words, and not asked while it works', async () => {
    const x = world({}, { health });
    await x.upstream.connect();
    x.fault.answer = () => {
      throw new RpcError(-32601, 'what is a ping?');
    };
    await pass(10_000);
    expect(x.upstream.state.kind).toBe('ready');
    x.fault.answer = () => undefined;
    const working = failure(call(x));
    await pass(0);
    x.sent.length = 0;
    await pass(10_000);
    expect(x.sent).toEqual([]);
    x.die();
    await working;
  });

  test('is not looked at where that is switched off', async () => {
    const x = world({}, { health: { ...health, enabled: false } });
    await x.upstream.connect();
    await pass(10_000);
    expect(x.sent).toEqual([]);
  });
});
