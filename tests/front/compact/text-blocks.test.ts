/** Text blocks that mcpx writes, as clients take them that parse them as JSON or join them with nothing between. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { ToolResult } from '../../../src/router/router.ts';
import { isRecord, type Params } from '../../../src/wire/message.ts';
import { createWorld, openFront } from '../../world.ts';

function open(answers: Record<string, unknown>, { resultChars = DEFAULTS.limits.resultChars, name = 'test' } = {}) {
  const settings = { ...DEFAULTS, limits: { ...DEFAULTS.limits, resultChars } };
  const tools = Object.keys(answers).map((name) => ({ name, description: `Answers ${name}.` }));
  const answer = (_: string, params?: Params) => answers[String(params?.name)];
  const { deps } = createWorld({ s: { tools, answer } }, { settings });
  deps.identity = { ...deps.identity, clientInfo: { name, version: '1' } };
  const front = openFront('compact', deps, { key: 'k', notify() {} });
  return async (name: string, args: Params) =>
    (await front.request(
      { method: 'tools/call', params: { name, arguments: args } },
      { signal: new AbortController().signal },
    )) as Omit<ToolResult, 'content'> & { content: { type: string; text: string }[] };
}

const VALUES = {
  n: 7,
  s: 'words',
  t: true,
  none: null,
  few: [1, 2],
  rows: [{ a: 1 }],
  o: { a: { b: 'c' } },
  text: '5',
};
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** Gemini CLI makes `structuredContent` of the first text that is JSON, and refuses the result where that is no object. */
function isTaken({
  content,
  structuredContent,
}: Omit<ToolResult, 'content'> & { content: { text: string }[] }): boolean {
  if (structuredContent !== undefined) return isRecord(structuredContent);
  try {
    return isRecord(JSON.parse(content[0]?.text ?? ''));
  } catch {
    return true;
  }
}

describe('a text that a server writes', () => {
  const json = ['42', '-1.50', 'true', 'null', '"words"', '[1,2]', ' 7\n', '12345678901234567890'];

  test.each(json)('%j has a word before it for a client that fails on it', async (written) => {
    const call = open({ get: text(written) }, { name: 'gemini-cli-mcp-client' });
    const result = await call('exec', { method: 's.get' });
    expect(isTaken(result)).toBe(true);
    expect(result.content[0]?.text).toContain(written);
  });

  test.each(['{"a":1}', 'words', '42 things', ''])('%j is left as it is', async (written) => {
    const call = open({ get: text(written) }, { name: 'gemini-cli-mcp-client' });
    expect((await call('exec', { method: 's.get' })).content[0]?.text).toBe(written);
  });

  test.each(json)('%j is left as it is for other clients', async (written) => {
    const call = open({ get: text(written) }, { name: 'somebody-else' });
    expect((await call('exec', { method: 's.get' })).content[0]?.text).toBe(written);
  });

  test('is labelled after an image too', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const call = open({ get: { content: [image, { type: 'text', text: '42' }] } }, { name: 'gemini-cli-mcp-client' });
    const { content } = await call('exec', { method: 's.get' });
    expect(content).toEqual([image, { type: 'text', text: 'result: 42\n' }]);
  });
});

describe('a text that mcpx writes', () => {
  test.each(Object.keys(VALUES))('select "%s" is taken by a client that parses it, and ends its line', async (key) => {
    const call = open({ get: { structuredContent: VALUES } });
    const result = await call('exec', { method: 's.get', select: key });
    expect(isTaken(result)).toBe(true);
    const value = VALUES[key as keyof typeof VALUES];
    const written = typeof value === 'string' ? value : JSON.stringify(value);
    expect(result.content[0]?.text).toBe(/^[{w]/.test(written) ? `${written}\n` : `result: ${written}\n`);
    expect(result.content.every((block) => block.text.endsWith('\n'))).toBe(true);
  });

  test('JSON that it writes shorter is no bare list, and text that it passes on stays as it was sent', async () => {
    const list = ['one', 'two', { three: 3 }];
    const call = open({ pretty: text(JSON.stringify(list, null, 4)), short: text('[1, 2]'), words: text('words') });
    expect((await call('exec', { method: 's.pretty' })).content).toEqual([
      { type: 'text', text: `result: ${JSON.stringify(list)}\n` },
    ]);
    expect((await call('exec', { method: 's.short' })).content).toEqual(text('[1, 2]').content);
    expect((await call('exec', { method: 's.words' })).content).toEqual(text('words').content);
  });

  test.each([[[1, 2]], [5], ['words']])('a structured part that is %j is handed on in an object', async (value) => {
    const result = await open({ get: { content: [], structuredContent: value } })('exec', { method: 's.get' });
    expect(result.structuredContent).toEqual({ value });
    expect(isTaken(result)).toBe(true);
  });

  test('answers of inspect, and errors, end their line', async () => {
    const call = open({ get: text('x') });
    for (const args of [{}, { server_name: 's' }, { method: 's.get' }, { query: 'answers' }, { result: 'r9' }]) {
      const { content } = await call('inspect', args);
      expect(content.map((block) => block.text).join('')).toMatch(/[^\n]\n$/);
    }
  });

  test('is a line of its own in a batch, also where blocks are joined with nothing between', async () => {
    const call = open({ one: { content: [...text('a').content, ...text('b').content] }, two: text('c') });
    const { content } = await call('exec', { calls: [{ method: 's.one' }, { method: 's.two' }, { method: 's.none' }] });
    const joined = content.map((block) => block.text).join('');
    expect(joined).toMatch(/^\[0\] s\.one\na\nb\n\[1\] s\.two\nc\n\[2\] s\.none failed\nerror: /);
  });

  test('about a part of a large result is a line of its own, and the part is exact', async () => {
    const call = open({ get: text(`12345${'x'.repeat(3000)}`) }, { resultChars: 1000 });
    const [head, about] = (await call('exec', { method: 's.get' })).content;
    expect(head?.text).toBe(`12345${'x'.repeat(995)}`);
    expect(about?.text).toMatch(/^\n\[1000 of 3005 characters.*\n$/s);
    const id = /as "(\w+)"/.exec(about?.text ?? '')?.[1];
    const page = await call('inspect', { result: id, offset: 0, limit: 5 });
    expect(isTaken(page)).toBe(true);
    expect(page.content.map((block) => block.text).join('')).toMatch(/^\[characters 0 to 5 of 3005.*\]\n12345$/);
  });
});
