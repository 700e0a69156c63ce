/** Refusals: they say what is wrong in few tokens, and a name with one meaning is taken. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { ToolResult } from '../../../src/router/router.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

function openCompact(scripts: Record<string, Script>) {
  const world = createWorld(scripts, { settings: DEFAULTS });
  const front = openFront('compact', world.deps, { key: 'k', notify: () => {} });
  const text = async (name: string, args: unknown) => {
    const request = { method: 'tools/call', params: { name, arguments: args } };
    const { content = [] } = (await front.request(request, { signal: new AbortController().signal })) as ToolResult;
    return (content as { text?: string }[]).map((block) => block.text ?? '').join('');
  };
  return { ...world, text };
}

const string = (description?: string) => ({ type: 'string', ...(description && { description }) });
const object = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
});
const tool = (name: string, inputSchema: unknown = object({})) => ({ name, inputSchema });
const tokens = (text: string) => encode(text).length;

describe('a refused call', () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `parameter_${index}`,
      string(`What parameter ${index} means, at some length`),
    ]),
  );
  const { text } = openCompact({ big: { tools: [tool('store', object(many, ['parameter_7', 'parameter_8']))] } });
  const exec = (args: unknown) => text('exec', { server_name: 'big', tool_name: 'store', arguments: args });

  test('costs less than 150 tokens for a tool with 30 parameters', async () => {
    const refusal = await exec({ parameter_7: 3, parameter_9: 'x' });
    expect(refusal).toContain('parameter_8: missing');
    expect(refusal).toContain('parameter_8: string // What parameter 8 means');
    expect(refusal).not.toContain('parameter 12 means');
    expect(refusal).toMatch(/other parameters: parameter_0\?, .* and \d+ more$/m);
    expect(tokens(refusal)).toBeLessThan(150);
    expect(tokens(await exec({}))).toBeLessThan(150);
  });

  test('costs less than 150 tokens when 30 required parameters are missing or wrong', async () => {
    const names = Object.keys(many);
    const { text } = openCompact({ big: { tools: [tool('store', object(many, names))] } });
    const exec = (args: unknown) => text('exec', { server_name: 'big', tool_name: 'store', arguments: args });
    const missing = await exec({});
    expect(missing).toMatch(/^ {2}missing: parameter_0, parameter_1, .* and \d+ more$/m);
    expect(missing).toContain('more: inspect {"tool":"big.store"}');
    const wrong = await exec(Object.fromEntries(names.map((name) => [name, ['a text of some length', name]])));
    expect(wrong).toContain('parameter_0: must be string, got array');
    expect(wrong).toMatch(/and \d+ more problems/);
    const both = await exec(Object.fromEntries(names.slice(0, 15).map((name) => [name, 5.25])));
    expect(both).toContain('missing: parameter_15, ');
    for (const refusal of [missing, wrong, both]) expect(tokens(refusal), refusal).toBeLessThan(150);
  });

  test('tells the same problem of many list items once', async () => {
    const list = object({ items: { type: 'array', items: object({ id: string('Number of the item') }, ['id']) } }, [
      'items',
    ]);
    const { text } = openCompact({ s: { tools: [tool('add', list)] } });
    const items = Array.from({ length: 9 }, () => ({}));
    const refusal = await text('exec', { server_name: 's', tool_name: 'add', arguments: { items } });
    expect(refusal.split('\n').slice(1, 4)).toEqual([
      '  items[0, 1, 2 … 8].id: missing',
      '',
      'items[].id: string // Number of the item',
    ]);
    expect(tokens(refusal)).toBeLessThan(100);
  });

  test('has no example of another alternative, and no parameter twice', async () => {
    const kind = (name: string, key: string) => object({ kind: { const: name }, [key]: string() }, ['kind', key]);
    const schema = object({ via: { oneOf: [kind('mail', 'address'), kind('call', 'number')] }, at: string() }, ['via']);
    const { text } = openCompact({ s: { tools: [tool('tell', schema)] } });
    const refused = (via: unknown) => text('exec', { tool: 's.tell', arguments: { via } });
    expect(await refused({ kind: 'call' })).toBe(
      'error: the arguments do not fit "s.tell"\n  via.number: missing\n\nvia.number: string\n' +
        'other parameters: at?\nmore: inspect {"tool":"s.tell"}\n',
    );
    expect(await refused({ kind: 'mail' })).toContain('example: exec {"tool":"s.tell"');
  });

  test('tells the problems of one alternative', async () => {
    const kind = (name: string, key: string) => object({ kind: { const: name }, [key]: string() }, ['kind', key]);
    const $defs = { Mail: kind('mail', 'address'), Call: kind('call', 'number'), Note: kind('note', 'text') };
    const oneOf = Object.keys($defs).map((name) => ({ $ref: `#/$defs/${name}` }));
    for (const via of [{ oneOf }, { oneOf: Object.values($defs) }, { anyOf: [...oneOf, { type: 'null' }] }]) {
      const schema = { ...object({ via }, ['via']), $defs };
      const { text } = openCompact({ s: { tools: [tool('tell', schema)] } });
      const refusal = await text('exec', { server_name: 's', tool_name: 'tell', arguments: { via: { kind: 'call' } } });
      expect(refusal.split('\n\n')[0]).toBe('error: the arguments do not fit "s.tell"\n  via.number: missing');
    }
  });
});

describe('a name', () => {
  const github = { tools: [tool('create_issue'), tool('list_branches'), tool('create_branch')] };
  const { text, sent } = openCompact({
    github,
    gitlab: { tools: [tool('delete_branch')] },
    neon: { tools: [tool('delete_branch')] },
    'google-calendar': { tools: [tool('list-events')] },
  });

  test.each([
    [{ server_name: 'Github', tool_name: 'createIssue' }, 'github.create_issue'],
    [{ method: 'google_calendar.list_events' }, 'google-calendar.list-events'],
    [{ tool_name: 'CreateIssue' }, 'github.create_issue'],
    [{ tool_name: 'GitHub__create_issue' }, 'github.create_issue'],
  ])('%j has one meaning', async (args, expected) => {
    sent.length = 0;
    await text('exec', args);
    expect(sent.map(({ server, params }) => `${server}.${params?.name}`)).toEqual([expected]);
  });

  test('with two meanings is not guessed', async () => {
    const two = openCompact({ s: { tools: [tool('list_all'), tool('listAll')] } });
    expect(await two.text('exec', { server_name: 's', tool_name: 'ListAll' })).toContain('has no tool "ListAll"');
    expect(two.sent).toEqual([]);
  });

  test('of another service is not offered as the same', async () => {
    expect(await text('exec', { server_name: 'github', tool_name: 'delete_branch' })).toBe(
      'error: server "github" has no tool "delete_branch"; did you mean "create_branch"?\n' +
        'hint: "gitlab", "neon" have tools of that name, for their own services\n',
    );
  });

  test('of an unknown server lists the nearest three, not all', async () => {
    const servers = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`team-${index}-files`, github]));
    const { text } = openCompact({ ...servers, slack: github });
    expect(await text('inspect', { server_name: 'slak' })).toBe(
      'error: no server is called "slak"; did you mean "slack"?\n',
    );
    const far = await text('inspect', { server_name: 'xyzzy' });
    expect(far).toMatch(/\nhint: the nearest of 41 are: [\w-]+, [\w-]+, [\w-]+\n$/);
    expect(await text('exec', { tool: 'xyzzy' })).toMatch(/\nhint: the nearest of 41 servers are: [\w, -]+\n$/);
    expect(tokens(far)).toBeLessThan(40);
  });
});

describe('an argument of inspect', () => {
  const { text } = openCompact({ files: { tools: [tool('read_file')] }, slack: { tools: [tool('post')] } });

  test.each([
    [{ server: 'slack' }, 'slack (1 tool)'],
    [{ serverName: 'slack', toolName: 'post' }, 'post()'],
    [{ tool: 'slack.post' }, 'post()'],
    [{ search: 'read a file' }, 'files.read_file'],
    [{ server: null, query: 'read a file' }, 'files.read_file'],
  ])('%j is understood', async (args, expected) => {
    expect(await text('inspect', args)).toContain(expected);
  });

  test('that is unknown is refused, not ignored', async () => {
    expect(await text('inspect', { servr_name: 'slack' })).toContain(
      '"servr_name" is not an argument of inspect; did you mean "server_name"?',
    );
    expect(await text('inspect', { provider: 'slack' })).toContain('hint: the arguments are: tool, server_name');
  });
});
