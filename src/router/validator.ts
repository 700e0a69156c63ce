/** Compiles JSON schemas into validators on first use; a schema that does not compile disables the check. */

import { createHash } from 'node:crypto';
import type { Ajv, ErrorObject, Options } from 'ajv';
import { BoundedMap } from '../bounded-map.ts';
import { plain } from '../lossless-json.ts';
import { isSchema, type Schema } from '../render/schema-refs.ts';
import { type Prepared, prepareSchema } from './sanitize-schema.ts';

/** Returns the validation errors of a value; none if it is valid or cannot be validated. */
export type Validator = (value: unknown) => ErrorObject[];

export interface Validators {
  /**
   * Returns the validator, at once if the schema is compiled; undefined if there is no schema, or if it is too large or
   * does not compile.
   */
  get(schema: unknown): Promise<Validator | undefined> | Validator | undefined;
}

/**
 * Maximum number of validators in the cache, which is keyed by schema content: each connection creates new objects
 * with the same content.
 */
const MAX_KEPT = 500;
/** Maximum nesting depth of arguments that are validated against a recursive schema. */
const MAX_RECURSION = 16;

const OPTIONS: Options = {
  strict: false,
  logger: false,
  allErrors: true,
  verbose: true,
  ownProperties: true,
  validateSchema: false,
  addUsedSchema: false,
  meta: false,
  // JSON Schema 2020-12: `format` is an annotation; a server may accept other texts.
  validateFormats: false,
  // The code is larger but compiles nearly three times as fast, and most validators run only a few times.
  inlineRefs: false,
  code: { optimize: false },
};

/**
 * Keywords whose errors are ignored for numbers that JavaScript rounds: the rounded number may fail where the exact
 * one passes.
 */
const TELLING_APART: ReadonlySet<string> = new Set(['uniqueItems', 'enum', 'const', 'multipleOf']);

export function createValidators(): Validators {
  const compiled = new WeakMap<Schema, { validator: Validator | undefined }>();
  const byContent = new BoundedMap<string, Promise<Validator | undefined>>(MAX_KEPT);
  const compilers = new Map<Prepared['dialect'], Promise<Ajv>>();

  async function compile(schema: Schema): Promise<Validator | undefined> {
    const prepared = prepareSchema(schema);
    if (prepared === undefined) return undefined;
    const compiler = compilers.get(prepared.dialect) ?? loadCompiler(prepared.dialect);
    compilers.set(prepared.dialect, compiler);
    return compileWith(await compiler, prepared);
  }

  async function kept(schema: Schema): Promise<Validator | undefined> {
    const key = createHash('sha256').update(JSON.stringify(schema)).digest('base64');
    const found = byContent.get(key) ?? compile(schema);
    byContent.set(key, found);
    return found;
  }

  return {
    get(schema) {
      if (!isSchema(schema)) return undefined;
      const known = compiled.get(schema);
      if (known !== undefined) return known.validator;
      return kept(schema).then((validator) => {
        compiled.set(schema, { validator });
        return validator;
      });
    },
  };
}

/** Loads ajv before the first check and not at startup, because that takes tens of milliseconds. */
async function loadCompiler(dialect: Prepared['dialect']): Promise<Ajv> {
  if (dialect === '2020-12') return new (await import('ajv/dist/2020.js')).Ajv2020(OPTIONS);
  return new (await import('ajv')).Ajv(OPTIONS);
}

function compileWith(ajv: Ajv, { schema, recursive }: Prepared): Validator | undefined {
  try {
    const validate = ajv.compile(schema as Schema);
    // ajv keeps every schema that it compiles; the cache in this file is bounded instead.
    ajv.removeSchema(schema as Schema);
    return (value) => {
      if (recursive && isDeeper(value, MAX_RECURSION)) return [];
      try {
        // Schema keywords compare JavaScript numbers.
        const nearest = plain(value);
        const errors = validate(nearest) ? [] : (validate.errors ?? []);
        return nearest === value ? errors : errors.filter(({ keyword }) => !TELLING_APART.has(keyword));
      } catch {
        // A schema that contains itself recurses until the stack overflows, so there is no verdict.
        return [];
      }
    };
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}
