/** Calls that heal themselves: names written in other ways, notes on odd keys, and examples from what worked. */
import { describe, expect, test } from 'vitest';
import type { ToolResult } from '../../../src/router/router.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const READ = {
  name: 'read_file',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      lines: { type: 'array', items: { type: 'number' } },
      api_key: { type: 'string' },
    },
    required: ['path'],
  },
};
const FILES: Script = { tools: [READ, { name: 'list' }] };

function open(scripts: Record<string, Script>) {
  const world = createWorld(scripts);
  const front = openFront('compact', world.deps, { key: 'k', notify: () => undefined });
  const call = async (name: string, args: Params) =>
    (await front.request(
      { method: 'tools/call', params: { name, arguments: args } },
      { signal: new AbortController().signal },
    )) as ToolResult & { content: { text: string }[] };
  const exec = async (args: Params) => (await call('exec', args)).content.map(({ text }) => text).join('');
  const inspect = async (args: Params) => (await call('inspect', args)).content.map(({ text }) => text).join('');
  return { ...world, call, exec, inspect };
}

describe('which tool is meant', () => {
  const args = { path: '/a' };
  test.each<[Params]>([
    [{ tool_name: 'files__read_file' }],
    [{ method: 'files__read_file' }],
    [{ tool_name: 'files.read_file' }],
    [{ tool_name: 'files::read_file' }],
    [{ tool_name: 'files/read_file' }],
    [{ tool_name: 'files-read_file' }],
    [{ tool_name: 'files_read_file' }],
    [{ server_name: 'files', tool_name: 'files__read_file' }],
    [{ server_name: 'files', tool_name: 'files.read_file' }],
    [{ tool_name: 'read_file' }],
    [{ method: 'read_file' }],
    [{ method: 'files.read_file' }],
  ])('%j', async (target) => {
    const { exec, inspect, sent } = open({ files: FILES, other: { tools: [{ name: 'x' }] } });
    expect(await exec({ ...target, arguments: args })).toBe('ok');
    expect(sent[0]).toMatchObject({ server: 'files', params: { name: 'read_file' } });
    expect(await inspect(target)).toContain('read_file(');
  });

  const SPELT: Params[] = [
    { server_name: 'files', tool: 'read_file', arguments: args },
    { server_name: 'files', tool: 'files.read_file', arguments: args },
    { server: 'files', tool: 'read_file', arguments: args },
    { server: 'Files', tool_name: 'readFile', arguments: args },
    { name: 'files.read_file', arguments: args },
    { name: 'read_file', server: 'files', args },
    { tool: 'files.read_file', args },
    { tool: 'files.read_file', params: JSON.stringify(args) },
    { tool: 'files.read_file', arguments: { arguments: args } },
    { tool: 'files.read_file', arguments: JSON.stringify({ input: args }) },
    { tool: 'files.read_file', path: '/a' },
  ];
  test.each(SPELT)('%j', async (call) => {
    // The name of the tool alone is ambiguous.
    const { exec, sent } = open({ files: FILES, other: FILES });
    for (const given of [call, { calls: [call] }]) {
      await exec(given);
      expect(sent.at(-1)).toMatchObject({ server: 'files', params: { name: 'read_file', arguments: args } });
    }
  });

  test('a batch in other spellings', async () => {
    const { exec, sent } = open({ files: FILES });
    await exec({ tool: 'files.read_file', arguments: args, calls: [] });
    await exec({ calls: { tool: 'files.read_file', arguments: args } });
    await exec({ calls: [{ tool: 'files.read_file', for_each: ['/a'], arguments: { path: '{{item}}' } }] });
    await exec({ calls: [{ tool: 'files.none' }, { tool: 'files.read_file', arguments: args }], on_error: 'continue' });
    expect(sent.map(({ params }) => params?.arguments)).toEqual([args, args, args, args]);
  });

  test('a parameter of the tool that is called like a spelling keeps its meaning', async () => {
    const own = { type: 'object', properties: { server: {}, name: {}, args: {}, reason: {} } };
    const { exec, sent } = open({ ops: { tools: [{ name: 'restart', inputSchema: own }] } });
    await exec({ tool: 'ops.restart', server: 'web-1', name: 'x' });
    await exec({ tool: 'restart', server: 'web-1', reason: 'slow' });
    await exec({ tool: 'ops.restart', arguments: { args: { server: 'a' } } });
    expect(sent.map(({ params }) => params?.arguments)).toEqual([
      { server: 'web-1', name: 'x' },
      { server: 'web-1', reason: 'slow' },
      { args: { server: 'a' } },
    ]);
  });

  test('inspect takes the name of a server in any case, and a list of one', async () => {
    const { inspect } = open({ 'google-calendar': FILES, other: FILES });
    const whole = await inspect({ server_name: 'google-calendar' });
    expect(whole).toContain('read_file(');
    for (const given of [{ tool: 'GoogleCalendar' }, { servers: ['google-calendar'] }, { tool: ['google_calendar'] }])
      expect(await inspect(given)).toBe(whole);
    expect(await inspect({ queries: ['read file'], server: 'google-calendar' })).toContain('read_file');
  });

  test('a server in place of a tool is answered with its tools', async () => {
    const { exec } = open({ files: FILES });
    expect(await exec({ tool: 'files' })).toBe(
      'error: no server has a tool "files"\n' +
        'hint: "files" is a server: name one of its tools, such as "files.read_file" or "files.list"\n',
    );
  });

  test('a tool whose own name has dots is found by it', async () => {
    const { exec, sent } = open({ a: { tools: [{ name: 'b.c' }] } });
    expect(await exec({ method: 'b.c' })).toBe('ok');
    expect(await exec({ method: 'a.b.c' })).toBe('ok');
    expect(sent.map(({ params }) => params?.name)).toEqual(['b.c', 'b.c']);
  });

  test('a name that may mean two tools is not guessed', async () => {
    const { exec, sent } = open({ a: { tools: [{ name: 'b_c' }] }, a_b: { tools: [{ name: 'c' }] } });
    expect(await exec({ tool_name: 'a_b_c' })).toBe(
      'error: "a_b_c" may mean several tools\nhint: name it with its server: "a.b_c" or "a_b.c"\n',
    );
    expect(sent).toEqual([]);
  });

  test('a tool that only another server has is not offered as the same', async () => {
    const { exec, inspect, sent } = open({ files: FILES, other: { tools: [{ name: 'x' }] } });
    await inspect({});
    expect(await exec({ server_name: 'other', tool_name: 'read_file' })).toContain(
      'server "other" has no tool "read_file"\nhint: "files" has a tool of that name, for its own service',
    );
    expect(sent).toEqual([]);
  });

  test('an unknown server is told with the nearest name, however it was written', async () => {
    expect(await open({ files: FILES }).exec({ method: 'fils.read_file' })).toContain('did you mean "files"');
  });
});

