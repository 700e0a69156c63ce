/** Checks arguments against a tool's schema before anything is sent, and mends what has only one meaning. */
import { parseExact, plain } from '../exact.ts';
import { dereference, isSchema } from '../render/schema.ts';
import { cut, nearest } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
import { heal } from './healing.ts';
import { maskJsonText } from './masked.ts';
import { type Problem, problemsOf } from './problems.ts';
import { createValidators, type Validator } from './validator.ts';

export { exampleArguments } from './example.ts';
export type { Problem } from './problems.ts';

type Args = Record<string, unknown>;

export type Checked =
  /** `notes`: keys that the schema does not declare, passed on, with the name they may have been meant for, else those that it knows. */
  { ok: true; args: Args; notes: string[] } | { ok: false; problems: Problem[] };

export interface ArgumentChecker {
  /** Never throws: a tool without a schema, or with one that cannot be compiled, takes everything. */
  check(tool: { inputSchema?: unknown }, args: unknown): Promise<Checked>;
}

export function createArgumentChecker(): ArgumentChecker {
  const validators = createValidators();
  return {
    async check({ inputSchema }, given) {
      const args = readArguments(given);
      if (args === undefined) {
        return { ok: false, problems: [{ path: '', message: `must be an object, got ${kindOf(plain(given))}` }] };
      }
      try {
        const validate = await validators.get(inputSchema);
        return validate === undefined ? { ok: true, args, notes: [] } : checkWith(validate, args, inputSchema);
      } catch {
        // Nested beyond the stack: nothing can be told, and the upstream is the better judge.
        return { ok: true, args, notes: [] };
      }
    },
  };
}

function checkWith(validate: Validator, args: Args, schema: unknown): Checked {
  if (validate(args).length === 0) return { ok: true, args, notes: notesOn(args, schema) };
  const healed = heal(args, validate);
  const errors = validate(healed);
  if (errors.length > 0) return { ok: false, problems: problemsOf(errors) };
  return { ok: true, args: healed, notes: notesOn(healed, schema) };
}

/** Clients and models send an object, a JSON text of one, an empty text or nothing at all. */
function readArguments(given: unknown): Args | undefined {
  if (given === undefined || given === null) return {};
  if (isRecord(given)) return given;
  if (typeof given !== 'string') return undefined;
  if (given.trim() === '') return {};
  try {
    const parsed = parseExact(given);
    // Some clients encode twice.
    const value = typeof parsed === 'string' ? parseExact(parsed) : parsed;
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'string'
    ? `text that is no JSON object: ${JSON.stringify(cut(maskJsonText(value.slice(0, 200)), 60))}`
    : typeof value;
}

/** What may declare keys elsewhere: then a key that is not among the properties need not be unknown. */
const ELSEWHERE = ['allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas', 'propertyNames'];
const MAX_NOTES = 10;
/** Declared names in a note. */
const MAX_KNOWN = 20;
/** How deep unknown keys are looked for, and in how many items of a list. */
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
  /** Such as `items[0].`; empty at the top. */
  path: string;
  depth: number;
}

interface Unknown {
  key: string;
  near: string | undefined;
  known: string[];
}

/**
 * Keys that an open schema does not declare: those that look like one that it does and that is missing, and at the top any that it does not
 * expressly allow.
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
  const free = Object.keys(properties).filter((name) => !Object.hasOwn(value, name));
  return Object.keys(value).flatMap((key) => {
    if (Object.hasOwn(properties, key)) {
      return unknownKeys(value[key], properties[key], { root, path: `${path}${key}.`, depth: depth + 1 });
    }
    const [near] = isClear ? nearest(key, free, 1) : [];
    const known = Object.keys(properties).slice(0, MAX_KNOWN);
    const isOdd = isClear && depth === 0 && additionalProperties !== true && known.length > 0;
    if (near === undefined) return isOdd ? [{ key, near, known }] : [];
    return [{ key: path + key, near: path + near, known }];
  });
}
