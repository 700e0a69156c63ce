/** MCP of 2026-07-28 over HTTP: requests that stand alone, questions in rounds, subscriptions. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { CancelSignal } from '../../../src/cancel-signal.ts';
import { DEFAULTS } from '../../../src/config/config.ts';
import { RpcError } from '../../../src/errors.ts';
import type { HttpListener } from '../../../src/listen/http/http.ts';
import { createHeldCalls } from '../../../src/listen/mcp/held-calls.ts';
import { createSecretKey } from '../../../src/listen/mcp/secret-key.ts';
import { parseLossless } from '../../../src/lossless-json.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { stopClock } from '../../setup/clock.ts';
import { type Act, BOTH, closeAll, gate, note, rpc, send, stage, token } from '../harness.ts';

afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const envelope = (more = {}) => ({
  [`${META}protocolVersion`]: VERSION,
  [`${META}clientCapabilities`]: { elicitation: {}, roots: {} },
  [`${META}clientInfo`]: { name: 'modern', version: '1' },
  ...more,
});

/** Sends a modern request; headers that are undefined are left out. */
function ask(
  url: string,
  method: string,
  params: any = {},
  {
    id = 1,
    meta = {},
    headers = {},
    signal,
  }: { id?: unknown; meta?: any; headers?: Record<string, string | undefined>; signal?: AbortSignal } = {},
) {
  const name = params.name ?? params.uri ?? params.taskId;
  const own: Record<string, string | undefined> = {
    ...BOTH,
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
    ...headers,
  };
  const present = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const body = rpc(method, { ...params, _meta: meta === null ? undefined : envelope(meta) }, id);
  return send(url, { body, headers: present as Record<string, string>, signal });
}

test('server/discover tells what there is, without a session', async () => {
  const { url, open } = await stage();
  const answer = await ask(url, 'server/discover');
  expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined]);
  expect((await answer.json()).result).toEqual({
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    supportedVersions: [VERSION],
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
    _meta: { [`${META}serverInfo`]: { name: 'scripted', version: '1' } },
  });
  expect(open.size).toBe(0);
});

test('a call gets its arguments without the envelope, and a result of this era', async () => {
  const { url } = await stage({ echo: (args) => ({ content: [], args }) });
  expect((await (await ask(url, 'tools/list')).json()).result).toMatchObject({ resultType: 'complete', ttlMs: 0 });
  const { result } = await (await ask(url, 'tools/call', { name: 'echo', arguments: { a: 1 } })).json();
  expect(result).toMatchObject({ resultType: 'complete', args: { a: 1 } });
  expect(result.ttlMs).toBeUndefined();
});

