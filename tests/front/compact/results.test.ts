/** Large results in the compact front: a head and a handle, pages, parts, places, and what is never lost. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../../src/config/config.ts';
import type { ToolResult } from '../../../src/router/router.ts';
import type { Params } from '../../../src/wire/message.ts';
import { Unparsed } from '../../../src/wire/unparsed-result.ts';
import { createWorld, openFront } from '../../world.ts';

interface Change {
  front?: Partial<Settings['front']>;
  limits?: Partial<Settings['limits']>;
}

function open(result: unknown, { front: changed, limits }: Change = {}) {
  const settings = {
    ...DEFAULTS,
    front: { ...DEFAULTS.front, ...changed },
    limits: { ...DEFAULTS.limits, resultChars: 1000, ...limits },
  };
  const world = createWorld({ s: { tools: [{ name: 't' }], answer: () => result } }, { settings });
  const told: string[] = [];
  const front = openFront('compact', world.deps, { key: 'k', notify: (method) => told.push(method) });
  const request = (method: string, params: Params = {}) =>
    front.request({ method, params }, { signal: new AbortController().signal }) as Promise<Params>;
  const call = (name: string, args: Params) =>
    request('tools/call', { name, arguments: args }) as Promise<
      Omit<ToolResult, 'content'> & { content: { text: string }[] }
    >;
  const exec = (more: Params = {}) => call('exec', { server_name: 's', tool_name: 't', ...more });
  const inspect = (args: Params) => call('inspect', args);
  return { ...world, front, told, request, exec, inspect };
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const idOf = (result: { content: unknown[] }) =>
  /kept for 30 minutes as "(\w+)"/.exec(JSON.stringify(result.content).replaceAll('\\"', '"'))?.[1] ?? '';
const ROWS = Array.from({ length: 200 }, (_, id) => ({ id, name: `name ${id}`, tags: ['x', `y${id}`] }));

describe('a result that is too large', () => {
  test('becomes its head, its size, its type and the calls that read on, which work', async () => {
    const { exec, inspect } = open({ structuredContent: { rows: ROWS, next: null } });
    const result = await exec();
    expect(result.structuredContent).toBeUndefined();
    const [head, about] = result.content as [{ text: string }, { text: string }];
    expect(head.text).toHaveLength(1000);
    expect(about.text).toContain('type: { rows: { id: number; name: string; tags: string[] }[]; next: null }');
    const calls = [...about.text.matchAll(/inspect (\{.*\})/g)].map(([, json = '']) => JSON.parse(json) as Params);
    expect(calls).toHaveLength(3);
    for (const args of calls) {
      expect(args.result).toBe(idOf(result));
      expect((await inspect(args)).isError).toBeUndefined();
    }
    expect((await inspect(calls[2] ?? {})).content[0]?.text).toBe('result: [0,1,2,3,4]\n');
  });

  test('of text has no type, and its lines are its parts', async () => {
    const { exec, inspect } = open(text('word\n'.repeat(1000)));
    const result = await exec();
    expect(result.content[1]?.text).not.toContain('type:');
    const id = idOf(result);
    expect((await inspect({ result: id, select: 'length(@)' })).content[0]?.text).toBe('result: 1000\n');
    expect((await inspect({ result: id, select: '[-2:]' })).content[0]?.text).toBe('word\nword\n');
    expect((await inspect({ result: id, select: 'lines(@)[-2:]' })).content[0]?.text).toBe('word\nword\n');
    expect((await inspect({ result: id, select: 'a' })).content[1]?.text).toContain('a list of 1000 lines');
  });

  test.each<[string, string]>([
    ['lines(@)[-2:]', 'two ERROR\nthree "3"\n'],
    ["split(lines(@)[1], ' ')", 'two\nERROR\n'],
    ["split(@, 'ERROR')", 'result: ["one\\ntwo ","\\nthree \\"3\\""]\n'],
    ['[length(@)]', 'result: [3]\n'],
  ])('strings selected from a text are lines, unless one has several: %s', async (select, expected) => {
    const { exec } = open(text('one\ntwo ERROR\nthree "3"'));
    expect((await exec({ select })).content[0]?.text).toBe(expected);
  });

  test('pages reassemble it exactly, whatever it holds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', minLength: 40, maxLength: 200 }),
        fc.integer({ min: 1, max: 60 }),
        async (value, limit) => {
          const { exec, inspect } = open(text(`#${value}`), { limits: { resultChars: 20 } });
          const result = await exec();
          const id = idOf(result);
          let whole = '';
          for (let args: Params | undefined = { result: id, limit }; args !== undefined; ) {
            const { content } = await inspect(args);
            // The note is the first of both where the page could be mistaken for JSON.
            const isNoted = /^\[characters \d+ to /.test(content[0]?.text ?? '');
            const [page, note]: { text: string }[] = isNoted ? content.toReversed() : content;
            whole += page?.text;
            const next: string | undefined = /read on: inspect (\{.*\})/.exec(note?.text ?? '')?.[1];
            args = next === undefined ? undefined : (JSON.parse(next) as Params);
          }
          expect(whole).toBe(`#${value}`);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('is read on from its head without a gap', async () => {
    const value = Array.from({ length: 600 }, (_, i) => `line ${i}`).join('\n');
    const { exec, inspect } = open(text(value), { limits: { resultChars: 3000 } });
    const result = await exec();
    const [head, about] = result.content as [{ text: string }, { text: string }];
    const next = JSON.parse(/read on: inspect (\{.*\})/.exec(about.text)?.[1] ?? '') as Params;
    const page = await inspect({ ...next, limit: 3000 });
    expect(head.text + page.content[0]?.text).toBe(value.slice(0, 5000));
  });

  test('is searched for a text, with offsets to read on from', async () => {
    const { exec, inspect } = open({ structuredContent: { rows: ROWS } });
    const result = await exec();
    const found = await inspect({ result: idOf(result), query: 'NAME 150' });
    const [, offset, line] = /^(\d+): (.*)$/m.exec(found.content[0]?.text ?? '') ?? [];
    expect(line).toContain('name 150');
    expect((await inspect({ result: idOf(result), offset: Number(offset), limit: 40 })).content[0]?.text).toBe(
      line?.slice(0, 40),
    );
    expect((await inspect({ result: idOf(result), query: 'nowhere' })).content[0]?.text).toContain('does not occur');
  });

  test('a part of it that is too large is kept in turn', async () => {
    const { exec, inspect } = open({ structuredContent: { rows: ROWS } });
    const part = await inspect({ result: idOf(await exec()), select: 'rows[*].{id: id, name: name}' });
    const id = idOf(part);
    expect((await inspect({ result: id, select: '[7].name' })).content[0]?.text).toBe('name 7\n');
  });

  test('images, audio, links and isError stay, and so do unknown fields', async () => {
    const others = [
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'x://y', name: 'y' },
      { type: 'of the future', payload: [1] },
    ];
    const content = [
      others[0],
      { type: 'text', text: 'a'.repeat(2000) },
      others[1],
      { type: 'text', text: 'b' },
      others[2],
    ];
    const { exec, inspect } = open({ content, isError: true, _meta: { a: 1 }, extra: 5 });
    const result = await exec();
    expect(result).toMatchObject({ isError: true, _meta: { a: 1 }, extra: 5 });
    expect(result.content.map((block) => (block as { type?: string }).type)).toEqual([
      'image',
      'text',
      'text',
      'resource_link',
      'of the future',
      'text',
    ]);
    expect((await inspect({ result: idOf(result), offset: 1999 })).content[0]?.text).toBe('a\nb');
  });

  test.each([
    ['auto', false],
    ['never', false],
    ['always', true],
  ] as const)('front.structured %s', async (structured, there) => {
    const { exec } = open({ structuredContent: { rows: ROWS } }, { front: { structured } });
    expect((await exec()).structuredContent !== undefined).toBe(there);
  });

  test('a short text beside a large structure keeps its place', async () => {
    const { exec, inspect } = open({
      content: [{ type: 'text', text: '200 rows' }],
      structuredContent: { rows: ROWS },
    });
    const result = await exec();
    expect(result.content[0]?.text).toBe('200 rows');
    expect(result.structuredContent).toBeUndefined();
    expect((await inspect({ result: idOf(result), select: 'rows[3].id' })).content[0]?.text).toBe('result: 3\n');
  });

  test('says at once that the rest is not kept, and why, where there is no room for it', async () => {
    const { exec, request } = open(text('x'.repeat(5000)), { limits: { resultStore: 100 } });
    const [head, about] = (await exec()).content;
    expect(head?.text).toBe('x'.repeat(1000));
    expect(about?.text).toContain('[1000 of 5000 characters; the rest is not kept: at most 25 bytes are kept');
    expect(about?.text).toContain('narrower arguments');
    expect(await request('resources/list')).toEqual({ resources: [] });
  });

  test('with too many values to be parsed is text: its pages are exact, and a selection says why there is none', async () => {
    const many = `[${'[],'.repeat(1_000_000)}[]]`;
    for (const answer of [text(many), new Unparsed(`{"content":[],"structuredContent":${many}}`)]) {
      const { exec, inspect } = open(answer);
      const result = await exec();
      expect(result.content[0]?.text).toBe(many.slice(0, 1000));
      const id = idOf(result);
      expect((await inspect({ result: id, offset: 2_999_000, limit: 500 })).content[0]?.text).toBe(
        many.slice(2_999_000, 2_999_500),
      );
      const none = await inspect({ result: id, select: '[0]' });
      expect(none.content[0]?.text).toContain(
        'holds too many values to be read at once, so that there are no parts to select',
      );
      const selected = await exec({ select: '[0]' });
      expect(selected.isError).toBe(true);
      expect(selected.content[0]?.text).toContain(
        'do not run it again for this; the result holds too many values to be read at once',
      );
    }
  });

  test('nested too deeply is text, or an error in words', async () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const asText = await open(text(deep)).exec();
    expect(asText.content[0]?.text).toBe('['.repeat(1000));
    const structured = await open({ structuredContent: { v: JSON.parse(deep) } }).exec();
    expect(structured.isError).toBe(true);
    expect(structured.content[0]?.text).toContain('nested too deeply');
  });

  test('of a hundred thousand blocks is one text', async () => {
    const { exec } = open({ content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x' })) });
    const { content } = await exec();
    expect(content).toHaveLength(2);
    expect(content[1]?.text).toContain('a part, by JMESPath');
  });

  test('is listed and read as a resource until the session ends, and the client is told', async () => {
    const { exec, request, told, front, inspect } = open({ structuredContent: { rows: ROWS } });
    const id = idOf(await exec());
    const uri = `mcpx://result/${id}`;
    await expect.poll(() => told).toEqual(['notifications/resources/list_changed']);
    const { resources } = (await request('resources/list')) as { resources: Params[] };
    expect(resources).toEqual([expect.objectContaining({ uri, title: 'result of s.t', mimeType: 'application/json' })]);
    const { contents } = (await request('resources/read', { uri })) as { contents: { text: string }[] };
    expect(JSON.parse(contents[0]?.text ?? '')).toEqual({ rows: ROWS });
    front.close();
    await expect(request('resources/read', { uri })).rejects.toMatchObject({ code: -32602 });
    expect((await inspect({ result: id })).isError).toBe(true);
  });

  test.each<[Params, string]>([
    [{ result: 'nope' }, 'no result is kept as "nope"'],
    [{ result: 5 }, 'no result is kept as 5'],
    [{ result: '__proto__' }, 'no result is kept'],
  ])('%j is an instructive error', async (args, expected) => {
    const { inspect } = open(text('x'));
    const result = await inspect(args);
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0]?.text).toContain(expected);
  });

  test.each<[Params, string]>([
    [{ offset: -1 }, '"offset" must be a whole number of at least 0'],
    [{ limit: 0 }, '"limit" must be a whole number of at least 1'],
    [{ query: '' }, '"query" must be a text'],
    [{ select: 'a[' }, '"select" cannot be used'],
    [{ offset: '4999' }, 'this is the end'],
    [{ offset: 5000 }, 'there is nothing after character 5000'],
    [{ offset: '10', limit: '5' }, 'characters 10 to 15 of 5000'],
  ])('reading it with %j', async (args, expected) => {
    const { exec, inspect } = open(text('x'.repeat(5000)));
    const result = await inspect({ result: idOf(await exec()), ...args });
    expect(result.content.map((block) => block.text).join('\n')).toContain(expected);
  });
});

describe('select', () => {
  test('sends the part and nothing else', async () => {
    const { exec } = open({
      structuredContent: { rows: ROWS },
      content: [{ type: 'text', text: JSON.stringify({ rows: ROWS }) }],
    });
    expect(await exec({ select: 'rows[?id == `5`].name' })).toEqual({
      content: [{ type: 'text', text: 'result: ["name 5"]\n' }],
      structuredContent: { value: ['name 5'] },
    });
  });

  test('reads text that is JSON, and keeps images', async () => {
    const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' };
    const { exec } = open({ content: [{ type: 'text', text: '{"a": {"b": 12345678901234567890}}' }, image] });
    const { content } = await exec({ select: 'a.b' });
    expect(content).toEqual([{ type: 'text', text: 'result: 12345678901234567890\n' }, image]);
  });

  test('the part is structured too, in an object; with front.structured "never" it is not', async () => {
    const { exec } = open({ structuredContent: { a: { b: 1 } } });
    expect(await exec({ select: 'a' })).toMatchObject({ structuredContent: { b: 1 } });
    expect(await exec({ select: 'a.b' })).toMatchObject({ structuredContent: { value: 1 } });
    const never = open({ structuredContent: { a: { b: 1 } } }, { front: { structured: 'never' } });
    expect(await never.exec({ select: 'a' })).not.toHaveProperty('structuredContent');
  });

  test('one that matches nothing says so, with the type of what there is', async () => {
    const { exec } = open({ structuredContent: { rows: [{ id: 1 }] } });
    const { content } = await exec({ select: 'items' });
    expect(content.map((block) => block.text).join('\n')).toContain(
      'the type of the whole: { rows: { id: number }[] }]',
    );
  });

  test('one that matches nothing need not run the tool again: its result is kept', async () => {
    const { exec, inspect, sent } = open({ structuredContent: { rows: [{ id: 1 }] } });
    const said = (await exec({ select: 'items' })).content.map((block) => block.text).join('\n');
    expect(said).toContain('the tool ran, do not run it again');
    const [, json = ''] = /inspect (\{.*\})/.exec(said) ?? [];
    expect((await inspect(JSON.parse(json))).content).toEqual([{ type: 'text', text: 'result: [1]\n' }]);
    const again = await inspect({ ...JSON.parse(json), select: 'nothing' });
    expect(again.content.map((block) => block.text)).toEqual([
      'result: null\n',
      expect.stringContaining('the type of the whole: { rows: { id: number }[] }]'),
    ]);
    expect(sent).toHaveLength(1);
  });

  test('finds what is in a text that a server wrapped as it is, and the text itself', async () => {
    const wrapped = JSON.stringify({ rows: ROWS.slice(0, 3) });
    const { exec } = open({ ...text(wrapped), structuredContent: { content: wrapped } });
    expect((await exec({ select: 'rows[1].name' })).content[0]?.text).toBe('name 1\n');
    expect((await exec({ select: 'content' })).content[0]?.text).toBe(`${wrapped}\n`);
  });

  test('a large text that a server wrapped and that is no JSON stays text', async () => {
    const words = 'word '.repeat(1000);
    const { exec, request } = open({ ...text(words), structuredContent: { content: words } });
    const about = (await exec()).content.map((block) => block.text).join('\n');
    expect(about).not.toContain('type:');
    const { resources } = (await request('resources/list')) as { resources: Params[] };
    expect(resources.at(-1)).toMatchObject({ mimeType: 'text/plain', size: 5000 });
  });

  test('a large text that a server wrapped is shown with the type of what is in it', async () => {
    const wrapped = JSON.stringify({ rows: ROWS });
    const { exec, inspect } = open({ ...text(wrapped), structuredContent: { content: wrapped } });
    const about = (await exec()).content.map((block) => block.text).join('\n');
    expect(about).toContain('type: { rows: { id: number; name: string; tags: string[] }[] }');
    const calls = [...about.matchAll(/inspect (\{.*\})/g)].map(([, json = '']) => JSON.parse(json) as Params);
    expect((await inspect(calls[2] ?? {})).content[0]?.text).toBe('result: [0,1,2,3,4]\n');
  });

  test('one that is malformed stops the call before it is made', async () => {
    const { exec, sent } = open({ structuredContent: {} });
    const result = await exec({ select: 'rows[' });
    expect(result.content[0]?.text).toMatch(/"select" cannot be used: .*; the tool was not run/);
    expect(sent).toEqual([]);
  });

  test('one that fails says that the tool ran, and gives the result', async () => {
    const { exec, sent } = open({ structuredContent: { rows: ROWS.slice(0, 2) } });
    const result = await exec({ select: 'sum(rows)' });
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toContain('the tool ran, do not run it again');
    expect(result.content[1]?.text).toContain('name 1');
    expect(sent).toHaveLength(1);
  });

  test('a short text from which nothing is selected is given as it is', async () => {
    const { content } = await open(text('just words')).exec({ select: 'a' });
    expect(content[1]?.text).toContain('a text, which is a list of 1 lines');
    expect(content[2]?.text).toBe('just words');
  });

  test('a result without text has no parts', async () => {
    const { exec } = open({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] });
    expect((await exec({ select: 'a' })).content[0]?.text).toContain('the result has no text');
  });

  test('what the tool itself says of its failure is not projected', async () => {
    const { exec } = open({ ...text('disk full'), isError: true });
    expect(await exec({ select: 'a' })).toEqual({ ...text('disk full'), isError: true });
  });
});
