/** Reads JSON Schemas of servers: resolves local references, and selects the subschemas that get a name of their own. */

export type Schema = Record<string, unknown>;

/** Maximum number of nodes visited in one schema; further nodes are treated as unknown. */
const MAX_NODES = 20_000;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the target of `$ref` inside `root`, or undefined; references to other documents are never followed. */
export function resolveRef(root: unknown, ref: unknown): unknown {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined;
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return findAnchor(root, ref.slice(1));
  let value: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    const key = unescapePointer(part);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Schema)[key];
  }
  return value;
}

function unescapePointer(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

function findAnchor(root: unknown, anchor: string): unknown {
  if (!isSchema(root)) return undefined;
  const definitions = [root.$defs, root.definitions].filter(isSchema).flatMap((group) => Object.values(group));
  return [root, ...definitions].find(
    (schema) => isSchema(schema) && (schema.$anchor === anchor || schema.$dynamicAnchor === anchor),
  );
}

/** Returns the schema itself, or the end of its chain of references; undefined if the chain is broken or circular. */
export function dereference(root: unknown, schema: unknown): unknown {
  if (!isSchema(schema) || refOf(schema) === undefined) return schema;
  const seen = new Set<unknown>();
  let current: unknown = schema;
  while (isSchema(current) && refOf(current) !== undefined) {
    if (seen.has(current)) return undefined;
    seen.add(current);
    current = resolveRef(root, refOf(current));
  }
  return current;
}

export function refOf(schema: Schema): string | undefined {
  const ref = schema.$ref ?? schema.$dynamicRef;
  return typeof ref === 'string' ? ref : undefined;
}

export function schemasIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the alternatives and parts that describe the same value, without an object or array level between. */
export function directParts(schema: Schema): unknown[] {
  const { anyOf, oneOf, allOf, then, else: otherwise } = schema;
  return [...schemasIn(anyOf), ...schemasIn(oneOf), ...schemasIn(allOf), then, otherwise];
}

/** Returns every subschema that the rendering visits. */
function parts(schema: Schema): unknown[] {
  const { properties, patternProperties, items, prefixItems, additionalItems, additionalProperties } = schema;
  const groups = [properties, patternProperties].filter(isSchema).flatMap((group) => Object.values(group));
  const lists = [...schemasIn(prefixItems), ...schemasIn(items)];
  return [...groups, ...lists, items, additionalItems, additionalProperties, ...directParts(schema)];
}

/**
 * Returns names for the subschemas that are recursive, or referenced more than once and too long to repeat; `refs` gets
 * their references.
 */
export function namedSchemas(root: unknown, taken: Set<string>, refs: Map<Schema, string>): Map<Schema, string> {
  const survey = surveyOf(root);
  const names = new Map<Schema, string>();
  for (const [schema, { ref, uses, recursive }] of survey) {
    const worth = recursive || (ref !== undefined && uses > 1 && isHeavy(schema));
    if (!worth) continue;
    names.set(schema, freeName(ref ?? '#', taken));
    refs.set(schema, ref ?? '#');
  }
  return names;
}

interface Use {
  /** The first reference to the schema. */
  ref?: string;
  uses: number;
  recursive: boolean;
}

function surveyOf(root: unknown): Map<Schema, Use> {
  const found = new Map<Schema, Use>();
  const open = new Set<Schema>();
  const visit = (value: unknown, ref?: string) => {
    if (!isSchema(value) || found.size > MAX_NODES) return;
    const known = found.get(value);
    if (known) {
      known.uses += 1;
      known.ref ??= ref as string;
      if (open.has(value)) known.recursive = true;
      return;
    }
    found.set(value, { ...(ref === undefined ? {} : { ref }), uses: 1, recursive: false });
    open.add(value);
    const to = refOf(value);
    if (to !== undefined) visit(resolveRef(root, to), to);
    for (const part of parts(value)) visit(part);
    open.delete(value);
  };
  visit(root);
  return found;
}

/** True if repeating the type costs more than a name: it has structure, alternatives or references of its own. */
function isHeavy(schema: Schema): boolean {
  const { properties, enum: values, anyOf, oneOf, allOf, patternProperties } = schema;
  const structured = [properties, anyOf, oneOf, allOf, patternProperties].some((value) => value !== undefined);
  return structured || refOf(schema) !== undefined || (Array.isArray(values) && JSON.stringify(values).length > 60);
}

/** Returns an unused name: "#/$defs/graph.Message" becomes Message; a taken name gets a number. */
function freeName(ref: string, taken: Set<string>): string {
  const words = ref
    .split('/')
    .filter((part) => !/^(#|properties|items|\$defs|definitions|anyOf|oneOf|allOf|\d+)$/.test(part));
  const last =
    unescapePointer(words.at(-1) ?? 'Args')
      .split(/[./]|__/)
      .at(-1) ?? '';
  const pascal = (last.replace(/[\uD800-\uDFFF]/g, '').match(/[\p{L}\p{Nd}]+/gu) ?? [])
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
  const base = [...(/^\p{L}/u.test(pascal) ? pascal : `T${pascal}`)].slice(0, 40).join('');
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}${number}`;
  taken.add(name);
  return name;
}
