/** Which tools may be used over HTTP in the modern era, by what they want in headers. */
import { describe, expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { paramHeadersIn, valueAt } from '../../src/mcp/param-headers.ts';
import { createModernHeaders } from '../../src/upstream/http/request-headers.ts';

const marked = (header: unknown, more: object = { type: 'string' }) => ({ ...more, 'x-mcp-header': header });
const schema = (properties: object, more = {}) => ({ type: 'object', properties, ...more });

describe('the arguments that are repeated in headers', () => {
  test.each<[title: string, schema: unknown, expected: unknown]>([
    ['a string', schema({ a: marked('A') }), [{ path: ['a'], header: 'A' }]],
    [
      'a whole number or nothing',
      schema({ a: marked('A', { type: ['integer', 'null'] }) }),
      [{ path: ['a'], header: 'A' }],
    ],
    ['one deep inside', schema({ o: schema({ p: marked('P') }) }), [{ path: ['o', 'p'], header: 'P' }]],
    ['one with the name of a keyword', schema({ items: marked('I') }), [{ path: ['items'], header: 'I' }]],
    ['none where it is only an example', schema({ a: { type: 'object', examples: [marked('A')] } }), []],
    ['none in no schema', undefined, []],
  ])('%s', (_, given, expected) => expect(paramHeadersIn(given)).toEqual(expected));

  test('a number that JavaScript cannot hold is repeated as it is', () => {
    const long = parseLossless('9007199254740993');
    expect(valueAt({ path: ['a', 'b'], header: 'B' }, { a: { b: long } })).toBe(JSON.stringify(long));
  });

  test.each<[title: string, schema: unknown, why: RegExp]>([
    ['empty', schema({ a: marked('') }), /"" cannot be part/],
    ['not text', schema({ a: marked(5) }), /5 cannot be part/],
    ['with a space', schema({ a: marked('My Region') }), /cannot be part/],
    ['with a colon', schema({ a: marked('a:b') }), /cannot be part/],
    ['with a line break', schema({ a: marked('a\nb') }), /cannot be part/],
    ['for an object', schema({ a: marked('A', { type: 'object' }) }), /type "object"/],
    ['for any number', schema({ a: marked('A', { type: 'number' }) }), /type "number"/],
    ['for nothing', schema({ a: marked('A', { type: ['null'] }) }), /type \["null"\]/],
    ['twice, but for the case', schema({ a: marked('My'), b: marked('my') }), /two arguments/],
    ['in a list', schema({ a: { type: 'array', items: marked('A') } }), /no argument is certain/],
    ['in an alternative', schema({}, { anyOf: [schema({ a: marked('A') })] }), /no argument is certain/],
    ['in a definition', schema({}, { $defs: { d: marked('A') } }), /no argument is certain/],
    ['at the root', marked('A', schema({})), /no argument is certain/],
  ])('cannot be %s', (_, given, why) => {
    expect(paramHeadersIn(given)).toEqual({ wrong: expect.stringMatching(why) });
  });

  test('a tool that wants the impossible is left out, it alone, and that is said', () => {
    const said: string[] = [];
    const headers = createModernHeaders((tool, why) => said.push(`${tool}: ${why}`));
    const good = { name: 'good', inputSchema: schema({ a: marked('A') }) };
    const bad = { name: 'bad', inputSchema: schema({ a: marked('') }) };
    expect(headers.learn({ tools: [good, bad], nextCursor: 'c' })).toEqual({ tools: [good], nextCursor: 'c' });
    expect(said).toEqual(['bad: "" cannot be part of a header name']);
  });
});
