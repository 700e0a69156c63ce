/** Exposed names: injective, within the limit, stable. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exposeNames, mayBeOf, type Named } from '../../src/catalog/exposed-names.ts';
import { DEFAULTS } from '../../src/config/config.ts';

const naming = DEFAULTS.naming;
const item = (server: string, name: string): Named => ({ server, name });
const exposed = (items: Named[], change: Partial<typeof naming> = {}) =>
  [...exposeNames(items, { ...naming, ...change }).table].map(([name, { server }]) => [name, server]);

describe('styles', () => {
  const items = [item('github', 'search'), item('slack', 'search'), item('slack', 'post')];

  test.each([
    [
      'prefix',
      {},
      [
        ['github__search', 'github'],
        ['slack__search', 'slack'],
        ['slack__post', 'slack'],
      ],
    ],
    [
      'collision',
      {},
      [
        ['github__search', 'github'],
        ['slack__search', 'slack'],
        ['post', 'slack'],
      ],
    ],
    [
      'plain',
      {},
      [
        ['search', 'github'],
        ['post', 'slack'],
      ],
    ],
    [
      'plain',
      { onConflict: 'last-wins' },
      [
        ['search', 'slack'],
        ['post', 'slack'],
      ],
    ],
    ['plain', { onConflict: 'error' }, [['post', 'slack']]],
    [
      'prefix',
      { separator: '-' },
      [
        ['github-search', 'github'],
        ['slack-search', 'slack'],
        ['slack-post', 'slack'],
      ],
    ],
  ] as const)('%s %j', (style, change, expected) => {
    expect(exposed(items, { style, ...change })).toEqual(expected);
  });

  test('a conflict that is an error names both', () => {
    const { conflicts } = exposeNames(items, { ...naming, style: 'plain', onConflict: 'error' });
    expect(conflicts).toEqual([[items[0], items[1]]]);
  });
});

test('two addresses that would make one name get two', () => {
  const names = exposed([item('a__b', 'c'), item('a', 'b__c')]).map(([name]) => name);
  expect(new Set(names).size).toBe(2);
  expect(names[0]).toBe('a__b__c');
});

test('a tool that is called as another would be for its hash is not hidden by it', () => {
  const rivals = [item('a__b', 'c'), item('a', 'b__c')];
  const [, [hashed] = []] = exposed(rivals);
  const forged = item('a', String(hashed).slice('a__'.length));
  const { table } = exposeNames([forged, ...rivals], naming);
  expect([...table.values()]).toEqual([forged, ...rivals]);
});

test('a name is not cut in the middle of a character', () => {
  const [[name] = []] = exposed([item('s', `${'x'.repeat(40)}${'😀'.repeat(10)}`)]);
  expect(name).toMatch(/^s__x{40}_[0-9a-f]{8}$/);
});

test('a long name keeps its hash whatever else is there', () => {
  const long = item('server', 'x'.repeat(80));
  const [[alone] = []] = exposed([long]);
  const withOthers = exposed([item('other', 'y'), long]).map(([name]) => name);
  expect(alone).toHaveLength(53);
  expect(withOthers).toContain(alone);
});

test('names are injective and within the limit, whatever servers and tools are called', () => {
  const word = fc.stringMatching(/^[a-z_]{1,70}$/);
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(word, word), { selector: ([s, n]) => JSON.stringify([s, n]) }), (pairs) => {
      const items = pairs.map(([server, name]) => item(server, name));
      const { table } = exposeNames(items, naming);
      expect(table.size).toBe(items.length);
      for (const [name, { server }] of table) {
        expect(name.length).toBeLessThanOrEqual(naming.maxLength);
        expect(mayBeOf(server, name, naming)).toBe(true);
      }
    }),
  );
});

test('only where names begin with their servers do they tell whose they can be', () => {
  expect(mayBeOf('github', 'slack__post', naming)).toBe(false);
  for (const style of ['plain', 'collision'] as const)
    expect(mayBeOf('github', 'slack__post', { ...naming, style })).toBe(true);
});