describe('a request is refused', () => {
  test.each<[string, number, number, Parameters<typeof ask>[3], string?, any?]>([
    ['without its version header', 400, -32020, { headers: { 'mcp-protocol-version': undefined } }],
    ['with another version header', 400, -32020, { headers: { 'mcp-protocol-version': '2025-11-25' } }],
    ['without its method header', 400, -32020, { headers: { 'mcp-method': undefined } }],
    ['with another method header', 400, -32020, { headers: { 'mcp-method': 'tools/list' } }],
    ['without its name header', 400, -32020, { headers: { 'mcp-name': undefined } }],
    ['with another name header', 400, -32020, { headers: { 'mcp-name': 'other' } }],
    ['with a name header in broken base64', 400, -32020, { headers: { 'mcp-name': '=?base64?§?=' } }],
    ['without an envelope', 400, -32602, { meta: null }],
    ['without capabilities', 400, -32602, { meta: { [`${META}clientCapabilities`]: undefined } }],
    [
      'in a version of the future',
      400,
      -32022,
      { meta: { [`${META}protocolVersion`]: '2099-01-01' }, headers: { 'mcp-protocol-version': '2099-01-01' } },
    ],
    [
      'in a version of the future without what this one wants',
      400,
      -32022,
      {
        meta: { [`${META}protocolVersion`]: '2099-01-01', [`${META}clientCapabilities`]: undefined },
        headers: { 'mcp-protocol-version': '2099-01-01', 'mcp-method': undefined },
      },
    ],
    [
      'in a version of the future by its header alone',
      400,
      -32022,
      { meta: null, headers: { 'mcp-protocol-version': '2099-01-01' } },
    ],
    [
      'in a version of the future with another in its header',
      400,
      -32020,
      { meta: { [`${META}protocolVersion`]: '2099-01-01' } },
    ],
    ['for a method that is gone', 404, -32601, {}, 'ping'],
    ['for a method that never was', 404, -32601, {}, 'nope'],
    ['for a call that nobody holds', 400, -32602, {}, 'tools/call', { name: 'echo', requestState: 'forged' }],
    ['for a stream of nothing', 400, -32602, {}, 'subscriptions/listen', {}],
  ])('%s', async (_, status, code, how, method = 'tools/call', params = { name: 'echo' }) => {
    const { url } = await stage({ echo: () => ({}) });
    const answer = await ask(url, method, params, how);
    expect([answer.status, (await answer.json()).error.code]).toEqual([status, code]);
  });

  test('under its id where it is nested too deeply to be passed on', async () => {
    const { url, logged } = await stage({ echo: () => ({}) });
    const params = { name: 'echo', arguments: { deep: 'DEEP' }, _meta: envelope() };
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = JSON.stringify(rpc('tools/call', params, 'x')).replace('"DEEP"', deep);
    const headers = { ...BOTH, 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
    const answer = await send(url, { body, headers });
    expect([answer.status, await answer.json()]).toMatchObject([400, { id: 'x', error: { code: -32602 } }]);
    expect(logged.join('')).not.toContain('error');
  });

  test('with the versions that are spoken where its own is not', async () => {
    const { url } = await stage();
    const headers = { 'mcp-protocol-version': '2099-01-01' };
    for (const meta of [{ [`${META}protocolVersion`]: '2099-01-01' }, null]) {
      const { error } = await (await ask(url, 'server/discover', {}, { meta, headers })).json();
      expect(error.data).toMatchObject({ supported: [VERSION], requested: '2099-01-01' });
    }
  });

  test('but not when its name needs base64 to fit in a header', async () => {
    const { url } = await stage({ grüße: () => ({ ok: true }) });
    const headers = { 'mcp-name': `=?base64?${Buffer.from('grüße').toString('base64')}?=` };
    expect((await (await ask(url, 'tools/call', { name: 'grüße' }, { headers })).json()).result.ok).toBe(true);
  });
});

describe('headers that repeat arguments', () => {
  const schemas = {
    where: {
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, n: { type: 'integer', 'x-mcp-header': 'N' } },
    },
    odd: { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } },
  };
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
  test.each<[title: string, name: string, args: object, headers: Record<string, string>, status: number]>([
    ['say the same', 'where', { region: 'Hello' }, { 'mcp-param-region': 'Hello' }, 200],
    ['say it in base64', 'where', { region: 'grüße' }, { 'mcp-param-region': base64('grüße') }, 200],
    ['say the same number otherwise', 'where', { n: 42 }, { 'mcp-param-n': '42.0' }, 200],
    ['say nothing where there is nothing', 'where', { region: null }, {}, 200],
    ['belong to nothing known', 'where', {}, { 'mcp-param-other': 'x' }, 200],
    ['cannot be said', 'odd', { a: {} }, {}, 200],
    ['begin as base64 would', 'where', { region: '=?base64?x' }, { 'mcp-param-region': '=?base64?x' }, 200],
    ['say something else', 'where', { region: 'Hello' }, { 'mcp-param-region': 'hello' }, 400],
    ['are missing', 'where', { region: 'Hello' }, {}, 400],
    ['say what the body does not', 'where', {}, { 'mcp-param-region': 'Hello' }, 400],
    ['are broken base64', 'where', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }, 400],
    ['are no base64', 'where', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }, 400],
    ['are not plain', 'where', { region: 'grüße' }, { 'mcp-param-region': 'grüße' }, 400],
    ['say another number', 'where', { n: 42 }, { 'mcp-param-n': '43' }, 400],
  ])('that %s', async (_, name, args, headers, status) => {
    const { url } = await stage({ where: () => ({}), odd: () => ({}) }, { schemas });
    const answer = await ask(url, 'tools/call', { name, arguments: args }, { headers });
    expect([answer.status, (await answer.json()).error?.code]).toEqual([status, status === 400 ? -32020 : undefined]);
  });
});

