/** The compact front: what a model sees of `inspect` and `exec`. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../../src/config/config.ts';
import { McpxError, RpcError } from '../../../src/errors.ts';
import type { ToolResult } from '../../../src/router/router.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const READ = {
  name: 'read_file',
  description: 'Read a file as text. Works for any size.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'absolute path' }, tail: { type: 'number' } },
    required: ['path'],
  },
  outputSchema: { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] },
  annotations: { readOnlyHint: true },
};

function open(
  scripts: Record<string, Script>,
  change: { [K in 'front' | 'compression' | 'limits']?: Partial<Settings[K]> } = {},
) {
  const settings = {
    ...DEFAULTS,
    front: { ...DEFAULTS.front, ...change.front },
    compression: { ...DEFAULTS.compression, ...change.compression },
    limits: { ...DEFAULTS.limits, ...change.limits },
  };
  const world = createWorld(scripts, { settings });
  const told: string[] = [];
  const front = openFront('compact', world.deps, { key: 'k', notify: (method) => told.push(method) });
  const incoming = { signal: new AbortController().signal };
  const request = (method: string, params?: Params) => front.request({ method, ...(params && { params }) }, incoming);
  const call = async (name: string, args?: unknown) =>
    (await request('tools/call', { name, arguments: args })) as ToolResult;
  const text = async (name: string, args?: unknown) => {
    const { content = [] } = await call(name, args);
    return (content as { text?: string }[]).map((block) => block.text ?? '').join('');
  };
  return { ...world, front, told, request, call, text };
}

const files: Script = { tools: [READ, { name: 'list' }], instructions: 'Local files.' };

describe('the session', () => {
  test('initialize answers with the version that was asked for, if it is known', async () => {
    const { request } = open({});
    expect(await request('initialize', { protocolVersion: '2025-03-26' })).toMatchObject({
      protocolVersion: '2025-03-26',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'mcpx' },
      instructions: expect.stringContaining('inspect'),
    });
    expect(await request('initialize', { protocolVersion: '1999-01-01' })).toMatchObject({
      protocolVersion: '2025-11-25',
    });
  });

  test('ping is answered, unknown methods are not found', async () => {
    const { request } = open({});
    expect(await request('ping')).toEqual({});
    await expect(request('nonsense/list')).rejects.toMatchObject({ code: -32601 });
    await expect(request('__proto__')).rejects.toMatchObject({ code: -32601 });
    await expect(request('tools/call', {})).rejects.toMatchObject({ code: -32602 });
    await expect(request('tools/call', { name: 'read_file' })).rejects.toMatchObject({ code: -32602 });
  });

  test('changes are told together, but for what the client has listed since', async () => {
    const { front, told, request } = open({});
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    for (let i = 0; i < 5; i++) front.changed(['tools', 'prompts', 'resources']);
    await request('tools/list');
    await expect
      .poll(() => told)
      .toEqual(['notifications/prompts/list_changed', 'notifications/resources/list_changed']);
    front.changed(['tools']);
    front.close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(told).toHaveLength(2);
  });

  test('the client is known upstream by its capabilities', async () => {
    const { request, call, sent } = open({ files });
    await request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { roots: {} },
      clientInfo: { name: 'c', version: '1' },
    });
    await call('exec', { server_name: 'files', tool_name: 'list' });
    expect(sent).toHaveLength(1);
  });
});

describe('tools/list', () => {
  test('shows inspect and exec, the menu in the description of inspect', async () => {
    const { tools } = (await open({ files }).request('tools/list')) as {
      tools: { name: string; description: string; _meta: unknown }[];
    };
    expect(tools.map(({ name }) => name)).toEqual(['inspect', 'exec']);
    expect(tools[0]?.description).toContain(
      'read_file({ path: string; tail?: number }): { content: string } // Read a file as text.',
    );
    expect(tools.every(({ _meta }) => JSON.stringify(_meta).includes('alwaysLoad'))).toBe(true);
  });

  test('every object in the arguments of exec says that it takes any member', async () => {
    const { tools } = (await open({}).request('tools/list')) as { tools: { name: string; inputSchema: Params }[] };
    const schemas = new Map(tools.map(({ name, inputSchema }) => [name, inputSchema]));
    const properties = schemas.get('exec')?.properties as { arguments: Params; calls: { items: Params } };
    expect(properties.arguments).toEqual({ type: 'object', additionalProperties: true });
    expect(properties.calls.items).toMatchObject({
      additionalProperties: true,
      properties: { tool: {}, arguments: { additionalProperties: true } },
    });
  });

  test('a client that shows its model structuredContent gets the text alone', async () => {
    const answer = () => ({ content: [{ type: 'text', text: 'words' }], structuredContent: { a: 1 } });
    const asked = async (name?: string) => {
      const { request, call } = open({ files: { ...files, answer } });
      if (name) await request('initialize', { clientInfo: { name, version: '1' } });
      return [
        await call('exec', { server_name: 'files', tool_name: 'list' }),
        await call('inspect', { server_name: 'files', tool_name: 'list' }),
      ].map(({ structuredContent }) => structuredContent !== undefined);
    };
    expect(await asked()).toEqual([true, true]);
    expect(await asked('claude-code')).toEqual([false, false]);
    expect(await asked('codex-mcp-client')).toEqual([false, false]);
  });

  test('says what a model must know before its first call', async () => {
    const { tools } = (await open({}).request('tools/list')) as { tools: { description: string }[] };
    const [inspect, exec] = tools.map(({ description }) => description);
    expect(inspect).toContain('Run known ones with exec at once: bad arguments are answered with types, not run');
    expect(inspect).toContain('query: one action');
    expect(inspect).toContain('tool: server[.tool]');
    expect(exec).toContain('calls in order until one fails');
    expect(exec).toContain("select: JMESPath, 'x' strings");
    expect(exec).toContain("{$from:'0.id'} of result 0, '{{r1.id}}' of kept r1");
    expect(exec).toContain("each:'0.ids' repeats with {{item}}, show:false hides");
  });

  test('the fixed part costs at most 300 tokens', async () => {
    const { tools } = (await open({}).request('tools/list')) as { tools: Record<string, unknown>[] };
    const fixed = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    expect(encode(JSON.stringify(fixed)).length).toBeLessThanOrEqual(300);
  });

  test('no description is over 2,048 characters, whatever the budget says', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`server-number-${i}`, files]));
    const { tools } = (await open(many, { front: { menuBudget: 100_000 } }).request('tools/list')) as {
      tools: { description: string }[];
    };
    expect(Math.max(...tools.map(({ description }) => description.length))).toBeLessThanOrEqual(2048);
  });

  test('tells Claude Code not to hide the tools nor cut their results', async () => {
    const { tools } = (await open({ files }).request('tools/list')) as { tools: { _meta: Record<string, unknown> }[] };
    for (const { _meta } of tools) {
      expect(_meta['anthropic/alwaysLoad']).toBe(true);
      expect(_meta['anthropic/maxResultSizeChars']).toBe(500_000);
      expect(_meta['anthropic/searchHint']).toEqual(expect.stringContaining('MCP server'));
    }
  });

  const HINTS: [string, Record<string, unknown>[], Record<string, unknown>][] = [
    ['nothing where a tool says nothing', [{ readOnlyHint: true }, {}], { readOnlyHint: false, openWorldHint: true }],
    [
      'read-only where every tool is',
      [{ readOnlyHint: true }, { readOnlyHint: true, openWorldHint: false }],
      { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
    ],
    [
      'harmless where no tool destroys anything',
      [
        { readOnlyHint: true, openWorldHint: false },
        { destructiveHint: false, openWorldHint: false },
      ],
      { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    ],
    [
      'nothing where a tool says that it reads and destroys',
      [{ readOnlyHint: true, destructiveHint: true }],
      { readOnlyHint: false, openWorldHint: true },
    ],
    ['nothing where there is no tool', [], { readOnlyHint: false, openWorldHint: true }],
  ];

  test.each(HINTS)('exec promises %s', async (_title, all, expected) => {
    const server = { tools: all.map((annotations, index) => ({ name: `t${index}`, annotations })) };
    const { tools } = (await open({ server }).request('tools/list')) as { tools: { annotations: unknown }[] };
    expect(tools[1]?.annotations).toEqual(expected);
  });

  test('exec promises nothing of servers that could not be listed', async () => {
    const good = { tools: [{ name: 'read', annotations: { readOnlyHint: true, openWorldHint: false } }] };
    const bad = { connect: () => Promise.reject(new Error('no')) };
    const { tools } = (await open({ good, bad }).request('tools/list')) as { tools: { annotations: unknown }[] };
    expect(tools[1]?.annotations).toEqual({ readOnlyHint: false, openWorldHint: true });
  });

  test('is byte-identical when nothing changed', async () => {
    const { request } = open({ files, other: { tools: [{ name: 'x' }] } });
    expect(JSON.stringify(await request('tools/list'))).toBe(JSON.stringify(await request('tools/list')));
  });
});

describe('inspect', () => {
  test('one tool: a TypeScript signature, the whole description, the original as structuredContent', async () => {
    const result = await open({ files }).call('inspect', { server_name: 'files', tool_name: 'read_file' });
    const [{ text }] = result.content as [{ text: string }];
    expect(text).toContain('read_file(args: {');
    expect(text).toContain('path: string');
    expect(text).toContain('tail?: number');
    expect(text).toContain('absolute path');
    expect(text).toContain('Works for any size.');
    expect(result.structuredContent).toEqual(READ);
  });

  test('a tool with a definition of 200,000 characters: as much as a result may have, and a call that reads on', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 3500 }, (_, at) => [`property_${at}`, { type: 'string', description: `what ${at} is` }]),
    );
    const large = { name: 'large', inputSchema: { type: 'object', properties, required: ['property_0'] } };
    const { call } = open({ s: { tools: [large] } });
    const inspect = (args: Params) => call('inspect', args);
    const shown = await inspect({ server_name: 's', tool_name: 'large' });
    expect(shown.structuredContent).toBeUndefined();
    const [head, about] = shown.content as { text: string }[];
    expect(head?.text).toHaveLength(DEFAULTS.limits.resultChars);
    const more = JSON.parse(/read on: inspect (\{.*\})/.exec(about?.text ?? '')?.[1] ?? '{}');
    expect((await inspect(more)).content?.[0]).toMatchObject({ text: expect.stringContaining('property_') });
    const refused = await call('exec', { server_name: 's', tool_name: 'large', arguments: { property_0: {} } });
    expect(JSON.stringify(refused.content).length).toBeLessThan(30_000);
  });

  test('a server: every tool in the short form, instructions first', async () => {
    const text = await open({ files }).text('inspect', { server_name: 'files' });
    expect(text.split('\n')[0]).toBe('files (2 tools) — Local files.');
    expect(text).toContain('read_file(');
    expect(text).not.toContain('Works for any size.');
  });

  const CROWDED: [number, string][] = [
    [40_000, 'tool_7({ path: string; tail?: number }) // Does a thing.'],
    [5000, 'tool_7(path, tail?) // Does a thing.'],
    [3000, 'tool_7(path, tail?)'],
    [1000, 'tool_7'],
  ];

  test.each(CROWDED)('a server of a hundred tools says less of each in %i characters', async (resultChars, line) => {
    const inputSchema = {
      type: 'object',
      properties: { path: { type: 'string' }, tail: { type: 'number' } },
      required: ['path'],
    };
    const tools = Array.from({ length: 100 }, (_, index) => ({
      name: `tool_${index}`,
      description: 'Does a thing. And more.',
      inputSchema,
    }));
    const { text } = open({ many: { tools } }, { limits: { resultChars } });
    const lines = (await text('inspect', { server_name: 'many' })).split('\n');
    expect(lines).toContain(line);
    expect(lines.filter((one) => one.startsWith('tool_'))).toHaveLength(100);
    expect(lines[1]?.startsWith('(too many tools')).toBe(resultChars < 40_000);
  });

  test('nothing: the servers with a line each, dead ones with the reason', async () => {
    const dead: Script = {
      connect: () => Promise.reject(new McpxError('unreachable', 'server "dead" could not be started\nlast lines')),
    };
    expect(await open({ files, dead }).text('inspect')).toBe(
      'dead: not available: server "dead" could not be started\nfiles (2 tools) — Local files.\n',
    );
    expect(await open({}).text('inspect', {})).toBe(
      'no server is configured yet: `mcpx init` imports those of your clients, `mcpx add` adds one\n',
    );
  });

  test.each([
    [{ method: 'files.read_file' }, 'read_file(args'],
    [{ method: 'files' }, 'files (2 tools)'],
    [{ method: 'read_file' }, 'read_file(args'],
    [{ tool_name: 'read_file' }, 'read_file(args'],
  ])('%j is understood', async (args, expected) => {
    expect(await open({ files }).text('inspect', args)).toContain(expected);
  });

  test('nested arguments come with an example that can be pasted', async () => {
    const numbers = ['id', 'amount', 'width', 'height'].map((key) => [key, { type: 'number', minimum: 0, maximum: 9 }]);
    const item = { type: 'object', properties: Object.fromEntries(numbers), required: ['id'] };
    const inputSchema = { type: 'object', properties: { items: { type: 'array', items: item } }, required: ['items'] };
    const { text } = open({ s: { tools: [{ name: 'add', inputSchema }] } });
    const whole = await text('inspect', { server_name: 's', tool_name: 'add' });
    const example = JSON.parse(/example: exec (.*)$/m.exec(whole)?.[1] ?? '');
    expect(example).toMatchObject({ tool: 's.add', arguments: { items: expect.any(Array) } });
  });

  test('an example that would make the answer almost as long as the JSON is left out', async () => {
    const item = {
      type: 'object',
      properties: { identifier_of_the_shelf_in_the_warehouse: { type: 'number' } },
      required: ['identifier_of_the_shelf_in_the_warehouse'],
    };
    const properties = { several_items: { type: 'array', items: item } };
    const inputSchema = { type: 'object', properties, required: ['several_items'] };
    const { text } = open({
      s: { tools: [{ name: 'add', description: 'Put the items into the list.', inputSchema }] },
    });
    const said = await text('inspect', { server_name: 's', tool_name: 'add' });
    expect(said).toContain('identifier_of_the_shelf_in_the_warehouse: number');
    expect(said).not.toContain('example');
  });

  test('a folded part is opened by the call that the answer gives', async () => {
    const words = (key: string) => `${key}: ${'some more words about it '.repeat(10)}`;
    const address = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`line${index}`, { type: 'string', description: words(`${index}`) }]),
    );
    const properties = { name: { type: 'string' }, address: { type: 'object', properties: address } };
    const tool = { name: 'add', inputSchema: { type: 'object', properties, required: ['name'] } };
    const { text, call } = open({ s: { tools: [tool] } });
    const folded = await text('inspect', { server_name: 's', tool_name: 'add' });
    expect(folded).toContain('address?: object // folded');
    const again = JSON.parse(/more: inspect (.*)$/m.exec(folded)?.[1] ?? '');
    expect(await text('inspect', again)).toContain('line19?: string');
    expect((await call('inspect', again)).structuredContent).toEqual({
      ...{ tool: 's.add', path: '#/address' },
      schema: properties.address,
    });
    const part = { method: 's.add#/properties/address/properties/line3' };
    expect(await text('inspect', part)).toMatch(
      /^s\.add#\/properties\/address\/properties\/line3: string \/\* 3: some/,
    );
    expect(await call('inspect', { method: 's.add#/nothing' })).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringContaining('"s.add" has no part "#/nothing"\nhint: the parameters are: name, address?') },
      ],
    });
  });

  test('compression.schema "json" gives JSON Schema', async () => {
    const { text } = open({ files }, { compression: { schema: 'json' } });
    expect(JSON.parse(await text('inspect', { server_name: 'files', tool_name: 'read_file' }))).toEqual(READ);
    expect(await text('inspect', { server_name: 'files' })).toContain('"inputSchema"');
  });

  test.each([
    ['never', undefined, undefined],
    ['auto', READ, { server: 'files', tools: [READ, { name: 'list' }] }],
    ['always', READ, { server: 'files', tools: [READ, { name: 'list' }] }],
  ] as const)('front.structured %s', async (structured, tool, server) => {
    const { call } = open({ files }, { front: { structured } });
    expect((await call('inspect', { server_name: 'files', tool_name: 'read_file' })).structuredContent).toEqual(tool);
    expect((await call('inspect', { server_name: 'files' })).structuredContent).toEqual(server);
  });

  test('a server that cannot start is an error result with the reason', async () => {
    const dead: Script = {
      connect: () => Promise.reject(new McpxError('unreachable', 'it is gone', { hint: 'start it' })),
    };
    expect(await open({ dead }).call('inspect', { server_name: 'dead' })).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'error: it is gone\nhint: start it\n' }],
    });
  });
});

describe('exec', () => {
  const exec = { server_name: 'files', tool_name: 'list' };
  const answering = (result: unknown, change = {}) => open({ files: { ...files, answer: () => result } }, change);

  test('text, images, audio and isError pass untouched', async () => {
    const content = [
      { type: 'text', text: 'plain { not json' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
      { type: 'of the future', payload: [1] },
    ];
    expect(await answering({ content, isError: true, _meta: { a: 1 } }).call('exec', exec)).toEqual({
      content,
      isError: true,
      _meta: { a: 1 },
    });
  });

  test('links and embedded resources point to what the client can read', async () => {
    const content = [
      { type: 'resource_link', uri: 'x://y', name: 'y' },
      { type: 'resource', resource: { uri: 'x://z', text: '{ "a": 1 }' } },
    ];
    const { call, request, sent } = open({ files: { ...files, answer: () => ({ content }) } });
    const result = await call('exec', exec);
    const [link, embedded] = result.content as [{ uri: string }, { resource: { uri: string; text: string } }];
    expect(link.uri).toMatch(/^proxy:\/\/resource\//);
    expect(embedded.resource).toEqual({ uri: expect.stringMatching(/^proxy:/), text: '{ "a": 1 }' });
    await request('resources/read', { uri: link.uri });
    expect(sent.at(-1)).toEqual({ server: 'files', method: 'resources/read', params: { uri: 'x://y' } });
  });

  test('uniform rows become TOON, structuredContent stays the original', async () => {
    const rows = Array.from({ length: 20 }, (_, id) => ({ id, name: `name ${id}`, active: true }));
    const structuredContent = { rows };
    const pretty = JSON.stringify(structuredContent, null, 2);
    const result = await answering({ content: [{ type: 'text', text: pretty }], structuredContent }).call('exec', exec);
    const [{ text }] = result.content as [{ text: string }];
    expect(text.length).toBeLessThan(JSON.stringify(structuredContent).length * 0.9);
    expect(result.structuredContent).toEqual(structuredContent);
  });

  test('JSON that TOON does not shorten becomes compact JSON', async () => {
    const value = { deep: { er: [{ a: 1 }, { b: [2, { c: 3 }] }] } };
    const result = await answering({ content: [{ type: 'text', text: JSON.stringify(value, null, 4) }] }).call(
      'exec',
      exec,
    );
    expect(result.content).toEqual([{ type: 'text', text: `${JSON.stringify(value)}\n` }]);
    expect(result.structuredContent).toEqual(value);
  });

  test('numbers too long for JavaScript are not touched', async () => {
    const content = [{ type: 'text', text: '{ "id": 12345678901234567890 }' }];
    expect(await answering({ content }).call('exec', exec)).toEqual({ content });
  });

  test('structured content alone is also given as text', async () => {
    const result = await answering({ structuredContent: { a: 1 } }).call('exec', exec);
    expect(result).toEqual({ structuredContent: { a: 1 }, content: [{ type: 'text', text: '{"a":1}\n' }] });
  });

  test('front.structured "never" keeps it to the text', async () => {
    const result = await answering(
      { content: [], structuredContent: { a: 1 } },
      { front: { structured: 'never' } },
    ).call('exec', exec);
    expect(result).toEqual({ content: [{ type: 'text', text: '{"a":1}\n' }] });
  });

  test.each([
    [{ method: 'files.read_file', arguments: { path: '/a' } }],
    [{ tool_name: 'read_file', arguments: { path: '/a' } }],
    [{ server_name: 'files', tool_name: 'read_file', arguments: '{"path":"/a"}' }],
  ])('%j is understood', async (args) => {
    const { call, sent } = open({ files });
    expect((await call('exec', args)).isError).toBeUndefined();
    expect(sent[0]?.params).toMatchObject({ name: 'read_file', arguments: { path: '/a' } });
  });

  test('a name that two servers have is not guessed', async () => {
    const { text, sent } = open({ a: { tools: [{ name: 'x' }] }, b: { tools: [{ name: 'x' }] } });
    expect(await text('exec', { tool_name: 'x' })).toContain('several servers have a tool "x": a, b');
    expect(sent).toEqual([]);
  });

  test('wrong arguments are answered with paths, types and a working example', async () => {
    const { call, text } = open({ files });
    const wrong = await text('exec', { server_name: 'files', tool_name: 'read_file', arguments: { tail: 'x' } });
    expect(wrong).toContain('path: missing');
    expect(wrong).toContain('path: string // absolute path');
    const example = JSON.parse(/example: exec (.*)$/m.exec(wrong)?.[1] ?? '');
    expect((await call('exec', example)).isError).toBeUndefined();
  });

  test.each([
    [{}, 'say which tool to run in "tool", such as "server.tool"'],
    [{ server_name: 'fil', tool_name: 'list' }, 'did you mean "files"'],
    [{ server_name: 'files', tool_name: 'reed_file' }, 'did you mean "read_file"'],
    [{ server_name: 5, tool_name: 'list' }, '"server_name" must be a string'],
    [{ tool_name: 'nobody_has_this' }, 'no server has a tool "nobody_has_this"'],
  ])('%j is an instructive error', async (args, expected) => {
    const { call, text } = open({ files });
    expect((await call('exec', args)).isError).toBe(true);
    expect(await text('exec', args)).toContain(expected);
  });

  test('what an upstream refuses is told with its own words', async () => {
    const { text } = open({
      files: {
        ...files,
        answer: () => {
          throw new RpcError(-32000, 'Quota exceeded');
        },
      },
    });
    expect(await text('exec', exec)).toBe('error -32000: Quota exceeded\n');
  });

  test('arguments that are no object at all are an error, not a crash', async () => {
    expect((await open({ files }).call('exec', 'garbage')).isError).toBe(true);
  });

  test('_meta goes upstream without the progress token', async () => {
    const { request, sent } = open({ files });
    await request('tools/call', { name: 'exec', arguments: exec, _meta: { progressToken: 7, trace: 'abc' } });
    expect(sent[0]?.params?._meta).toEqual({ trace: 'abc' });
  });
});
