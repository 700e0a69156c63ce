/** The other tools of the compact front: `exec_read`, the `describe` dialect, `resources`. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/catalog/listing.ts';
import { DEFAULTS, type Settings } from '../../../src/config/config.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const NUMBER = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
const TOOLS = [
  { name: 'look', annotations: { readOnlyHint: true }, inputSchema: NUMBER },
  { name: 'drop', annotations: { destructiveHint: true } },
  { name: 'plain' },
  { name: 'odd', annotations: { readOnlyHint: true, destructiveHint: true } },
];

function open(scripts: Record<string, Script>, front: Partial<Settings['front']> = {}, limits = {}) {
  const settings = {
    ...DEFAULTS,
    front: { ...DEFAULTS.front, ...front },
    limits: { ...DEFAULTS.limits, ...limits },
  };
  const world = createWorld(scripts, { settings });
  const told: string[] = [];
  const opened = openFront('compact', world.deps, { key: 'k', notify: (method) => told.push(method) });
  const request = (method: string, params: Params = {}) =>
    opened.request({ method, params }, { signal: new AbortController().signal });
  const call = async (name: string, args: Params = {}) =>
    (await request('tools/call', { name, arguments: args })) as { content: Params[]; isError?: boolean };
  const text = async (name: string, args: Params = {}) =>
    (await call(name, args)).content.map((block) => block.text ?? '').join('');
  const tools = async () => ((await request('tools/list')) as { tools: Tool[] }).tools;
  return { ...world, front: opened, told, request, call, text, tools };
}

describe('exec_read', () => {
  const split = () => open({ s: { tools: TOOLS } }, { execSplit: true });

  test('is listed with front.execSplit only, as a tool that reads', async () => {
    const named = (tools: Tool[]) => tools.map(({ name }) => name);
    expect(named(await open({ s: { tools: TOOLS } }).tools())).toEqual(['inspect', 'exec']);
    const tools = await split().tools();
    expect(named(tools)).toEqual(['inspect', 'exec', 'exec_read']);
    expect(tools[2]?.annotations).toMatchObject({ readOnlyHint: true });
    await expect(open({}).call('exec_read')).rejects.toMatchObject({ code: -32602 });
  });

  test('is offered to Codex by itself, and the three cost at most 300 tokens', async () => {
    const { request, tools, text } = open({ s: { tools: TOOLS } });
    await request('initialize', { clientInfo: { name: 'codex-mcp-client', version: '0' } });
    expect((await tools()).map(({ name }) => name)).toEqual(['inspect', 'exec', 'exec_read']);
    expect(await text('exec_read', { server_name: 's', tool_name: 'look', arguments: { n: 5 } })).toBe('ok');
    const alone = open({});
    await alone.request('initialize', { clientInfo: { name: 'codex-mcp-client', version: '0' } });
    const listed = await alone.tools();
    const fixed = listed.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    expect(fixed.map(({ name }) => name)).toEqual(['inspect', 'exec', 'exec_read']);
    expect(encode(JSON.stringify(fixed)).length).toBeLessThanOrEqual(300);
  });

  test('runs what says that it only reads', async () => {
    const { text, sent } = split();
    expect(await text('exec_read', { server_name: 's', tool_name: 'look', arguments: { n: '5' } })).toBe('ok');
    expect(sent[0]?.params).toMatchObject({ name: 'look', arguments: { n: 5 } });
  });

  test.each(['drop', 'plain', 'odd'])('refuses %s, and says what to use', async (tool_name) => {
    const { call, sent } = split();
    const { content, isError } = await call('exec_read', { server_name: 's', tool_name });
    expect([isError, content[0]?.text]).toEqual([
      true,
      `error: "s.${tool_name}" is not declared read-only, so it was not run\nhint: run it with exec\n`,
    ]);
    expect(sent).toEqual([]);
  });

  test('looks at every call of a batch', async () => {
    const { text, sent } = split();
    const calls = [{ method: 's.drop' }, { method: 's.look', arguments: { n: 1 } }];
    const answer = await text('exec_read', { calls, onError: 'continue' });
    expect(answer).toMatch(/\[0\] s\.drop failed\nerror: .*\n.*\n\[1\] s\.look\nok/);
    expect(sent.map(({ params }) => params?.name)).toEqual(['look']);
  });

  test('what is missing looks missing', async () => {
    expect(await split().text('exec_read', { server_name: 's', tool_name: 'loook' })).toContain('did you mean "look"');
  });
});

describe('the describe dialect', () => {
  const dialect = { dialect: 'describe', execSplit: true } as const;

  test('calls the tools describe, call and call_read, with method as their argument', async () => {
    const tools = await open({ s: { tools: TOOLS } }, dialect).tools();
    expect(tools.map(({ name }) => name)).toEqual(['describe', 'call', 'call_read']);
    for (const { inputSchema } of tools) {
      const { properties } = inputSchema as { properties: Params };
      expect(Object.keys(properties)[0]).toBe('method');
      expect(properties).not.toHaveProperty('server_name');
    }
    expect(JSON.stringify(tools)).not.toMatch(/\binspect\b|\bexec\b/);
  });

  test('costs no more than the other one', async () => {
    const cost = async (front: Partial<Settings['front']>) => {
      const tools = await open({}, front).tools();
      return encode(
        JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))),
      ).length;
    };
    expect(await cost({ dialect: 'describe' })).toBeLessThanOrEqual(300);
    expect(await cost({ dialect: 'describe', execSplit: true })).toBeLessThanOrEqual(300);
    expect(await cost({})).toBeLessThanOrEqual(300);
  });

  test('has the same handlers, and speaks of itself in its own words', async () => {
    const { text, request } = open({ s: { tools: TOOLS } }, dialect);
    expect(await text('describe', { method: 's' })).toContain('s (4 tools)');
    expect(await text('describe', { method: 's.look' })).toContain('look(');
    expect(await text('call', { method: 's.look', arguments: { n: 1 } })).toBe('ok');
    expect(await text('call', { method: 's.look', arguments: {} })).toContain(
      'example: call {"method":"s.look","arguments":{"n":1}}',
    );
    expect(await text('call', {})).toBe(
      'error: say which tool to run in "method", such as "server.tool"\nhint: describe lists the tools\n',
    );
    expect(await text('call_read', { method: 's.drop' })).toContain('hint: run it with call');
    expect(JSON.stringify(await request('initialize'))).not.toMatch(/\binspect\b|\bexec\b/);
    await expect(text('exec', { method: 's.look' })).rejects.toMatchObject({ code: -32602 });
  });

  test('reads kept results with describe', async () => {
    const answer = () => ({ content: [{ type: 'text', text: 'x'.repeat(500) }] });
    const { text } = open({ s: { tools: TOOLS, answer } }, dialect, { resultChars: 100 });
    const head = await text('call', { method: 's.plain' });
    const next = /read on: describe (\{.*\})/.exec(head)?.[1] ?? '';
    expect(await text('describe', JSON.parse(next))).toMatch(/characters 100 to 200 of 500; read on: describe /);
  });
});

describe('resources', () => {
  const RESOURCES = [
    { uri: 'file:///a.txt', name: 'a', description: 'The first.', mimeType: 'text/plain' },
    { uri: 'file:///pic.png', name: 'pic' },
  ];
  const CONTENTS: Record<string, Params> = {
    'file:///a.txt': { mimeType: 'text/plain', text: 'hello' },
    'file:///data.json': { mimeType: 'application/json', text: '{ "a": [1, 2] }' },
    'file:///pic.png': { mimeType: 'image/png', blob: 'aGk=' },
    'file:///song.wav': { mimeType: 'audio/wav', blob: 'aGk=' },
    'file:///x.zip': { mimeType: 'application/zip', blob: 'aGk=' },
  };
  const library = (resources: Params[] = RESOURCES): Script => ({
    capabilities: { tools: {}, resources: {} },
    tools: TOOLS,
    answer(method, params) {
      if (method === 'resources/list') return { resources };
      if (method === 'resources/templates/list')
        return { resourceTemplates: [{ uriTemplate: 'db:///{table}', name: 'rows' }] };
      const uri = String(params?.uri);
      return { contents: [{ uri, ...CONTENTS[uri] }] };
    },
  });

  test('is there only where some server has resources', async () => {
    expect((await open({ s: { tools: TOOLS } }).tools()).map(({ name }) => name)).not.toContain('resources');
    const tools = await open({ s: library() }).tools();
    expect(tools.at(-1)).toMatchObject({ name: 'resources', annotations: { readOnlyHint: true } });
  });

  test('a client hears of it when it appears', async () => {
    const { tools, front, told, deps } = open({ s: { tools: TOOLS } });
    await tools();
    const servers = deps.router.servers();
    deps.router.servers = () => servers.map((view) => ({ ...view, resources: RESOURCES }));
    front.changed(['resources']);
    await expect
      .poll(() => told.sort())
      .toEqual(['notifications/resources/list_changed', 'notifications/tools/list_changed']);
    await tools();
    front.changed(['resources']);
    await expect.poll(() => told).toHaveLength(3);
  });

  test('lists what there is, by server, and how to read one', async () => {
    const { text } = open({ s: library(), t: { tools: TOOLS } });
    expect(await text('resources')).toBe(
      [
        's:',
        '  file:///a.txt — a: The first. (text/plain)',
        '  file:///pic.png — pic',
        '  db:///{table} — rows',
        'read one: resources {"server_name":"s","uri":"…"}\n',
      ].join('\n'),
    );
    expect(await text('resources', { server_name: 't' })).toBe('There are no resources.\n');
    expect(await text('resources', { server_name: 'nope' })).toContain('no server is called "nope"');
  });

  test.each<[string, Params]>([
    ['file:///a.txt', { type: 'text', text: 'hello' }],
    ['file:///data.json', { type: 'text', text: '{"a":[1,2]}\n' }],
    ['file:///pic.png', { type: 'image', data: 'aGk=', mimeType: 'image/png' }],
    ['file:///song.wav', { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' }],
    [
      'file:///x.zip',
      {
        type: 'resource',
        resource: { uri: expect.stringMatching(/^proxy:/), mimeType: 'application/zip', blob: 'aGk=' },
      },
    ],
  ])('reads %s', async (uri, expected) => {
    expect((await open({ s: library() }).call('resources', { server_name: 's', uri })).content).toEqual([expected]);
  });

  test('finds the server by the URI where only one has it, by a template, or by the exposed URI', async () => {
    const { call, request, sent } = open({ s: library(), t: { tools: TOOLS } });
    await call('resources', { uri: 'file:///a.txt' });
    await call('resources', { uri: 'db:///users' });
    const { resources } = (await request('resources/list')) as { resources: { uri: string }[] };
    await call('resources', { uri: resources[1]?.uri ?? '' });
    const read = sent.filter(({ method }) => method === 'resources/read');
    expect(read.map(({ params }) => params?.uri)).toEqual(['file:///a.txt', 'db:///users', 'file:///pic.png']);
  });

  test('names the server in "method" too, alone, before a URI, or with something that is none', async () => {
    const { text, call, sent } = open({ s: library(), t: library([{ uri: 'file:///t.txt', name: 't' }]) });
    for (const method of ['t', 't.read_file']) {
      const listed = await text('resources', { method });
      expect(listed).toContain('t:\n  file:///t.txt');
      expect(listed).not.toContain('a.txt');
    }
    expect(await text('resources', { method: 'nope' })).toContain('no server is called "nope"');
    expect(await text('resources', { method: 5 })).toContain('"method" must be a string');
    await call('resources', { method: 't', uri: 'file:///a.txt' });
    await call('resources', { method: 't.file:///a.txt' });
    await call('resources', { method: 's.file:///a.txt', server_name: 't', uri: 'file:///a.txt' });
    const read = sent.filter(({ method }) => method === 'resources/read');
    const expected = { server: 't', method: 'resources/read', params: { uri: 'file:///a.txt' } };
    expect(read).toEqual([expected, expected, expected]);
  });

  test('in the other dialect it is listed with "method", and its list says how to read one so', async () => {
    const { tools, text } = open({ s: library() }, { dialect: 'describe' });
    const string = { type: 'string' };
    expect((await tools()).at(-1)?.inputSchema).toEqual({
      type: 'object',
      properties: { method: string, uri: string },
    });
    expect(await text('resources', { method: 's' })).toContain('read one: resources {"method":"s","uri":"…"}');
  });

  test('one that several servers have is not guessed, one that none has is told with the nearest', async () => {
    const { text } = open({ a: library(), b: library() });
    expect(await text('resources', { uri: 'file:///a.txt' })).toContain(
      'several servers have a resource "file:///a.txt": a, b',
    );
    expect(await text('resources', { uri: 'file:///b.txt' })).toContain('did you mean "file:///a.txt"');
    expect(await text('resources', { uri: 5 })).toContain('"uri" must be a string');
  });

  test('a large one is kept like any other result, and kept results are read by their URI too', async () => {
    const answer: Script['answer'] = (method) =>
      method === 'resources/list'
        ? { resources: RESOURCES }
        : { contents: [{ uri: 'file:///a.txt', text: 'x'.repeat(500) }] };
    const { text } = open({ s: { ...library(), answer } }, {}, { resultChars: 100 });
    const head = await text('resources', { uri: 'file:///a.txt' });
    const id = /as "(\w+)"/.exec(head)?.[1];
    expect(await text('resources', { uri: `mcpx://result/${id}` })).toContain('characters 0 to 100 of 500');
  });
});