test('errors of legacy servers are those of this era, and what the client lacks is 400', async () => {
  const fail =
    (code: number): Act =>
    () => {
      throw new RpcError(code, 'no', { uri: 'x' });
    };
  const { url } = await stage({ missing: fail(-32002), unable: fail(-32021), other: fail(-5) });
  const seen = async (name: string) => {
    const answer = await ask(url, 'tools/call', { name });
    const { error } = await answer.json();
    return [answer.status, error.code, error.data];
  };
  expect(await seen('missing')).toEqual([200, -32602, { uri: 'x' }]);
  expect(await seen('unable')).toEqual([400, -32021, { uri: 'x' }]);
  expect(await seen('other')).toEqual([200, -5, { uri: 'x' }]);
});

test('notifications are accepted, and of no consequence', async () => {
  const { url } = await stage();
  const headers = { 'mcp-protocol-version': VERSION };
  expect((await send(url, { body: note('notifications/cancelled', { requestId: 1 }), headers })).status).toBe(202);
});

test('progress comes on the stream of the call, log messages only where a level was asked for', async () => {
  const tell: Act = (_, { progress, notify }) => {
    progress?.({ progress: 1 });
    notify?.('notifications/message', { level: 'info', data: 'x' });
    return {};
  };
  const { url } = await stage({ tell });
  const methods = async (meta: any) => {
    const stream = await ask(url, 'tools/call', { name: 'tell' }, { meta });
    if (stream.headers['content-type'] !== 'text/event-stream') return [];
    const seen = [];
    for (let event = await stream.next(); event !== undefined; event = await stream.next())
      seen.push(event.data.method);
    return seen;
  };
  expect(await methods({})).toEqual([]);
  expect(await methods({ progressToken: 1 })).toEqual(['notifications/progress', undefined]);
  expect(await methods({ [`${META}logLevel`]: 'info' })).toEqual(['notifications/message', undefined]);
});

test('a notification that mcpx does not know comes on the stream of its call', async () => {
  const tell: Act = (_, { notify }) => {
    notify?.('notifications/tools/list_changed');
    notify?.('notifications/acme/changed', { x: 1 });
    return {};
  };
  const { url } = await stage({ tell });
  const stream = await ask(url, 'tools/call', { name: 'tell' });
  expect((await stream.next())?.data).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/acme/changed',
    params: { x: 1 },
  });
  expect((await stream.next())?.data).toMatchObject({ id: 1, result: {} });
});

test('a client that hangs up cancels', async () => {
  const aborted = gate();
  const { url, open } = await stage({
    wait: (_, { progress, signal }) => {
      progress?.({ progress: 1 });
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.open();
          reject(new Error('aborted'));
        }),
      );
    },
  });
  const stream = await ask(url, 'tools/call', { name: 'wait' }, { meta: { progressToken: 1 } });
  await stream.next();
  stream.leave();
  await aborted.promise;
  await expect.poll(() => open.size).toBe(0);
});

