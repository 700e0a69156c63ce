/** Checks arguments against a tool's schema before anything is sent, and mends what has only one meaning. */
import { isSchema, type Schema } from '../render/schema.ts';
import { cut, nearest } from '../render/text.ts';
import { heal } from './healing.ts';
import { type Problem, problemsOf } from './problems.ts';
import { createValidators, type Validator } from './validator.ts';

export { exampleArguments } from './example.ts';
export type { Problem } from './problems.ts';

type Args = Record<string, unknown>;

export type Checked =
  /** `notes`: keys that the schema does not declare, passed on, with the name they may have been meant for. */
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
        return { ok: false, problems: [{ path: '', message: `must be an object, got ${kindOf(given)}` }] };
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
  if (isSchema(given)) return given;
  if (typeof given !== 'string') return undefined;
  if (given.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(given);
    // Some clients encode twice.
    const value = typeof parsed === 'string' ? JSON.parse(parsed) : parsed;
    return isSchema(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'string' ? `text that is no JSON object: ${JSON.stringify(cut(value, 60))}` : typeof value;
}

function notesOn(args: Args, schema: unknown): string[] {
  const properties = (schema as Schema).properties;
  if (!isSchema(properties)) return [];
  const free = Object.keys(properties).filter((name) => !Object.hasOwn(args, name));
  return Object.keys(args)
    .filter((key) => !Object.hasOwn(properties, key))
    .flatMap((key) => {
      const [near] = nearest(key, free, 1);
      return near === undefined
        ? []
        : [`unknown property ${JSON.stringify(key)} was passed on; did you mean "${near}"?`];
    });
}
