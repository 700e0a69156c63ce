/** Prepares an untrusted schema for the compiler: no remote references, no slow patterns, common mistakes repaired. */
import { isSchema, refOf, resolveRef, type Schema, schemasIn } from '../render/schema-refs.ts';
import { isLinearPattern } from './regex-safety.ts';

export interface Prepared {
  schema: unknown;
  dialect: 'draft-07' | '2020-12';
  /** True if the schema refers to itself, so that the cost of a check grows with the depth of the arguments. */
  recursive: boolean;
}

/** Maximum number of subschemas. */
const MAX_NODES = 5_000;
/** Maximum number of subschemas with every reference expanded; references that double at each step soon exceed it. */
const MAX_COST = 50_000;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);
const SCALARS = new Set(['string', 'number', 'integer', 'boolean']);
/** Keywords whose value is data and not a schema; it is copied unchanged. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'example', 'required', 'type']);
/** Keywords whose value is an object with names, and not keywords, as keys. */
const TABLES = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
/**
 * Keywords that are removed: two tools may have the same `$id`, and `$schema` may name a dialect that is not loaded.
 */
const DROPPED = new Set(['$id', 'id', '$schema', '$vocabulary', '$comment', 'description', 'title']);

/** Returns undefined if the schema is too large to validate against. */
export function prepareSchema(root: Schema): Prepared | undefined {
  const weight = weigh(root);
  if (weight === undefined) return undefined;
  return { schema: mend(root, root), dialect: dialectOf(root), recursive: weight.recursive };
}

function dialectOf(root: Schema): Prepared['dialect'] {
  if (typeof root.$schema === 'string') return root.$schema.includes('2020-12') ? '2020-12' : 'draft-07';
  const modern =
    /"(?:prefixItems|unevaluatedProperties|unevaluatedItems|dependentRequired|dependentSchemas|\$dynamicRef)":/;
  return modern.test(JSON.stringify(root)) ? '2020-12' : 'draft-07';
}

function weigh(root: Schema): { recursive: boolean } | undefined {
  const costs = new Map<object, number>();
  const open = new Set<object>();
  let recursive = false;
  const cost = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const known = costs.get(value);
    if (known !== undefined) return known;
    if (open.has(value)) {
      recursive = true;
      return 1;
    }
    if (costs.size > MAX_NODES) return Number.POSITIVE_INFINITY;
    open.add(value);
    const ref = isSchema(value) ? refOf(value) : undefined;
    const parts = [
      ...Object.entries(value).filter(([key]) => !DATA.has(key) && !isDefinitions(key)),
      ['', resolveRef(root, ref)],
    ];
    let total = 1;
    for (const [, part] of parts) total += cost(part);
    open.delete(value);
    costs.set(value, total);
    return total;
  };
  return cost(root) > MAX_COST ? undefined : { recursive };
}

function isDefinitions(key: string): boolean {
  return key === '$defs' || key === 'definitions';
}

function mend(value: unknown, root: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => mend(item, root));
  if (!isSchema(value)) return value;
  const out: Schema = Object.create(null);
  for (const [key, part] of Object.entries(value)) {
    if (DROPPED.has(key) && typeof part !== 'object') continue;
    out[key] = DATA.has(key) ? part : TABLES.has(key) && isSchema(part) ? mendTable(part, root) : mend(part, root);
  }
  mendTypes(out);
  mendLimits(out);
  mendPatterns(out);
  mendFormats(out);
  mendRefs(out, root);
  return out;
}

function mendTable(table: Schema, root: Schema): Schema {
  const out: Schema = Object.create(null);
  for (const [name, part] of Object.entries(table)) out[name] = mend(part, root);
  return out;
}

/** Removes keywords that make the compiler throw: empty enums, empty or unknown types, `required: true` of draft-03. */
function mendTypes(schema: Schema): void {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.length === 0 || !types.every((type) => TYPES.has(type))) delete schema.type;
  if (schema.type === undefined) delete schema.nullable;
  if (!Array.isArray(schema.enum) || schema.enum.length === 0) delete schema.enum;
  if (!Array.isArray(schema.required)) delete schema.required;
  if (!isSchema(schema.properties)) delete schema.properties;
}

/**
 * Converts the boolean exclusive limits of draft-04. Keeps `uniqueItems` for scalars only, because comparing objects
 * is quadratic.
 */
function mendLimits(schema: Schema): void {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue;
    if (schema[flag] === true && typeof schema[limit] === 'number') {
      schema[flag] = schema[limit];
      delete schema[limit];
    } else delete schema[flag];
  }
  const items = isSchema(schema.items) ? schema.items.type : undefined;
  if (!SCALARS.has(items as string)) delete schema.uniqueItems;
}

function mendPatterns(schema: Schema): void {
  if (typeof schema.pattern !== 'string' || !isLinearPattern(schema.pattern)) delete schema.pattern;
  if (!isSchema(schema.patternProperties)) return;
  const dropped = Object.keys(schema.patternProperties).filter((pattern) => !isLinearPattern(pattern));
  for (const pattern of dropped) delete schema.patternProperties[pattern];
  // Keys that a removed pattern allowed would now count as additional.
  if (dropped.length > 0) for (const key of ['additionalProperties', 'unevaluatedProperties']) delete schema[key];
}

/**
 * Removes decisions that depend on a format, which is not checked: alternatives that differ in a format may all fit, an
 * exclusion and a condition do not apply.
 */
function mendFormats(schema: Schema): void {
  if (hasFormat(schema.not)) delete schema.not;
  if (hasFormat(schema.if)) for (const key of ['if', 'then', 'else']) delete schema[key];
  if (!hasFormat(schema.oneOf)) return;
  schema.allOf = [...schemasIn(schema.allOf), { anyOf: schema.oneOf }];
  delete schema.oneOf;
}

function hasFormat(schema: unknown): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"format":"');
}

/** Removes references to other documents, and unresolvable ones, on which the compiler throws. */
function mendRefs(schema: Schema, root: Schema): void {
  for (const key of ['$ref', '$dynamicRef']) {
    const target = schema[key];
    if (target !== undefined && resolveRef(root, target) === undefined) delete schema[key];
  }
}