describe('a question', () => {
  const questions: Act = async ({ rounds = 1 }, { ask }) => {
    const got = [];
    for (let round = 1; round <= rounds; round++) got.push(await ask?.('elicitation/create', { message: `q${round}` }));
    return { got };
  };
  const call = (url: string, params: any = {}, how: any = {}) =>
    ask(url, 'tools/call', { name: 'ask', arguments: { rounds: 2 }, ...params }, how).then((answer) => answer.json());

  test('is a result, and its answer comes with the same request', async () => {
    const { url, open } = await stage({ ask: questions });
    let { result } = await call(url);
    for (const round of [1, 2]) {
      expect(result).toMatchObject({
        resultType: 'input_required',
        requestState: expect.stringMatching(/^[\w-]{32}$/),
      });
      const [key, question] = Object.entries<any>(result.inputRequests)[0] ?? [];
      expect(question).toEqual({ method: 'elicitation/create', params: { message: `q${round}` } });
      const inputResponses = { [String(key)]: { action: 'accept', content: { round } } };
      ({ result } = await call(url, { inputResponses, requestState: result.requestState }, { id: `round ${round}` }));
    }
    expect(result).toMatchObject({
      resultType: 'complete',
      got: [{ content: { round: 1 } }, { content: { round: 2 } }],
    });
    expect(open.size).toBe(0);
  });

  test('is for one request: no other has the same inputs', async () => {
    const seen = new Set<unknown>();
    const remember: Act = (_, { inputs }) => {
      seen.add(inputs);
      return { content: [] };
    };
    const { url } = await stage({ ask: remember });
    for (let n = 0; n < 3; n += 1) await call(url);
    expect(seen.size).toBe(3);
  });

  test('that is not answered is asked again, under a new state', async () => {
    const { url } = await stage({ ask: questions });
    const first = (await call(url)).result;
    const again = (await call(url, { requestState: first.requestState, inputResponses: { other: {} } })).result;
    expect(again.inputRequests).toEqual(first.inputRequests);
    expect(again.requestState).not.toBe(first.requestState);
    expect((await call(url, { requestState: first.requestState })).error.code).toBe(-32602);
  });

  test('is for who was asked, and for the same call', async () => {
    const tokens = [token('a', 'ka'), token('b', 'kb')];
    const { url } = await stage({ ask: questions, other: questions }, { tokens });
    const mine = { headers: { authorization: 'Bearer ka' } };
    const { requestState } = (await call(url, {}, mine)).result;
    const forged = { requestState, inputResponses: { q1: { action: 'accept' } } };
    expect((await call(url, forged, { headers: { authorization: 'Bearer kb' } })).error.code).toBe(-32602);
    expect((await call(url, { ...forged, name: 'other' }, mine)).error.code).toBe(-32602);
    expect((await call(url, { ...forged, arguments: { rounds: 3 } }, mine)).error.code).toBe(-32602);
    expect((await call(`${url}/other`, forged, mine)).error.code).toBe(-32602);
    expect((await call(url, forged, mine)).result.resultType).toBe('input_required');
  });

  const relayed: Act = (_, { inputs }) =>
    inputs?.requestState === undefined
      ? { resultType: 'input_required', inputRequests: { q1: {} }, requestState: 's' }
      : { got: inputs.inputResponses };
  test.each([
    ['held', questions],
    ['sealed', relayed],
  ])('of a call that is %s is answered by the same words, whatever the order of their keys', async (_, act) => {
    const { url } = await stage({ ask: act });
    const { requestState } = (await call(url, { arguments: { deep: [{ a: 1, b: 2 }], rounds: 1 } })).result;
    const answered = { inputResponses: { q1: 'yes' }, requestState };
    const others = { arguments: { rounds: 1, deep: [{ b: 1, a: 2 }] } };
    expect((await call(url, { ...answered, ...others })).error.code).toBe(-32602);
    const { result } = await call(url, { arguments: { rounds: 1, deep: [{ b: 2, a: 1 }] }, ...answered });
    expect(Object.values(result.got)).toEqual(['yes']);
  });

  test('is for the very numbers of its words, also where JavaScript takes one for another', async () => {
    const { url } = await stage({ ask: relayed });
    const withId = (id: string) => ({ arguments: parseLossless(`{"id":${id}}`) });
    const { requestState } = (await call(url, withId('9007199254740993'))).result;
    const answered = { inputResponses: { q1: 'yes' }, requestState };
    const { error } = await call(url, { ...answered, ...withId('9007199254740992') });
    expect(error?.code).toBe('rawJSON' in JSON ? -32602 : undefined);
    expect((await call(url, { ...answered, ...withId('9007199254740993') })).result.got).toEqual({ q1: 'yes' });
  });

  test('of a server of this era keeps its keys, and its state comes back to the server alone', async () => {
    const tokens = [token('a', 'ka'), token('b', 'kb')];
    const seen: unknown[] = [];
    const questions = { user_name: { method: 'elicitation/create', params: { message: 'who?' } } };
    const relay: Act = ({ stateless }, { inputs }) => {
      seen.push(inputs);
      const state = stateless ? {} : { requestState: 'the state of the server' };
      if (inputs?.inputResponses === undefined)
        return { resultType: 'input_required', inputRequests: questions, ...state };
      return { got: inputs };
    };
    const { url } = await stage({ ask: relay }, { tokens });
    const mine = { headers: { authorization: 'Bearer ka' } };
    const inputResponses = { user_name: { action: 'accept' } };
    const { result } = await call(url, {}, mine);
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: questions });
    expect(result.ttlMs).toBeUndefined();
    const { requestState } = result;
    expect(requestState).not.toContain('the state');
    const answered = { inputResponses, requestState };
    for (const [params, how] of [
      [{ ...answered, requestState: `${requestState}x` }, mine],
      [{ ...answered, arguments: { other: 1 } }, mine],
      [answered, { headers: { authorization: 'Bearer kb' } }],
      [{ requestState: 5 }, mine],
      [{ inputResponses: 'no' }, mine],
    ])
      expect((await call(url, params, how)).error.code).toBe(-32602);
    expect((await call(url, answered, mine)).result.got).toEqual({
      inputResponses,
      requestState: 'the state of the server',
    });
    const without = (await call(url, { arguments: { stateless: true } }, mine)).result;
    expect(Object.keys(without)).not.toContain('requestState');
    expect((await call(url, { arguments: { stateless: true }, inputResponses }, mine)).result.got).toEqual({
      inputResponses,
    });
    expect(seen).toHaveLength(4);
  });

  test('of a server of this era is good after a restart with the same key, and for nobody who knows only the tokens', async () => {
    const tokens = [token('a', 'ka')];
    const mine = { headers: { authorization: 'Bearer ka' } };
    const file = join(mkdtempSync(join(tmpdir(), 'mcpx-key-')), 'secret.key');
    onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }));
    const begin = (more = {}) => stage({ ask: relayed }, { tokens, ...more });
    const before = await begin({ secretKey: createSecretKey({ file }) });
    const { requestState } = (await call(before.url, {}, mine)).result;
    await before.listener.close();
    const answered = { inputResponses: { q1: 'yes' }, requestState };
    const after = await begin({ secretKey: createSecretKey({ file }) });
    expect((await call(after.url, answered, mine)).result.got).toEqual({ q1: 'yes' });
    const other = await begin();
    expect((await call(other.url, answered, mine)).error.code).toBe(-32602);
  });

  test('of a task is answered by a request of its own, whose answers are arguments', async () => {
    const { url } = await stage({ 'tasks/update': (params, { inputs }) => ({ params, inputs }) });
    const params = { taskId: 't', inputResponses: { name: { action: 'accept' } }, requestState: 'as it is' };
    const { result } = await (await ask(url, 'tasks/update', params)).json();
    expect(result).toMatchObject({ params, inputs: {} });
  });

  test('is what a legacy server refuses for want of a page that can be opened, until that is done or declined', async () => {
    const page = { mode: 'url', url: 'https://example.com/', message: 'open', elicitationId: 'e' };
    let done = false;
    const refuse: Act = ({ empty }) => {
      if (done) return { content: [] };
      throw new RpcError(-32042, 'a page is needed', { elicitations: empty ? [] : [page] });
    };
    const { url } = await stage({ ask: refuse });
    const capable = { meta: { [`${META}clientCapabilities`]: { elicitation: { url: {} } } } };
    const answered = (action: string) => ({ inputResponses: { page1: { action } } });
    const wanted = {
      resultType: 'input_required',
      inputRequests: { page1: { method: 'elicitation/create', params: page } },
    };
    expect((await call(url, {}, capable)).result).toEqual(wanted);
    expect((await call(url, answered('accept'), capable)).result).toEqual(wanted);
    expect((await call(url, answered('decline'), capable)).error.code).toBe(-32042);
    expect((await call(url)).error.code).toBe(-32042);
    expect((await call(url, { arguments: { empty: true } }, capable)).error.code).toBe(-32042);
    done = true;
    expect((await call(url, answered('accept'), capable)).result.resultType).toBe('complete');
  });

  test('waits a bounded time, and a bounded number of them wait', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const rounds = createHeldCalls({ maxHeld: 2 });
    const origin = { principal: undefined, profile: 'p', words: 'w' };
    const begin = async () => {
      const round = rounds.begin(origin);
      round.run(() => round.ask('roots/list', {}));
      const outcome: any = await round.outcome();
      return { round, state: outcome.state as string };
    };
    const [first, second, third] = [await begin(), await begin(), await begin()];
    expect([first.round.signal.aborted, second.round.signal.aborted]).toEqual([true, false]);
    expect(await first.round.outcome()).toMatchObject({ error: { code: 'cancelled' } });
    vi.advanceTimersByTime(5 * 60_000 - 1);
    expect([second.round.signal.aborted, third.round.signal.aborted]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([second.round.signal.aborted, third.round.signal.aborted]).toEqual([true, true]);
    expect(rounds.resume(third.state, origin, {})).toBeUndefined();
    const last = await begin();
    rounds.close();
    expect(last.round.signal.aborted).toBe(true);
  });

  test('of one client makes room for those of others before theirs for it', async () => {
    const rounds = createHeldCalls({ maxHeld: 3 });
    const [ada, ben] = [token('a', 'ka'), token('b', 'kb')];
    const begin = async (principal: typeof ada) => {
      const round = rounds.begin({ principal, profile: 'p', words: 'w' });
      round.run(() => round.ask('roots/list', {}));
      await round.outcome();
      return round;
    };
    const all = [await begin(ada), await begin(ben), await begin(ben), await begin(ben), await begin(ada)];
    expect(all.map(({ signal }) => signal.aborted)).toEqual([false, true, true, false, false]);
    rounds.close();
  });
});

