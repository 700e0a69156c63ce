/** Builds example arguments from a schema's required properties, constants, examples, defaults and enums. */
import { dereference, isSchema, type Schema, schemasIn } from '../render/schema-refs.ts';
import { parsePattern, sampleOf } from './regex-parse.ts';

const MAX_DEPTH = 8;
const MAX_ITEMS = 20;
/** Maximum number of schemas visited for one example, which bounds the fan-out. */
const MAX_SCHEMAS = 2_000;

const BY_FORMAT: ReadonlyMap<unknown, string> = new Map([
  ['date-time', '2026-01-31T09:00:00Z'],
  ['date', '2026-01-31'],
  ['time', '09:00:00Z'],
  ['duration', 'PT1H'],
  ['uri', 'https://example.com'],
  ['url', 'https://example.com'],
  ['email', 'user@example.com'],
  ['hostname', 'example.com'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['uuid', '123e4567-e89b-42d3-a456-426614174000'],
]);

/** Example values by property name, for schemas that specify no more than a string. */
const BY_NAME: readonly [RegExp, string][] = [
  [/e-?mail/i, 'user@example.com'],
  [/ur[il]$|link|website/i, 'https://example.com'],
  [/(path|file|filename)$/i, '/path/to/file.txt'],
  [/(dir|directory|folder)$/i, '/path/to/folder'],
  [/time$|timestamp/i, '2026-01-31T09:00:00Z'],
  [/date$|since|until/i, '2026-01-31'],
  [/(^|_|-)ids?$|Ids?$/, '123'],
];

export function exampleArguments(schema: unknown): Record<string, unknown> {
  const value = exampleOf(schema, { root: schema, key: '', depth: 0, budget: { left: MAX_SCHEMAS } });
  return isSchema(value) ? value : {};
}

interface Spot {
  root: unknown;
  key: string;
  depth: number;
  budget: { left: number };
  /** Properties declared by the enclosing schema, for a subschema that only lists required ones. */
  declared?: Schema;
}

function exampleOf(given: unknown, spot: Spot): unknown {
  const schema = dereference(spot.root, given);
  spot.budget.left -= 1;
  if (!isSchema(schema) || spot.depth > MAX_DEPTH || spot.budget.left < 0) return 'example';
  const own = (isSchema(given) ? givenExample(given) : undefined) ?? givenExample(schema);
  if (own !== undefined) return own;
  const declared = { ...spot.declared, ...(isSchema(schema.properties) ? schema.properties : {}) };
  const inside = { ...spot, depth: spot.depth + 1, declared };
  const base = byType(schema, { ...spot, declared });
  const parts = [...schemasIn(schema.allOf), firstBranch(schema.anyOf, spot), firstBranch(schema.oneOf, spot)];
  if (isSchema(base)) parts.push(...conditionalParts(schema, base));
  const built = parts.filter((part) => part !== undefined).map((part) => exampleOf(part, inside));
  const objects = [base, ...built].filter(isSchema);
  // `fromEntries` makes a key such as `__proto__` an ordinary property; assignment would not.
  if (objects.length > 0) return Object.fromEntries(objects.flatMap((object) => Object.entries(object)));
  const [first] = [base, ...built].filter((value) => value !== undefined);
  return first === undefined ? 'example' : first;
}

/** Returns the subschemas that apply because of the values in the example. */
function conditionalParts(
  { if: condition, then, else: otherwise, dependentRequired }: Schema,
  base: Schema,
): unknown[] {
  const dependent = Object.entries(isSchema(dependentRequired) ? dependentRequired : {})
    .filter(([key]) => Object.hasOwn(base, key))
    .map(([, required]) => ({ required }));
  if (!isSchema(condition)) return dependent;
  return [...dependent, holds(condition, base) ? then : otherwise];
}

function holds({ properties, required }: Schema, value: Schema): boolean {
  const present = schemasIn(required).every((key) => Object.hasOwn(value, String(key)));
  return (
    present &&
    Object.entries(isSchema(properties) ? properties : {}).every(([key, property]) => {
      if (!isSchema(property) || !Object.hasOwn(value, key)) return true;
      const allowed = 'const' in property ? [property.const] : property.enum;
      return !Array.isArray(allowed) || allowed.includes(value[key]);
    })
  );
}

/** Returns a value that the schema itself contains. */
function givenExample(schema: Schema): unknown {
  if ('const' in schema) return schema.const;
  const offered = [...schemasIn(schema.examples), schema.example, schema.default, ...schemasIn(schema.enum)];
  return offered.find((value) => value !== undefined && value !== null && fitsType(value, schema.type));
}

function fitsType(value: unknown, type: unknown): boolean {
  const types = Array.isArray(type) ? type : [type];
  const kind = Array.isArray(value) ? 'array' : typeof value;
  return (
    type === undefined ||
    types.includes(kind) ||
    (kind === 'number' && types.includes('integer') && Number.isInteger(value))
  );
}

/** Returns the first alternative that is not null. */
function firstBranch(branches: unknown, { root }: Spot): unknown {
  const list = schemasIn(branches);
  return list.find((branch) => (dereference(root, branch) as Schema | undefined)?.type !== 'null') ?? list[0];
}

function byType(schema: Schema, spot: Spot): unknown {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const type = types.find((word) => word !== 'null') ?? types[0];
  if (type === 'object' || isSchema(schema.properties) || (type === undefined && Array.isArray(schema.required))) {
    return objectExample(schema, spot);
  }
  if (type === 'array') return arrayExample(schema, spot);
  if (type === 'number' || type === 'integer') return numberExample(schema);
  if (type === 'boolean') return false;
  if (type === 'null') return null;
  return type === 'string' ? stringExample(schema, spot.key) : undefined;
}

function objectExample(schema: Schema, { root, depth, budget, declared = {} }: Spot): Schema {
  const required = schemasIn(schema.required).filter((key) => typeof key === 'string');
  return Object.fromEntries(
    required.map((key) => {
      const property = Object.hasOwn(declared, key) ? declared[key] : schema.additionalProperties;
      return [
        key,
        exampleOf(isSchema(property) ? property : { type: 'string' }, { root, key, budget, depth: depth + 1 }),
      ];
    }),
  );
}

function arrayExample({ items, prefixItems, minItems }: Schema, { root, key, depth, budget }: Spot): unknown[] {
  const inner = { root, budget, key: key.replace(/s$/, ''), depth: depth + 1 };
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple) return tuple.map((item) => exampleOf(item, inner));
  const count = typeof minItems === 'number' ? Math.min(Math.max(minItems, 1), MAX_ITEMS) : 1;
  return isSchema(items) ? Array.from({ length: count }, () => exampleOf(items, inner)) : [];
}

