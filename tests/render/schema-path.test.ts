/** Paths into the schemas of a tool. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { schemaAt } from '../../src/render/schema-path.ts';
import { jsonSchema } from './arbitrary.ts';

const name = { type: 'string', description: 'name' };
const size = { type: 'number' };
const inputSchema = {
  type: 'object',
  properties: {
    guests: { type: 'array', items: { $ref: '#/$defs/Guest' } },
    kind: { oneOf: [{ properties: { size } }, { properties: { size: name } }, { type: 'string' }] },
    properties: { type: 'object', properties: { 'a/b': name } },
  },
  $defs: { Guest: { type: 'object', properties: { name, friend: { $ref: '#/$defs/Guest' } } } },
};
const outputSchema = { type: 'object', properties: { total: size } };
const at = (path: string) => schemaAt({ inputSchema, outputSchema }, path)?.schema;

it.each([
  ['guests', inputSchema.properties.guests],
  ['properties/guests', inputSchema.properties.guests],
  ['properties/guests/items', { $ref: '#/$defs/Guest' }],
  ['guests/name', name],
  ['properties/guests/items/properties/name', name],
  ['guests/friend/friend/name', name],
  ['$defs/Guest/name', name],
  ['kind/oneOf/0/size', size],
  ['kind/size', { anyOf: [size, name] }],
  ['properties/a~1b', name],
  ['outputSchema', outputSchema],
  ['outputSchema/properties/total', size],
])('%s names a part', (path, expected) => {
  expect(at(path)).toEqual(expected);
});

it.each([
  '',
  '/',
  'nobody',
  'guests/nobody',
  'properties/guests/type',
  'required',
  'outputSchema/nobody',
  'x/'.repeat(100),
])('there is nothing at "%s"', (path) => {
  expect(at(path)).toBeUndefined();
});

it('never throws, whatever the schema and the path are', () => {
  const key = fc.constantFrom('properties', 'items', 'anyOf', '0', '$defs', 'a', 'b', '__proto__');
  fc.assert(
    fc.property(jsonSchema, fc.array(key, { maxLength: 8 }), (schema, keys) => {
      const found = schemaAt({ inputSchema: schema }, keys.join('/'));
      expect(found === undefined || typeof found.schema === 'object').toBe(true);
    }),
  );
});