describe('a subscription', () => {
  const listen = (url: string, notifications: any, id: unknown = 'sub') =>
    ask(url, 'subscriptions/listen', { notifications }, { id });

  test('is acknowledged, then tells of changes under its id until it ends', async () => {
    const { url, open, listener } = await stage();
    const stream = await listen(url, {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['x:y'],
    });
    const stamp = { [`${META}subscriptionId`]: 'sub' };
    expect((await stream.next())?.data).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta: stamp },
    });
    for (const { downstream } of open) {
      downstream.notify('notifications/prompts/list_changed');
      downstream.notify('notifications/tools/list_changed');
    }
    expect((await stream.next())?.data).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { _meta: stamp },
    });
    const closed = listener.close();
    expect((await stream.next())?.data).toMatchObject({ id: 'sub', result: { resultType: 'complete', _meta: stamp } });
    expect(await stream.next()).toBeUndefined();
    await closed;
    expect(open.size).toBe(0);
  });

  test('to resources is for those that can be subscribed to', async () => {
    const { url, open } = await stage();
    const stream = await listen(url, { resourceSubscriptions: ['file:///a', 'nope:b', 5] });
    expect((await stream.next())?.data.params.notifications).toEqual({ resourceSubscriptions: ['file:///a'] });
    for (const { downstream } of open) {
      downstream.notify('notifications/tools/list_changed');
      downstream.notify('notifications/resources/updated', { uri: 'file:///a', _meta: { by: 'x' } });
    }
    expect((await stream.next())?.data.params).toEqual({
      uri: 'file:///a',
      _meta: { by: 'x', [`${META}subscriptionId`]: 'sub' },
    });
    stream.leave();
  });

  test('tells what came before its acknowledgement after it', async () => {
    const { url, open } = await stage({
      'resources/subscribe': ({ uri }) => {
        for (const { downstream } of open) downstream.notify('notifications/resources/updated', { uri });
        return {};
      },
    });
    const stream = await listen(url, { resourceSubscriptions: ['test:a'] });
    expect((await stream.next())?.data.method).toBe('notifications/subscriptions/acknowledged');
    expect((await stream.next())?.data).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'test:a' },
    });
    stream.leave();
  });

  test('to nothing ends at once', async () => {
    const { url, open } = await stage();
    const stream = await listen(url, { resourcesListChanged: true });
    expect((await stream.next())?.data.params.notifications).toEqual({});
    expect((await stream.next())?.data.id).toBe('sub');
    expect(open.size).toBe(0);
  });

  test('of a client that leaves before it is acknowledged asks for nothing any more', async () => {
    const asked: string[] = [];
    let signal: CancelSignal | undefined;
    const { url, open } = await stage({
      'resources/subscribe': ({ uri }, exchange) => {
        asked.push(uri);
        signal = exchange.signal;
        return new Promise(() => undefined);
      },
    });
    const leaving = new AbortController();
    const left = ask(
      url,
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['test:a'] } },
      {
        id: 'sub',
        signal: leaving.signal,
      },
    ).catch((error: Error) => error.name);
    await expect.poll(() => asked).toEqual(['test:a']);
    expect(signal?.aborted).toBe(false);
    leaving.abort();
    expect(await left).toBe('AbortError');
    await expect.poll(() => signal?.aborted).toBe(true);
    expect(open.size).toBe(0);
  });

  test.each<[string, (listener: HttpListener) => unknown]>([
    [
      'a reload',
      (listener) => listener.update({ ...DEFAULTS.http, port: 0 }, createAuthenticator([token('new', 'secret')])),
    ],
    ['a stop', (listener) => listener.close()],
  ])('that %s ends before it is acknowledged is answered at once', async (_, end) => {
    const asked = gate();
    const { url, open, listener } = await stage({
      'resources/subscribe': () => {
        asked.open();
        return new Promise(() => undefined);
      },
    });
    const stream = listen(url, { resourceSubscriptions: ['test:a'] });
    await asked.promise;
    // No time passes: what waited for the end of a period would wait for ever.
    stopClock();
    const ended = end(listener);
    const { next } = await stream;
    expect((await next())?.data).toMatchObject({ id: 'sub', result: { resultType: 'complete' } });
    expect(await next()).toBeUndefined();
    await ended;
    expect(open.size).toBe(0);
  });

  test('ends with its client, and counts as a session', async () => {
    const { url, open } = await stage({}, { http: { maxSessions: 1 } });
    const stream = await listen(url, { toolsListChanged: true });
    await stream.next();
    const refused = await listen(url, { toolsListChanged: true });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.any(String)]);
    stream.leave();
    await expect.poll(() => open.size).toBe(0);
    const again = await listen(url, { toolsListChanged: true });
    expect(again.status).toBe(200);
    again.leave();
  });
});
