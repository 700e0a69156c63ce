/** The members of an object in its text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { membersOf } from '../../src/wire/json-members.ts';

describe('the members of an object', () => {
  test('are what JSON.parse finds, however it is written', () => {
    const members = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue()), { selector: ([key]) => key });
    fc.assert(
      fc.property(members, fc.constantFrom(undefined, 1, '\t'), (pairs, space) => {
        const value = Object.fromEntries(pairs);
        const found = membersOf(JSON.stringify(value, null, space)).map(([key, json]) => [key, JSON.parse(json)]);
        expect(found).toEqual(Object.entries(value).map(([key, inner]) => [key, JSON.parse(JSON.stringify(inner))]));
      }),
    );
  });

  test('of anything else are never a failure', () => {
    fc.assert(fc.property(fc.string(), (text) => void membersOf(text)));
    fc.assert(
      fc.property(fc.array(fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a')), (parts) => {
        membersOf(parts.join(''));
      }),
    );
  });
});
