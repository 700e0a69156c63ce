/** Confirmation, concurrency limits and rules refuse a call, and the record names the reason. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import { McpxError } from '../../src/errors.ts';
import type { CallRecord } from '../../src/observe/observer.ts';
import { createShares } from '../../src/policy/shares.ts';
import { createAdmission } from '../../src/router/admission.ts';
import type { ToolCall } from '../../src/router/router.ts';
import { createWorld, openFront, type Script, type World } from '../world.ts';

const TOOLS = [
  { name: 'read', annotations: { readOnlyHint: true } },
  { name: 'write', annotations: { readOnlyHint: false } },
  { name: 'odd', annotations: { readOnlyHint: 'yes' } },
  { name: 'both', annotations: { readOnlyHint: true, destructiveHint: true } },
  { name: 'plain' },
];
const ASKING: Settings = { ...DEFAULTS, policy: { ...DEFAULTS.policy, confirm: 'destructive' } };

const stage = (settings: Settings, script: Script = {}, options = {}) => {
  const world = createWorld({ files: { tools: TOOLS, ...script } }, { settings, ...options });
  return { ...world, records: recordsOf(world) };
};

function recordsOf({ observer }: World): CallRecord[] {
  const records: CallRecord[] = [];
  observer.subscribe((happening) => {
    if (happening.type === 'call_ended') records.push(happening.call);
  });
  return records;
}

/** A call of a client that can be asked and says that. */
function asked(answer: unknown, more: Partial<ToolCall> = {}, capabilities: object = { elicitation: {} }) {
  const questions: any[] = [];
  const call: ToolCall = {
    server: 'files',
    tool: 'write',
    arguments: { path: '/a' },
    caller: { key: 'k', capabilities: { ...capabilities } },
    ask: async (method, params) => {
      questions.push({ method, params });
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...more,
  };
  return { call, questions };
}

describe('confirmation', () => {
  test.each(['write', 'odd', 'both', 'plain'])(
    '"%s" waits for a yes, with its name and its arguments',
    async (tool) => {
      const { router, sent } = stage(ASKING);
      const { call, questions } = asked({ action: 'accept', content: {} }, { tool });
      await router.call(call);
      expect(questions).toEqual([
        {
          method: 'elicitation/create',
          params: {
            message: `Run "files.${tool}"? It is not declared read-only. Arguments: {"path":"/a"}`,
            requestedSchema: { type: 'object', properties: {} },
          },
        },
      ]);
      expect(sent).toHaveLength(1);
    },
  );

  test('a tool that is declared read-only runs at once, and so does everything where nobody is to be asked', async () => {
    const first = asked({ action: 'decline' }, { tool: 'read' });
    const second = asked({ action: 'decline' });
    const asking = stage(ASKING);
    const free = stage(DEFAULTS);
    await asking.router.call(first.call);
    await free.router.call(second.call);
    expect([first.questions, second.questions]).toEqual([[], []]);
  });

  test.each([
    ['decline', { action: 'decline' }, 'the user was asked and said no'],
    ['cancel', { action: 'cancel' }, 'the user was asked and gave no answer'],
    ['nonsense', 'yes', 'the user was asked and gave no answer'],
    ['nothing', undefined, 'the user was asked and gave no answer'],
    ['a failure', new Error('no window'), 'the user could not be asked: no window'],
  ])('an answer of %s runs nothing', async (_, answer, words) => {
    const { router, sent, records } = stage(ASKING);
    await expect(router.call(asked(answer).call)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(words),
    });
    expect(sent).toEqual([]);
    expect(records).toMatchObject([{ server: 'files', name: 'write', outcome: 'refused', reason: 'refused' }]);
  });

  test.each<[string, Partial<ToolCall>, object]>([
    ['without a way back', { ask: undefined as never }, { elicitation: {} }],
    ['without the capability', {}, {}],
    ['that answers links only', {}, { elicitation: { url: {} } }],
  ])('a client %s is refused, with what to do', async (_, more, capabilities) => {
    const { router, sent } = stage(ASKING);
    const { call, questions } = asked({ action: 'accept' }, more, capabilities);
    await expect(router.call(call)).rejects.toMatchObject({
      code: 'refused',
      message: '"files.write" is not declared read-only, and this client cannot ask its user to confirm it',
      hint: expect.stringContaining('--yes'),
    });
    expect([sent, questions]).toEqual([[], []]);
  });

  test('long arguments are cut and control characters taken out', async () => {
    const { router } = stage(ASKING);
    const { call, questions } = asked({ action: 'accept' }, { arguments: { text: `\u001b[31m${'长'.repeat(5000)}` } });
    await router.call(call);
    const { message } = questions[0].params;
    expect(message.length).toBeLessThan(500);
    expect(message).not.toContain('\u001b');
  });

  test('arguments that do not fit are not asked about', async () => {
    const inputSchema = { type: 'object', required: ['path'], properties: { path: { type: 'string' } } };
    const { router } = stage(ASKING, { tools: [{ name: 'write', inputSchema }] });
    const { call, questions } = asked({ action: 'accept' }, { arguments: {} });
    await expect(router.call(call)).rejects.toMatchObject({ code: 'arguments' });
    expect(questions).toEqual([]);
  });

  test('a person at the terminal is asked instead of the client', async () => {
    const { router, sent } = stage(ASKING);
    const { call, questions } = asked({ action: 'decline' }, { confirm: async () => 'accept' });
    await router.call(call);
    expect([questions, sent.length]).toEqual([[], 1]);
  });

  test('a call that is given up while it is asked about says so', async () => {
    const { router } = stage(ASKING);
    const stop = new AbortController();
    const { call } = asked(undefined, {
      signal: stop.signal,
      ask: async () => {
        stop.abort();
        throw new McpxError('cancelled', 'was cancelled');
      },
    });
    await expect(router.call(call)).rejects.toMatchObject({ code: 'cancelled' });
  });

  test.each(['compact', 'aggregate'] as const)('in the %s front a no is a result that says so', async (kind) => {
    const { deps, sent } = stage(ASKING);
    const identity = { key: 'k', capabilities: { elicitation: {} } };
    const front = openFront(kind, { ...deps, identity }, { key: 'k', notify: () => undefined });
    const params =
      kind === 'compact'
        ? { name: 'exec', arguments: { server_name: 'files', tool_name: 'write' } }
        : { name: 'files__write', arguments: {} };
    const exchange = { signal: new AbortController().signal, ask: async () => ({ action: 'decline' }) };
    expect(await front.request({ method: 'tools/call', params }, exchange)).toEqual({
      content: [{ type: 'text', text: 'error: "files.write" did not run: the user was asked and said no\n' }],
      isError: true,
    });
    expect(sent).toEqual([]);
  });
});

