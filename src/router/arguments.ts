/** Validates arguments against a tool's input schema before the call is sent, and repairs unambiguous mistakes. */
import { parseLossless, plain } from '../lossless-json.ts';
import { dereference, isSchema } from '../render/schema-refs.ts';
import { cut, nearest } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
import { heal } from './healing.ts';
import { maskJsonText } from './redact-arguments.ts';
import { type Problem, validationErrorsOf } from './validation-errors.ts';
import { createValidators, type Validator } from './validator.ts';

export { exampleArguments } from './example.ts';
export type { Problem } from './validation-errors.ts';

type Args = Record<string, unknown>;

export type Checked =
  /**
   * `notes` are warnings about keys that the schema does not declare: each names the nearest declared key, or all
   * declared keys.
   */
  { ok: true; args: Args; notes: string[] } | { ok: false; problems: Problem[] };

export interface ArgumentChecker {
  /**
   * Returns the verdict, at once if the schema is compiled. Never fails: a tool whose schema is missing or does not
   * compile accepts all arguments.
   */
  check(tool: { inputSchema?: unknown }, args: unknown): Promise<Checked> | Checked;
}

export function createArgumentChecker(): ArgumentChecker {
  const validators = createValidators();
  return {
    check({ inputSchema }, given) {
      const args = unwrapped(readArguments(given), inputSchema);
      if (args === undefined) {
        return { ok: false, problems: [{ path: '', message: `must be an object, got ${kindOf(plain(given))}` }] };
      }
      const found = validators.get(inputSchema);
      if (!(found instanceof Promise)) return verdict(found, args, inputSchema);
      return found.then(
        (validate) => verdict(validate, args, inputSchema),
        () => ({ ok: true, args, notes: [] }),
      );
    },
  };
}

function verdict(validate: Validator | undefined, args: Args, schema: unknown): Checked {
  try {
    return validate === undefined ? { ok: true, args, notes: [] } : checkWith(validate, args, schema);
  } catch {
    // The arguments are nested too deeply for the call stack, so the upstream validates them.
    return { ok: true, args, notes: [] };
  }
}

function checkWith(validate: Validator, args: Args, schema: unknown): Checked {
  if (validate(args).length === 0) return { ok: true, args, notes: notesOn(args, schema) };
  const healed = heal(args, validate);
  const errors = validate(healed);
  if (errors.length > 0) return { ok: false, problems: validationErrorsOf(errors) };
  return { ok: true, args: healed, notes: notesOn(healed, schema) };
}

/** Accepts an object, the JSON text of an object, an empty text or no value; returns undefined for anything else. */
export function readArguments(given: unknown): Args | undefined {
  if (given === undefined || given === null) return {};
  if (isRecord(given)) return given;
  if (typeof given !== 'string') return undefined;
  if (given.trim() === '') return {};
  try {
    const parsed = parseLossless(given);
    // Some clients encode arguments as JSON twice.
    const value = typeof parsed === 'string' ? parseLossless(parsed) : parsed;
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Names under which models nest the arguments once more. */
const WRAPPERS = ['arguments', 'args', 'params', 'parameters', 'input', 'kwargs'];

export const isWrapper = (name: string): boolean => WRAPPERS.includes(name);

/** Returns the inner object of `{"args": {…}}` if the tool declares all of its keys, and no parameter of the outer name. */
function unwrapped(args: Args | undefined, schema: unknown): Args | undefined {
  const [name = '', ...others] = Object.keys(args ?? {});
  if (args === undefined || others.length > 0 || !isWrapper(name) || !isSchema(schema)) return args;
  const { properties } = schema;
  const inner = readArguments(args[name]);
  if (!isSchema(properties) || Object.hasOwn(properties, name) || inner === undefined) return args;
  return Object.keys(inner).every((key) => Object.hasOwn(properties, key)) ? inner : args;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'string'
    ? `text that is not a JSON object: ${JSON.stringify(cut(maskJsonText(value.slice(0, 200)), 60))}`
    : typeof value;
}

/** Keywords that may declare keys outside `properties`; beside them, an undeclared key may be valid. */
const ELSEWHERE = ['allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas', 'propertyNames'];
const MAX_NOTES = 10;
/** Maximum number of declared names in a note. */
const MAX_KNOWN = 20;
/** Limits of the search for unknown keys: nesting depth, and items of an array. */
const MAX_DEPTH = 4;
const MAX_ITEMS = 20;

function notesOn(args: Args, schema: unknown): string[] {
  return unknownKeys(args, schema, { root: schema, path: '', depth: 0 })
    .slice(0, MAX_NOTES)
    .map(({ key, near, known }) => {
      const meant = near === undefined ? `the known ones are ${known.join(', ')}` : `did you mean "${near}"?`;
      return `unknown property ${JSON.stringify(key)} was passed on; ${meant}`;
    });
}

interface Spot {
  root: unknown;
  /** A path such as `items[0].`; empty at the top level. */
  path: string;
  depth: number;
}

interface Unknown {
  key: string;
  near: string | undefined;
  known: string[];
}

/**
 * Returns the undeclared keys of an open schema: keys that resemble a declared key without a value and, at the top
 * level, every key unless `additionalProperties` is true.
 */
function unknownKeys(value: unknown, given: unknown, { root, path, depth }: Spot): Unknown[] {
  const schema = dereference(root, given);
  if (!isSchema(schema) || depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) {
    const inside = (item: unknown, index: number) =>
      unknownKeys(item, schema.items, { root, path: `${path.replace(/\.$/, '')}[${index}].`, depth: depth + 1 });
    return value.slice(0, MAX_ITEMS).flatMap(inside);
  }
  const { properties, additionalProperties } = schema;
  if (!isRecord(value) || !isSchema(properties)) return [];
  const isClear = !isSchema(additionalProperties) && !ELSEWHERE.some((keyword) => keyword in schema);
  const free = () => Object.keys(properties).filter((name) => !Object.hasOwn(value, name));
  return Object.keys(value).flatMap((key) => {
    if (Object.hasOwn(properties, key)) {
      return unknownKeys(value[key], properties[key], { root, path: `${path}${key}.`, depth: depth + 1 });
    }
    const [near] = isClear ? nearest(key, free(), 1) : [];
    const known = Object.keys(properties).slice(0, MAX_KNOWN);
    const isOdd = isClear && depth === 0 && additionalProperties !== true && known.length > 0;
    if (near === undefined) return isOdd ? [{ key, near, known }] : [];
    return [{ key: path + key, near: path + near, known }];
  });
}
