/** JMESPath with bounds. */
import { describe, expect, test } from 'vitest';
import { compileProjection } from '../../../src/front/compact/select.ts';
import { parseLossless } from '../../../src/lossless-json.ts';

const DATA = {
  items: [
    { name: 'a', size: 1, tags: ['x', 'y'] },
    { name: 'b', size: 20, tags: [] },
  ],
  'odd key': 5,
};

const project = async (expression: unknown, value: unknown = DATA) => (await compileProjection(expression))(value);

describe('a projection', () => {
  test.each<[string, unknown]>([
    ['items[*].name', ['a', 'b']],
    ['items[?size > `10`].{name: name, size: size}', [{ name: 'b', size: 20 }]],
    ['length(items)', 2],
    ['"odd key"', 5],
    ["join(', ', items[*].name)", 'a, b'],
    ['to_string(items[0].tags)', '["x","y"]'],
    ["to_string('plain')", 'plain'],
    ['sort_by(items, &size)[-1].name', 'b'],
    ['nothing.there', null],
    ['items[?name==`b`].size', [20]],
    ['items[?name==`b`][0].size', 20],
    ['items[?size > `0`][-1:].name', ['b']],
    ["split('a-b-c', '-')", ['a', 'b', 'c']],
    ["lines('a\r\nb\n')", ['a', 'b']],
    ["replace('a.b.c', '.', '')", 'abc'],
    ["replace('abc', '', 'x')", 'abc'],
    ["regex_find('id: 42, id: 7', 'id: (\\d+)')", '42'],
    ["regex_find('ada@x.org', '(\\w+)@(\\w+)(!)?')", ['ada', 'x', null]],
    ["regex_find('An ERROR', 'err\\w+', 'i')", 'ERROR'],
    ["items[?regex_find(name, '^b')].size", [20]],
    ["regex_find('none', 'x')", null],
  ])('%s', async (expression, expected) => {
    expect(await project(expression)).toEqual(expected);
  });

  test('of numbers that JavaScript cannot hold calculates with the nearest, and gives them as they are', async () => {
    const text = '{"ids":[9007199254740993,5],"ratio":0.12345678901234567891,"far":1e400}';
    const select = async (expression: string) => JSON.stringify(await project(expression, parseLossless(text)));
    const exact = 'rawJSON' in JSON;
    const id = exact ? '9007199254740993' : '9007199254740992';
    expect(await select('ids')).toBe(`[${id},5]`);
    expect(await select('max(ids)')).toBe(id);
    expect(await select('ratio > `0.1`')).toBe('true');
    expect(await select('{a: far, b: ratio}')).toBe(
      exact ? '{"a":1e400,"b":0.12345678901234567891}' : '{"a":null,"b":0.12345678901234568}',
    );
  });

  test('of long numbers that JavaScript cannot tell apart has all of them as text', async () => {
    const value = parseLossless('[9007199254740993,9007199254740994,9007199254740992,1.5]');
    const texts = ['9007199254740993', '9007199254740994', '9007199254740992', 1.5];
    expect(await project('@', value)).toEqual('rawJSON' in JSON ? texts : value);
  });

  test.each<[unknown, string]>([
    ['items[', 'cannot be used: Syntax error'],
    ['', 'must be a JMESPath expression'],
    [5, 'must be a JMESPath expression'],
    ['nope(@)', 'there is no function nope()'],
    ["pad_left('x', `900000000`, 'y')", 'there is no function pad_left()'],
    ["trim(@, '](a+)+$[')", 'there is no function trim()'],
    ['"$part_of_filtered"(@)', 'quoted identifier not allowed'],
    [`a${'.a'.repeat(2000)}`, 'longer than 2000 characters'],
  ])('%j is refused before anything is done', async (expression, expected) => {
    await expect(compileProjection(expression)).rejects.toThrow(expected);
  });

  test('one that would take for ever is stopped', async () => {
    const rows = Array.from({ length: 3000 }, (_, id) => ({ id }));
    await expect(project('map(&map(&map(&length($), $), $), $)', rows)).rejects.toThrow('takes longer than');
    expect(await project('length(@)', rows)).toBe(3000);
  });

  test.each([
    `@${' | [@, @, @, @]'.repeat(40)}`,
    `'x'${" | join('', [@, @, @, @, @, @, @, @, @, @])".repeat(30)}`,
    `@${' | to_string([@, @])'.repeat(60)}`,
    `'xx'${" | replace(@, 'x', 'xxxxxxxxxxxxxxxxxxxx')".repeat(30)}`,
  ])('one that gives without end is stopped: %.40s…', async (expression) => {
    await expect(project(expression)).rejects.toThrow('"select" failed');
  });

  test('an index after a filter is of each element where the elements are lists', async () => {
    expect(await project('[?@][0]', [[1, 2], [3], []])).toEqual([1, 3]);
    expect(await project('[?@][:1]', [[1, 2], [3]])).toEqual([[1], [3]]);
    expect(await project('[?@][0]', ['a', '', 'b'])).toBe('a');
    expect(await project('x[?@][0]', {})).toBeNull();
  });

  test.each(['(?=a)b', '(a)\\\\1', '('])('the pattern %s is refused with what a pattern may have', async (pattern) => {
    await expect(project(`regex_find('ab', '${pattern}')`)).rejects.toThrow('no look-around, no back reference');
  });

  test('a pattern that makes RegExp take for ever takes no time', async () => {
    const lines = Array.from({ length: 20 }, () => `${'a'.repeat(50)}!`);
    expect(await project("[?regex_find(@, '^(a+)+$')]", lines)).toEqual([]);
  });

  test('what does not fit a function is told, and the next evaluation is not disturbed', async () => {
    await expect(project('sum(items)')).rejects.toThrow('"select" failed');
    expect(await project('items[0].size')).toBe(1);
  });
});
