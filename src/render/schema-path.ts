/** Finds the part of a tool's schema that a path names: `properties/attendees/items`, or the names alone: `attendees`. */
import { dereference, directParts, isSchema, type Schema } from './schema-refs.ts';

/** Maximum levels of alternatives and items that are looked through for one name. */
const MAX_DEPTH = 6;
/** Maximum steps of a path. */
const MAX_STEPS = 64;

interface Schemas {
  inputSchema?: unknown;
  outputSchema?: unknown;
}

/** Returns the schema at the path and the document that its references are resolved in; undefined if there is none. */
export function schemaAt(
  { inputSchema, outputSchema }: Schemas,
  path: string,
): { schema: Schema; root: unknown } | undefined {
  const keys = path
    .split('/')
    .filter((key) => key !== '')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (keys.length === 0 || keys.length > MAX_STEPS) return undefined;
  const input = within(inputSchema, inputSchema, keys);
  if (input !== undefined) return { schema: input, root: inputSchema };
  if (keys[0] !== 'outputSchema' || !isSchema(outputSchema)) return undefined;
  const output = keys.length === 1 ? outputSchema : within(outputSchema, outputSchema, keys.slice(1));
  return output && { schema: output, root: outputSchema };
}

/** Follows the keys: each is the name of a property, or a key of the schema itself. */
function within(root: unknown, value: unknown, keys: string[]): Schema | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) return isSchema(value) ? value : undefined;
  const found = named(root, value, key, 0)
    .map((property) => within(root, property, rest))
    .filter((schema) => schema !== undefined);
  const distinct = [...new Set(found)];
  // Alternatives may have different properties of one name.
  if (distinct.length > 1) return { anyOf: distinct };
  return distinct[0] ?? literally(root, value, key, rest);
}

function literally(root: unknown, value: unknown, key: string, rest: string[]): Schema | undefined {
  const target = isSchema(value) ? dereference(root, value) : value;
  for (const holder of [value, target]) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) continue;
    const found = within(root, (holder as Schema)[key], rest);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the properties of this name in the schema, its alternatives and its items. */
function named(root: unknown, value: unknown, key: string, depth: number): unknown[] {
  const schema = dereference(root, value);
  if (!isSchema(schema) || depth > MAX_DEPTH) return [];
  const { properties, items, additionalProperties } = schema;
  if (isSchema(properties) && Object.hasOwn(properties, key)) return [properties[key]];
  const around = [...directParts(schema), items, additionalProperties];
  return around.flatMap((part) => named(root, part, key, depth + 1));
}