describe('what else helps', () => {
  const call = (args: Params) => ({ server_name: 'files', tool_name: 'read_file', arguments: args });

  test('an unknown key is passed on and noted with its nearest name', async () => {
    const { exec, sent } = open({ files: FILES });
    expect(await exec(call({ path: '/a', line: [1] }))).toBe(
      'ok\nnote: unknown property "line" was passed on; did you mean "lines"?\n',
    );
    expect(sent[0]?.params?.arguments).toEqual({ path: '/a', line: [1] });
  });

  test.each<[Params]>([
    [{ path: '/a', lines: [1] }],
    [{ path: '/a', lines: [1], arguments: {} }],
    [{ path: '/a', lines: [1], arguments: null }],
    [{ path: '/a', lines: [1], arguments: '' }],
  ])('arguments may stand beside the names of server and tool: %j', async (args) => {
    const { exec, sent } = open({ files: FILES });
    expect(await exec({ server_name: 'files', tool_name: 'read_file', ...args })).toBe('ok');
    expect(sent[0]?.params?.arguments).toEqual({ path: '/a', lines: [1] });
  });

  test.each<[unknown, Params]>([
    [{ path: '/a' }, { lines: [1] }],
    ['{"path":"/a"}', { lines: [1] }],
    [
      { path: '/a', lines: [1] },
      { lines: [1], select: '', each: null },
    ],
    [
      { path: '/a', lines: [1] },
      { server: 'files', name: 'read_file', note: null },
    ],
  ])('a parameter of the tool beside %j is taken: %j', async (args, beside) => {
    const { exec, sent } = open({ files: FILES });
    for (const more of [{}, { calls: null }]) {
      expect(await exec({ tool: 'files.read_file', arguments: args, ...beside, ...more })).toBe('ok');
    }
    expect(await exec({ calls: [{ tool: 'files.read_file', arguments: args, ...beside }] })).toContain('ok');
    for (const { params } of sent) expect(params?.arguments).toMatchObject({ path: '/a', lines: [1] });
    expect(sent).toHaveLength(3);
  });

  test.each<[Params, string]>([
    [{ note: 'x' }, 'error: not run: there is no argument "note"'],
    [{ selct: 'a' }, 'error: not run: there is no argument "selct"; did you mean "select"?'],
    [{ path: '/b' }, 'error: not run: "path" has one value in "arguments" and another one beside it'],
  ])('any other value beside arguments is refused: %j', async (beside, expected) => {
    const { exec, sent } = open({ files: FILES });
    expect(await exec({ ...call({ path: '/a' }), ...beside })).toContain(expected);
    expect(await exec({ calls: [{ ...call({ path: '/a' }), ...beside }] })).toContain(expected);
    expect(sent).toEqual([]);
  });

  test.each<[Params, string]>([
    [{ select: 'a' }, 'not run: "select" beside "calls" applies to none of them'],
    [{ show: false }, 'not run: "show" beside "calls" applies to none of them'],
    [{ arguments: { path: '/a' } }, 'not run: "arguments" beside "calls" applies to none of them'],
    [{ paralel: true }, 'not run: there is no argument "paralel"; did you mean "parallel"?'],
  ])('a value beside calls is refused if it applies to none of them: %j', async (beside, expected) => {
    const { exec, sent } = open({ files: FILES });
    expect(await exec({ calls: [call({ path: '/a' })], ...beside })).toContain(expected);
    expect(sent).toEqual([]);
  });

  test('arguments of exec are understood in other cases', async () => {
    const { exec, sent } = open({ files: FILES });
    expect(await exec({ serverName: 'files', toolName: 'read_file', arguments: { path: '/a' }, Select: '[0]' })).toBe(
      'ok\n',
    );
    expect(sent).toHaveLength(1);
  });

  test.each([{}, { arguments: {} }])('what tells exec how to run is no argument of the tool: %j', async (args) => {
    const { exec, sent } = open({ files: { tools: [{ name: 'now' }] } });
    expect(await exec({ tool: 'files.now', ...args, parallel: false, onError: 'continue' })).toBe('ok');
    expect(sent[0]?.params?.arguments ?? {}).toEqual({});
  });

  test('a single value becomes a list where a list is wanted, a text a number', async () => {
    const { exec, sent } = open({ files: FILES });
    await exec(call({ path: '/a', lines: '5' }));
    expect(sent[0]?.params?.arguments).toEqual({ path: '/a', lines: [5] });
  });

  test('after a call that worked, the example is that call, without its secrets', async () => {
    const { exec } = open({ files: FILES });
    await exec(call({ path: '/real/one.txt', api_key: 'hunter2', lines: [3] }));
    const wrong = await exec(call({ path: 5 }));
    expect(wrong).toContain(
      'example: exec {"tool":"files.read_file","arguments":{"path":"/real/one.txt","api_key":"<api_key>","lines":[3]}}',
    );
    expect(wrong).not.toContain('hunter2');
  });

  test('credentials are recognised by their looks too', async () => {
    const { exec } = open({ files: FILES });
    await exec(call({ path: `https://user:pa55word@host/?token=abcdef&x=ghp_${'a'.repeat(36)}` }));
    const wrong = await exec(call({}));
    expect(wrong).not.toMatch(/pa55word|abcdef|ghp_a/);
  });

  test('one client never sees the arguments of another', async () => {
    const one = createWorld({ files: FILES });
    await one.router.call({
      server: 'files',
      tool: 'read_file',
      arguments: { path: '/mine' },
      caller: { key: 'a', capabilities: {} },
    });
    expect(one.router.experience.lastArguments('files', 'read_file')).toEqual({ path: '/mine' });
    expect(createWorld({ files: FILES }).router.experience.lastArguments('files', 'read_file')).toBeUndefined();
  });

  test('long arguments are not repeated; the example is made from the schema', async () => {
    const { exec } = open({ files: FILES });
    await exec(call({ path: 'x'.repeat(1000) }));
    expect(await exec(call({}))).toContain('"arguments":{"path":"/path/to/file.txt"}');
  });

  test('inspect shows an example once a call of the tool has failed', async () => {
    const { exec, inspect } = open({ files: FILES });
    const target = { server_name: 'files', tool_name: 'read_file' };
    expect(await inspect(target)).not.toContain('example:');
    await exec(call({}));
    expect(await inspect(target)).toContain('example: exec {"tool":"files.read_file"');
  });

  test('so does a failure of the tool itself', async () => {
    const { exec, inspect } = open({ files: { ...FILES, answer: () => ({ isError: true, content: [] }) } });
    await exec(call({ path: '/a' }));
    expect(await inspect({ server_name: 'files', tool_name: 'read_file' })).toContain('example:');
  });
});
