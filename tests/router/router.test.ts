/** The router: find → authorize → check → call → record. */
import { describe, expect, test } from 'vitest';
import { McpxError, RpcError } from '../../src/errors.ts';
import { exec } from '../../src/front/compact/exec-tool.ts';
import type { ToolCall } from '../../src/router/router.ts';
import type { CallOptions } from '../../src/upstream/call-options.ts';
import { CALLER, createWorld, type Script, type World } from '../world.ts';

const READ = {
  name: 'read',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, tail: { type: 'number' } },
    required: ['path'],
  },
};

const world = (files: Script = {}, options = {}) =>
  createWorld({ files: { tools: [READ, { name: 'drop_all' }], ...files } }, options);
const call = (more: Partial<ToolCall> = {}): ToolCall => ({
  server: 'files',
  tool: 'read',
  arguments: { path: '/a' },
  caller: CALLER,
  ...more,
});

async function failure(work: Promise<unknown>): Promise<McpxError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(McpxError);
  return error as McpxError;
}

describe('a call', () => {
  test('reaches the upstream once, and its result comes back untouched', async () => {
    const result = {
      content: [{ type: 'audio', data: 'x', mimeType: 'a/b' }],
      structuredContent: { a: [1] },
      _meta: { z: 1 },
    };
    const { router, sent, stats } = world({ answer: () => result });
    expect(await router.call(call({ meta: { trace: 't' } }))).toEqual(result);
    expect(sent).toEqual([
      {
        server: 'files',
        method: 'tools/call',
        params: { name: 'read', arguments: { path: '/a' }, _meta: { trace: 't' } },
      },
    ]);
    expect(stats.snapshot()).toMatchObject({ calls: 1, errors: 0 });
  });

  test('passes the signal and progress on, and says whose progress it is', async () => {
    const seen: unknown[] = [];
    const signal = new AbortController().signal;
    const { router } = world({
      answer: (_, __, options) => {
        options.progress?.({ progress: 1 });
        seen.push(options.signal);
        return { content: [] };
      },
    });
    await router.call(call({ signal, progress: (params) => seen.push(params) }));
    expect(seen).toEqual([{ progress: 1, _meta: { 'dev.mcpx/server': 'files' } }, signal]);
  });

  test('may be repeated only where its server says so', async () => {
    const seen: unknown[] = [];
    const tools = [
      { name: 'plain' },
      { name: 'reads', annotations: { readOnlyHint: true } },
      { name: 'again', annotations: { idempotentHint: true } },
      { name: 'odd', annotations: { readOnlyHint: 'yes' } },
      { name: 'both', annotations: { readOnlyHint: true, destructiveHint: true } },
    ];
    const { router } = world({
      tools,
      answer: (_, params, options) => {
        seen.push([params?.name, (options as CallOptions).repeatable, (options as CallOptions).client?.key]);
        return { content: [] };
      },
    });
    for (const { name } of tools) await router.call(call({ tool: name, arguments: {} }));
    expect(seen).toEqual([
      ['plain', false, 'test'],
      ['reads', true, 'test'],
      ['again', true, 'test'],
      ['odd', false, 'test'],
      ['both', false, 'test'],
    ]);
  });

  test('of a client that has left by the time its server is listed gets no connection', async () => {
    let listed = () => {};
    const listing = new Promise<void>((resolve) => {
      listed = resolve;
    });
    const { router, sent, stats } = world({ connect: () => listing });
    const client = new AbortController();
    const { signal } = client;
    const of = { server: 'files', kind: 'resource', name: 'x://y', method: 'resources/read', params: {} } as const;
    const calls = [router.call(call({ signal })), router.forward({ ...of, caller: CALLER, signal })].map(failure);
    client.abort();
    listed();
    for (const error of await Promise.all(calls)) expect(error.code).toBe('cancelled');
    expect(sent).toEqual([]);
    expect(stats.snapshot()).toMatchObject({ calls: 2, errors: 2 });
  });

  test('an upstream error is relayed verbatim and counted', async () => {
    const original = new RpcError(-32042, 'Url elicitation required', { urls: [1] });
    const { router, stats } = world({
      answer: () => {
        throw original;
      },
    });
    await expect(router.call(call())).rejects.toBe(original);
    expect(stats.snapshot()).toMatchObject({ calls: 1, errors: 1 });
  });

  test('a failure of ours names the tool', async () => {
    const { router } = world({
      answer: () => {
        throw new McpxError('timeout', 'no answer within 60 s', { hint: 'raise "timeout"' });
      },
    });
    expect(await failure(router.call(call()))).toMatchObject({
      code: 'timeout',
      message: '"files.read": no answer within 60 s',
      hint: 'raise "timeout"',
    });
  });

  test('a call that timed out names the settings that raise the limit', async () => {
    const { router } = world({
      answer: () => {
        throw new McpxError('timeout', 'server "files" did not answer "tools/call" within 600 s');
      },
    });
    expect(await failure(router.call(call()))).toMatchObject({
      code: 'timeout',
      message: 'server "files" did not answer "tools/call" within 600 s',
      hint: 'raise "timeout" of server "files" in the config, or "limits.callTimeout" for all servers',
    });
  });

  test('an answer that is no object is a protocol failure', async () => {
    const { router } = world({ answer: () => 'text' });
    expect((await failure(router.call(call()))).code).toBe('protocol');
  });

  test('a tool that says isError is a result, and counted', async () => {
    const { router, stats } = world({ answer: () => ({ content: [], isError: true }) });
    expect(await router.call(call())).toMatchObject({ isError: true });
    expect(stats.snapshot().errors).toBe(1);
  });
});