/** Returns the first candidate that satisfies the limits. */
function numberExample({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, type }: Schema): number {
  const step = number(multipleOf, type === 'integer' ? 1 : 0);
  const low = Math.max(number(minimum, -Infinity), number(exclusiveMinimum, -Infinity));
  const high = Math.min(number(maximum, Infinity), number(exclusiveMaximum, Infinity));
  const fits = (value: number) =>
    Number.isFinite(value) &&
    value >= low &&
    value <= high &&
    value !== exclusiveMinimum &&
    value !== exclusiveMaximum &&
    (step === 0 || Number.isInteger(value / step));
  const likely = [
    1,
    low,
    low + 1,
    Math.ceil(low / step) * step,
    Math.ceil(low / step) * step + step,
    step,
    (low + high) / 2,
    high,
    high - 1,
    Math.floor(high / step) * step,
    0,
  ];
  return likely.find(fits) ?? 1;
}

function number(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function stringExample({ format, pattern, minLength, maxLength, description }: Schema, key: string): string {
  const parsed = typeof pattern === 'string' ? parsePattern(pattern) : undefined;
  const text =
    (parsed && sampleOf(parsed.node)) ??
    BY_FORMAT.get(format) ??
    BY_NAME.find(([name]) => name.test(key))?.[1] ??
    quoted(description) ??
    'example';
  return text.padEnd(number(minLength, 0), 'x').slice(0, number(maxLength, Infinity));
}

/** Returns a short value that the description quotes as an example: (e.g. "main"). */
function quoted(description: unknown): string | undefined {
  if (typeof description !== 'string') return undefined;
  return /(?:e\.g\.|example|such as)[:,]?\s*["'`]([^"'`\n]{1,40})["'`]/i.exec(description)?.[1];
}
