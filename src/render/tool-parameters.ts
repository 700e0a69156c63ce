/** The parameters of a tool: their names, and whether there are any. */
import { dereference, directParts, isSchema, schemasIn } from './schema-refs.ts';
import { clean, oneLine } from './text.ts';

const MAX_PARAMETERS = 20;

/** True for a schema without keywords about properties, which does not state that there are no arguments. */
export function isUntold(schema: unknown): boolean {
  return isSchema(schema) && !['type', 'properties', 'additionalProperties'].some((keyword) => keyword in schema);
}

export function takesNothing(schema: unknown): boolean {
  if (!isSchema(schema)) return true;
  const telling = [
    'properties',
    'required',
    'patternProperties',
    'propertyNames',
    'additionalProperties',
    '$ref',
    '$dynamicRef',
    'anyOf',
    'oneOf',
    'allOf',
    'then',
    'else',
    'enum',
    'const',
  ];
  return !telling.some((keyword) => {
    const value = schema[keyword];
    return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : typeof value === 'string';
  });
}

/**
 * Returns the names of a tool's parameters in order, with `?` for optional: "path, tail?". At most `max`; `…` if the
 * schema does not declare them.
 */
export function parameterList(schema: unknown, max = MAX_PARAMETERS): string {
  if (takesNothing(schema) && isUntold(schema)) return '…';
  const all = parameters(schema).map(({ name, required }) => `${oneLine(clean(name))}${required ? '' : '?'}`);
  return all.length > max ? [...all.slice(0, max), '…'].join(', ') : all.join(', ');
}

/** True if a required argument is an object or an array of objects; an example is then clearer than the signature. */
export function hasNestedArguments(schema: unknown): boolean {
  return parameters(schema).some(({ required, schema: property }) => required && isNested(schema, property, 0));
}

function isNested(root: unknown, schema: unknown, depth: number): boolean {
  const target = dereference(root, schema);
  if (!isSchema(target) || depth > 4) return false;
  const { properties, items, additionalProperties } = target;
  if (isSchema(properties) && Object.keys(properties).length > 0) return true;
  if (isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0) return true;
  return [items, ...directParts(target)].some((part) => isNested(root, part, depth + 1));
}

export interface Parameter {
  name: string;
  required: boolean;
  schema: unknown;
}

/**
 * Returns the properties of the top object and of the schemas that it is composed of; those of an alternative are never
 * required.
 */
export function parameters(root: unknown): Parameter[] {
  const found = new Map<string, Parameter>();
  const collect = (schema: unknown, binding: 'certain' | 'alternative', depth: number) => {
    const target = dereference(root, schema);
    if (!isSchema(target) || depth > 4) return;
    const needed = new Set(binding === 'certain' ? schemasIn(target.required) : []);
    for (const [name, property] of isSchema(target.properties) ? Object.entries(target.properties) : []) {
      if (!found.has(name)) found.set(name, { name, required: false, schema: property });
    }
    for (const part of schemasIn(target.allOf)) collect(part, binding, depth + 1);
    for (const part of directParts(target)) collect(part, 'alternative', depth + 1);
    for (const parameter of found.values()) parameter.required ||= needed.has(parameter.name);
  };
  collect(root, 'certain', 0);
  return [...found.values()];
}