test('in a batch every call is asked about by itself, and with "onError": "continue" a no stops that one only', async () => {
  const { deps, sent } = stage(ASKING);
  const identity = { key: 'k', capabilities: { elicitation: {} } };
  const front = openFront('compact', { ...deps, identity }, { key: 'k', notify: () => undefined });
  const questions: string[] = [];
  const ask = async (_: string, { message }: Record<string, unknown>) => {
    questions.push(String(message));
    return { action: String(message).includes('"files.write"') ? 'decline' : 'accept' };
  };
  const calls = ['read', 'write', 'plain'].map((tool_name) => ({ server_name: 'files', tool_name }));
  const params = { name: 'exec', arguments: { calls, onError: 'continue' } };
  const exchange = { signal: new AbortController().signal, ask };
  const result = JSON.stringify(await front.request({ method: 'tools/call', params }, exchange));
  expect(questions).toHaveLength(2);
  expect(sent.map(({ params }) => params?.name).sort()).toEqual(['plain', 'read']);
  expect(result).toContain('the user was asked and said no');
});

describe('how many at once', () => {
  test('what is more is refused at once, and there is room again when one is over', async () => {
    const settings = { ...DEFAULTS, limits: { ...DEFAULTS.limits, concurrentCalls: 2 } };
    let release: (() => void)[] = [];
    const answer = (method: string) =>
      method === 'tools/call' ? new Promise((resolve) => release.push(() => resolve({ content: [] }))) : {};
    const { router, records } = stage(settings, { answer, capabilities: { tools: {}, resources: {} } });
    const { call } = asked(undefined, { tool: 'read' });
    const running = [router.call(call), router.call(call)];
    await expect.poll(() => release.length).toBe(2);
    const shed = { code: 'overloaded', message: '2 calls are under way already', hint: expect.any(String) };
    await expect(router.call(call)).rejects.toMatchObject(shed);
    const read = { server: 'files', kind: 'resource', name: 'a:b', method: 'resources/read', params: {} } as const;
    await expect(router.forward({ ...read, caller: call.caller })).rejects.toMatchObject(shed);
    expect(records).toMatchObject([
      { outcome: 'refused', reason: 'overloaded', kind: 'tool' },
      { outcome: 'refused', reason: 'overloaded', kind: 'resource' },
    ]);
    for (const one of release) one();
    await Promise.all(running);
    release = [];
    const next = router.call(call);
    await expect.poll(() => release.length).toBe(1);
    for (const one of release) one();
    await next;
  });

  describe('one that does not answer', () => {
    const settings = { ...DEFAULTS, limits: { ...DEFAULTS.limits, concurrentCalls: 100 } };
    const hung: Script = { tools: TOOLS, answer: (method) => (method === 'tools/call' ? new Promise(() => {}) : {}) };
    const world = () => {
      const { router, sent } = createWorld({ hung, stuck: hung, files: { tools: TOOLS } }, { settings });
      const by = (holder: string | undefined, server: string) =>
        router.call(asked(undefined, { tool: 'read', server, caller: { key: 'k', holder, capabilities: {} } }).call);
      /** A hundred calls at once: how many are let in, and why the others are not. */
      const flood = async (holder: string | undefined, server: string) => {
        const before = sent.length;
        const errors: McpxError[] = [];
        for (let n = 0; n < 100; n += 1) by(holder, server).catch((error) => errors.push(error));
        await expect.poll(() => sent.length - before + errors.length).toBe(100);
        return { passed: sent.length - before, error: errors[0] };
      };
      return { by, flood };
    };

    test('gets its share of calls, and the same client goes on with other servers', async () => {
      const { by, flood } = world();
      const { passed, error } = await flood('token "a"', 'hung');
      expect(passed).toBe(60);
      expect(error).toMatchObject({
        code: 'overloaded',
        message: '60 calls to server "hung" are under way already, which is its share',
        hint: expect.stringContaining('"limits.concurrentCalls"'),
        data: { exhausted: 'server' },
      });
      await by('token "a"', 'files');
      await by('token "b"', 'files');
      expect((await flood('token "b"', 'hung')).passed).toBeGreaterThan(0);
      await by('token "b"', 'files');
    });

    test('leaves room for other servers also where there is one client only', async () => {
      const { by, flood } = world();
      expect((await flood(undefined, 'hung')).passed).toBe(75);
      expect((await flood(undefined, 'stuck')).passed).toBeGreaterThan(0);
      await by(undefined, 'files');
    });
  });

  test('a client that has used up its share is told so, and nobody else notices', () => {
    const { enter, leave } = createAdmission({ policy: DEFAULTS.policy, calls: createShares(100) });
    // One call to each server, so that no server is in the way.
    for (let n = 0; n < 75; n += 1) enter('token "a"', `s${n}`);
    expect(() => enter('token "a"', 'next')).toThrow(
      expect.objectContaining({
        message: 'token "a" has 75 calls under way already, which is its share',
        data: { exhausted: 'client' },
      }),
    );
    enter('token "b"', 'next');
    leave('token "a"', 's0');
    enter('token "a"', 's0');
  });

  test('a call that waits for its user takes no room', async () => {
    const settings = { ...ASKING, limits: { ...DEFAULTS.limits, concurrentCalls: 1 } };
    const { router } = stage(settings);
    let yes: (answer: unknown) => void = () => undefined;
    const ask = () =>
      new Promise((resolve) => {
        yes = resolve;
      });
    const { call } = asked(undefined, { ask });
    const waiting = router.call(call);
    await router.call(asked(undefined, { tool: 'read' }).call);
    yes({ action: 'accept' });
    await waiting;
  });
});