describe('arguments', () => {
  test('that do not fit are refused with paths, and nothing is sent', async () => {
    const { router, sent } = world();
    const error = await failure(router.call(call({ arguments: { tail: 'many' } })));
    expect(error.code).toBe('arguments');
    expect(error.message).toContain('path');
    expect(error.message).toContain('tail');
    expect(sent).toEqual([]);
  });

  test('are healed where only one meaning is possible', async () => {
    const { router, sent } = world();
    await router.call(call({ arguments: '{"path":"/a","tail":"5"}' }));
    expect(sent[0]?.params?.arguments).toEqual({ path: '/a', tail: 5 });
  });

  test('are left alone in verbatim mode', async () => {
    const { router, sent } = world();
    await router.call(call({ arguments: { tail: 'many' }, mode: 'verbatim' }));
    expect(sent[0]?.params?.arguments).toEqual({ tail: 'many' });
  });
});

describe('what is not there', () => {
  test('an unknown server is answered with the nearest names', async () => {
    expect(await failure(world().router.call(call({ server: 'fiels' })))).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('did you mean "files"?'),
    });
  });

  test('an unknown tool is answered with the nearest names', async () => {
    expect(await failure(world().router.call(call({ tool: 'raed' })))).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('did you mean "read"?'),
    });
  });

  test.each(['__proto__', 'constructor', 'read\u0000'])('%j is an ordinary unknown name', async (name) => {
    expect((await failure(world().router.call(call({ server: name })))).code).toBe('not_found');
    expect((await failure(world().router.call(call({ tool: name })))).code).toBe('not_found');
  });

  test('a denied tool looks missing everywhere', async () => {
    const { router, sent } = world({}, { tools: { deny: ['files.drop_*'] } });
    const denied = await failure(router.call(call({ tool: 'drop_all' })));
    const missing = await failure(router.call(call({ tool: 'drop_alx' })));
    expect(denied.message.replace('drop_all', 'X')).toBe(missing.message.replace('drop_alx', 'X'));
    expect(denied.data).toEqual(missing.data);
    expect((await router.server('files')).tools.map(({ name }) => name)).toEqual(['read']);
    expect(router.servers().flatMap(({ tools }) => tools.map(({ name }) => name))).toEqual(['read']);
    expect(sent).toEqual([]);
  });

  test('a server that cannot start says why', async () => {
    const reason = new McpxError('unreachable', 'server "files" could not be started', { hint: 'install it' });
    const { router } = world({ connect: () => Promise.reject(reason) });
    expect(await failure(router.call(call()))).toBe(reason);
  });

  test('no server at all is said as such', async () => {
    expect((await failure(createWorld({}).router.server('x'))).hint).toContain('no server is configured yet');
  });
});

describe('a call of a server that has to come up first', () => {
  /** The recorded events of calls, one line each. */
  const told = ({ observer }: World) => {
    const lines: string[] = [];
    observer.subscribe((happening) => {
      if (happening.type === 'call_began') lines.push(`began ${happening.call.name}`);
      if (happening.type === 'call_ended')
        lines.push(`${happening.call.outcome} ${happening.call.name}: ${happening.call.reason}`);
    });
    return lines;
  };
  const down = async () => {
    throw new McpxError('unreachable', 'server "files" did not start');
  };

  test('is under way while it waits, and recorded where the server never comes up', async () => {
    let fail: (error: Error) => void = () => undefined;
    const staged = world({ connect: () => new Promise((_, reject) => (fail = reject)) });
    const lines = told(staged);
    const pending = failure(staged.router.call(call()));
    await expect.poll(() => staged.observer.inFlight().map(({ name }) => name)).toEqual([call().tool]);
    fail(new McpxError('unreachable', 'server "files" did not start'));
    expect((await pending).code).toBe('unreachable');
    expect(lines).toEqual([`began ${call().tool}`, `failed ${call().tool}: unreachable`]);
    expect(staged.observer.inFlight()).toEqual([]);
    expect(staged.stats.snapshot()).toEqual({ calls: 1, errors: 1 });
  });

  test('is recorded once where it comes up, and as refused where it has no such tool', async () => {
    const staged = world();
    const lines = told(staged);
    await staged.router.call(call());
    expect(lines).toEqual([`began ${call().tool}`, `ok ${call().tool}: undefined`]);
    const other = world();
    const more = told(other);
    await failure(other.router.call(call({ tool: 'nothing' })));
    expect(more).toEqual(['began nothing', 'refused nothing: not_found']);
  });

  test('tells nothing that a call of a missing tool would not: what is denied looks the same', async () => {
    const seen = async (tool: string) => {
      const staged = world({}, { tools: { deny: ['files.drop_*'] } });
      const lines = told(staged);
      await failure(staged.router.call(call({ tool })));
      return lines.filter((line) => !line.startsWith('denied')).map((line) => line.replace(tool, '?'));
    };
    expect(await seen('drop_all')).toEqual(await seen('nothing'));
  });

  test('is one record where it is denied: denied to the operator, and as a missing one to the client', async () => {
    const staged = world({}, { tools: { deny: ['files.drop_*'] } });
    const ended: unknown[] = [];
    staged.observer.subscribe((happening) => {
      if (happening.type === 'call_ended') ended.push(happening.call);
    });
    await failure(staged.router.call(call({ tool: 'drop_all' })));
    expect(ended).toEqual([expect.objectContaining({ name: 'drop_all', outcome: 'refused', denied: true })]);
  });

  test('is recorded through exec and exec_read as well', async () => {
    const staged = world({ connect: down });
    const lines = told(staged);
    for (const runs of ['everything', 'read-only'] as const)
      await failure(exec({ method: `files.${call().tool}` }, { caller: CALLER }, staged.deps, runs));
    const one = [`began ${call().tool}`, `failed ${call().tool}: unreachable`];
    expect(lines).toEqual([...one, ...one]);
  });
});
