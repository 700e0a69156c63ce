/** Results that hold too many values to be parsed as a whole. */
import { describe, expect, test } from 'vitest';
import { readShallow } from '../../src/router/partial-parse.ts';
import { Unparsed } from '../../src/wire/unparsed-result.ts';

const MANY = `[${'[],'.repeat(1_000_000)}[]]`;
const read = (text: string) => readShallow(new Unparsed(text));

describe('a result with too many values', () => {
  test('has its text, and no structured content where that is the part with too many', () => {
    const content = [{ type: 'text', text: 'a "summary"' }];
    const text = `{ "content": ${JSON.stringify(content)}, "structuredContent": {"v":${MANY}}, "isError": true }`;
    expect(read(text)).toEqual({ content, isError: true });
  });

  test('is the text of its structured content where nothing else says what is in it', () => {
    const structured = `{"v":${MANY}}`;
    const image = { type: 'image', data: 'x', mimeType: 'image/png' };
    expect(read(`{"content":[],"structuredContent":${structured}}`).content).toEqual([
      { type: 'text', text: structured },
    ]);
    expect(read(`{"structuredContent":${structured},"content":[${JSON.stringify(image)}]}`).content).toEqual([
      image,
      { type: 'text', text: structured },
    ]);
  });

  test('with too many blocks is the text of them', () => {
    expect(read(`{"content":${MANY},"structuredContent":{"a":1}}`)).toEqual({
      content: [{ type: 'text', text: MANY }],
      structuredContent: { a: 1 },
    });
  });

  test('takes names that mean something to JavaScript for names', () => {
    const text = `{"structuredContent":{"id":1},"__proto__":{"a":1},"_meta":${MANY}}`;
    const result = read(text);
    expect(Object.keys(result)).toEqual(['structuredContent', '__proto__', 'content']);
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });

  test('does not get costlier by many members that could be parsed one by one', () => {
    const half = `[${'[],'.repeat(500_000)}[]]`;
    const result = read(`{"content":[],"a":${half},"b":${half},"c":${half}}`);
    expect(Object.keys(result)).toEqual(['content', 'a']);
  });
});