describe('what is denied', () => {
  const denying = { ...DEFAULTS, policy: { ...DEFAULTS.policy, deny: ['write', 'secret:*', 'hush'] } };
  const script: Script = {
    capabilities: { tools: {}, resources: {}, prompts: {} },
    tools: TOOLS,
    answer: (method) =>
      method === 'prompts/list' ? { prompts: [{ name: 'hush' }] } : { resources: [], resourceTemplates: [] },
  };

  test('is recorded as such, and looks missing', async () => {
    const { router, records, catalog } = stage(denying, script);
    await catalog.ensure('files');
    const denied = await router.call(asked({}).call).catch((error) => error);
    const missing = await router.call(asked({}, { tool: 'wrote' }).call).catch((error) => error);
    expect(denied.message.replaceAll('write', 'wrote')).toBe(missing.message);
    expect(denied.hint).toBe(missing.hint);
    expect(denied.hint).not.toContain('write');
    expect(records).toMatchObject([
      { kind: 'tool', server: 'files', name: 'write', method: 'tools/call', outcome: 'denied', profile: 'default' },
      { kind: 'tool', server: 'files', name: 'wrote', method: 'tools/call', outcome: 'missing', profile: 'default' },
    ]);
  });

  test('is recorded under its true name where a client asks for an exposed one', async () => {
    const { deps, records, stats } = stage(denying, script);
    const front = openFront('aggregate', deps, { key: 'k', notify: () => undefined });
    const exchange = { signal: new AbortController().signal };
    const ask = (method: string, params: object) =>
      front.request({ method, params: params as any }, exchange).catch(({ code, message }) => [code, message]);
    await ask('tools/list', {});
    expect(await ask('tools/call', { name: 'files__write' })).toEqual([-32602, 'Unknown tool: files__write']);
    expect(await ask('tools/call', { name: 'files__wrote' })).toEqual([-32602, 'Unknown tool: files__wrote']);
    expect(await ask('prompts/get', { name: 'files__hush' })).toEqual([-32602, 'Unknown prompt: files__hush']);
    const ref = { type: 'ref/prompt', name: 'files__hush' };
    expect(await ask('completion/complete', { ref })).toEqual([-32602, 'Unknown prompt: files__hush']);
    const uri = `proxy://resource/${Buffer.from('{"server":"files","uri":"secret:a"}').toString('base64url')}`;
    expect(await ask('resources/read', { uri })).toEqual([-32002, 'Resource not found']);
    expect(await ask('completion/complete', { ref: { type: 'ref/resource', uri } })).toEqual([
      -32002,
      'Resource not found',
    ]);
    expect(records.map(({ outcome, kind, name }) => [outcome, kind, name])).toEqual([
      ['denied', 'tool', 'write'],
      ['missing', 'tool', 'files__wrote'],
      ['denied', 'prompt', 'hush'],
      ['denied', 'prompt', 'hush'],
      ['denied', 'resource', 'secret:a'],
      ['denied', 'resource', 'secret:a'],
    ]);
    // A count would tell that it is there.
    expect(stats.snapshot().calls).toBe(0);
  });

  test('a call of nothing is recorded once, in each front, under a name with a limit', async () => {
    const { deps, records, stats } = stage(DEFAULTS, script);
    const long = 'x'.repeat(10_000);
    const call = (kind: 'compact' | 'aggregate', name: string, args: object) =>
      openFront(kind, deps, { key: kind, notify: () => undefined })
        .request(
          { method: 'tools/call', params: { name, arguments: args as any } },
          { signal: new AbortController().signal },
        )
        .catch(() => undefined);
    await call('compact', 'exec', { server_name: 'files', tool_name: long });
    await call('compact', 'exec', { server_name: 'files', tool_name: 'wrote' });
    await call('compact', 'exec', { server_name: 'none', tool_name: 'read' });
    await call('compact', 'exec', { tool_name: 'nowhere' });
    await call('compact', 'exec', { calls: [{ method: 'files.gone' }] });
    await call('aggregate', long, {});
    expect(records.map(({ outcome, server, name }) => [outcome, server, name.length > 300 ? 'long' : name])).toEqual([
      // The server was not listed yet, so the call was visible while it waited.
      ['refused', 'files', `${'x'.repeat(255)}…`],
      ['missing', 'files', 'wrote'],
      ['missing', 'none', 'read'],
      ['missing', '', 'nowhere'],
      ['missing', 'files', 'gone'],
      ['missing', '', `${'x'.repeat(255)}…`],
    ]);
    expect(stats.snapshot().calls).toBe(1);
  });

  test('a server of which nothing may be used is missing in lists and in errors', async () => {
    const settings = { ...DEFAULTS, policy: { ...DEFAULTS.policy, deny: ['vault.*'] } };
    const { router, sent, catalog } = createWorld({ files: { tools: TOOLS }, vault: { tools: TOOLS } }, { settings });
    await catalog.settle(1000);
    expect(router.servers().map(({ name }) => name)).toEqual(['files']);
    const denied = await router.server('vault').catch((error) => error);
    const missing = await router.server('vaulx').catch((error) => error);
    expect(denied.message.replaceAll('vault', 'vaulx')).toBe(missing.message);
    expect([denied.hint, missing.hint]).toEqual(['the servers are: files', 'the servers are: files']);
    await expect(router.tool('vault', 'read')).rejects.toMatchObject({ code: 'not_found' });
    expect(sent).toEqual([]);
  });

  test.each(['wrap', 'keep'] as const)(
    'a resource of such a server is recorded, and looks missing (%s)',
    async (resources) => {
      const settings = {
        ...denying,
        policy: { ...denying.policy, deny: ['files.*'] },
        naming: { ...denying.naming, resources },
      };
      const listing = {
        ...script,
        answer: () => ({ resources: [{ uri: 'a:1' }], resourceTemplates: [], prompts: [] }),
      };
      const { deps, records, catalog } = stage(settings, listing);
      await catalog.ensure('files');
      const front = openFront('aggregate', deps, { key: 'k', notify: () => undefined });
      const wrapped = (server: string, uri: string) =>
        resources === 'keep'
          ? uri
          : `proxy://resource/${Buffer.from(JSON.stringify({ server, uri })).toString('base64url')}`;
      const read = (uri: string) =>
        front
          .request({ method: 'resources/read', params: { uri } }, { signal: new AbortController().signal })
          .catch(({ code, message }) => [code, message]);
      expect(await read(wrapped('files', 'a:1'))).toEqual(await read(wrapped('filex', 'a:2')));
      expect(records).toMatchObject([
        { kind: 'resource', server: 'files', name: 'a:1', outcome: 'denied' },
        { kind: 'resource', name: wrapped('filex', 'a:2'), outcome: 'missing' },
      ]);
    },
  );
});
