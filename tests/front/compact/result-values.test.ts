/** The values of a result for `select`: JSON, or the lines of a text; a text that a server repeats under a key. */
import { describe, expect, test } from 'vitest';
import { givenBy, partOf, readResult } from '../../../src/front/compact/result-values.ts';
import { compileProjection } from '../../../src/front/compact/select.ts';
import type { ToolResult } from '../../../src/router/router.ts';

const LOG = 'one\ntwo ERROR\r\nthree ERROR\n';
const text = (value: string): ToolResult => ({ content: [{ type: 'text', text: value }] });
const part = async (result: ToolResult, expression: string) =>
  partOf(givenBy(readResult(result)), await compileProjection(expression)).part;

describe.each<[string, ToolResult]>([
  ['a text', text(LOG)],
  ['a text that the server repeats under a key', { ...text(LOG), structuredContent: { content: LOG } }],
])('%s', (_, result) => {
  test.each<[string, unknown]>([
    ['[0]', 'one'],
    ['length(@)', 3],
    ["[?contains(@,'ERROR')][-1:]", ['three ERROR']],
    ["[*].regex_find(@, '(\\w+) ERROR')", ['two', 'three']],
    ['lines(@)', ['one', 'two ERROR', 'three ERROR']],
    ["split(@, 'ERROR') | [0]", 'one\ntwo '],
    ["regex_find(@, 'w(.) ')", 'o'],
    ["replace(@, 'ERROR', '!')", 'one\ntwo !\r\nthree !\n'],
    ['nothing', null],
  ])('%s', async (expression, expected) => {
    expect(await part(result, expression)).toEqual(expected);
  });
});

test('a key that repeats the text is found by its name', async () => {
  const result = { ...text(LOG), structuredContent: { content: LOG } };
  expect(await part(result, 'content')).toBe(LOG);
  expect(await part(result, '{a: content}')).toEqual({ a: LOG });
  expect(await part(result, 'length(lines(content))')).toBe(3);
});

test('JSON in a text is not text', async () => {
  expect(await part(text('{"a": [1, 2]}'), 'length(a)')).toBe(2);
  expect(await part(text('{"a": [1, 2]}'), '[0]')).toBeNull();
  expect(await part({ content: [...(text('[1]').content ?? []), ...(text('[2]').content ?? [])] }, '[][]')).toEqual([
    1, 2,
  ]);
  const mixed = { content: [...(text('{"a": 1}').content ?? []), ...(text('and words').content ?? [])] };
  expect(await part(mixed, '[-1]')).toBe('and words');
});

test('an expression that fits neither lines nor text says why', async () => {
  await expect(part(text(LOG), 'sum(@)')).rejects.toThrow('"select" failed');
});
