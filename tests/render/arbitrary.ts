/** Random JSON Schemas: well-formed ones, and ones in which any keyword may hold anything. */
import fc from 'fast-check';

type Schema = Record<string, unknown> | boolean;

const KEYS = ['id', 'name', 'kebab-key', '1st', '', '__proto__', 'is', 'extends', '名', 'a"b', 'x\ny', '*/'];
const key = fc.oneof(fc.constantFrom(...KEYS), fc.string({ maxLength: 6, unit: 'binary' }));
const words = fc.oneof(
  fc.string({ maxLength: 30, unit: 'binary' }),
  fc.constantFrom('*/ // `', 'line\nbreak', '\u2028'),
);
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array', 'any');
const ref = fc.constantFrom(
  '#',
  '#/$defs/A',
  '#/$defs/B',
  '#/properties/id',
  '#/definitions/C',
  '#nowhere',
  'http://x/y',
);

/** A few keywords of all there are: objects with every keyword would grow without end. */
function some(keywords: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(keywords);
  return fc
    .uniqueArray(fc.constantFrom(...names), { maxLength: 4 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, keywords[name] ?? fc.constant(1)]))));
}

const SIMPLE = {
  type: fc.oneof(type, fc.array(type, { maxLength: 3 })),
  description: words,
  enum: fc.array(fc.oneof(words, fc.integer(), fc.constant(null)), { maxLength: 4 }),
  const: fc.jsonValue({ maxDepth: 2 }),
  default: fc.jsonValue({ maxDepth: 1 }),
  format: fc.constantFrom('uri', 'date-time', 'odd */ format'),
  pattern: fc.oneof(words, fc.constant(`^${'[a-z*/]'.repeat(20)}$`)),
  examples: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
  dependentRequired: fc.dictionary(key, fc.array(key, { maxLength: 2 }), { maxKeys: 2, noNullPrototype: true }),
  minimum: fc.integer(),
  maxLength: fc.nat(),
  nullable: fc.boolean(),
  minItems: fc.nat(4),
  required: fc.array(key, { maxLength: 3 }),
  $ref: ref,
};

function composed(child: fc.Arbitrary<Schema>): Record<string, fc.Arbitrary<unknown>> {
  const table = fc.dictionary(key, child, { maxKeys: 3, noNullPrototype: true });
  const list = fc.array(child, { maxLength: 3 });
  const single = ['additionalProperties', 'propertyNames', 'if', 'then', 'else'];
  return {
    properties: table,
    patternProperties: table,
    items: fc.oneof(child, list),
    ...Object.fromEntries(single.map((name) => [name, child])),
    ...Object.fromEntries(['prefixItems', 'anyOf', 'oneOf', 'allOf'].map((name) => [name, list])),
  };
}

const levels = (depth: number): fc.Arbitrary<Schema> =>
  depth === 0
    ? fc.oneof(fc.boolean(), some(SIMPLE))
    : fc.oneof(fc.boolean(), some(SIMPLE), some({ ...SIMPLE, ...composed(levels(depth - 1)) }));

/** Schemas that use keywords as they are meant, with references that may be recursive, circular or dangling. */
export const jsonSchema: fc.Arbitrary<Schema> = fc
  .tuple(some({ ...SIMPLE, ...composed(levels(2)) }), some(composed(levels(2))), levels(2), levels(2))
  .map(([top, more, A, B]) => ({ ...top, ...more, $defs: { A, B } }));

/** Objects in which schema keywords hold whatever JSON there is. */
export const brokenSchema: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(
    fc.constantFrom(
      'type',
      'enum',
      'properties',
      'required',
      'items',
      'prefixItems',
      'anyOf',
      'allOf',
      '$ref',
      '$defs',
      'default',
    ),
    fc.jsonValue({ maxDepth: 3 }),
    { noNullPrototype: true },
  ),
);
