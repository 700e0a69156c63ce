/** Compiles schemas into validators, on first use; one that does not compile means no check, never a refused call. */
import { createHash } from 'node:crypto';
import type { Ajv, ErrorObject, Options } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { FormatsPlugin } from 'ajv-formats';
import { plain } from '../exact.ts';
import { isSchema, type Schema } from '../render/schema.ts';
import { type Prepared, prepareSchema } from './prepare.ts';

/** What is wrong with a value; none when it fits, or when it cannot be told. */
export type Validator = (value: unknown) => ErrorObject[];

export interface Validators {
  /** Undefined when there is nothing to check against. */
  get(schema: unknown): Promise<Validator | undefined>;
}

/** Validators kept by the content of their schema; each connection brings new objects with the same content. */
const MAX_KEPT = 500;
/** Deeper arguments are not checked against a schema that refers to itself. */
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
  // Larger code that compiles nearly three times as fast: most validators run a few times at most.
  inlineRefs: false,
  code: { optimize: false },
};

/** What the nearest number may fail although the number itself does not: another one may have the same. */
const TELLING_APART: ReadonlySet<string> = new Set(['uniqueItems', 'enum', 'const', 'multipleOf']);

/** Those whose expressions are linear in `fast` mode; unknown formats are not checked. */
const FORMATS = ['date', 'time', 'date-time', 'uri', 'email', 'ipv4', 'ipv6', 'uuid'] as const;

export function createValidators(): Validators {
  const bySchema = new WeakMap<Schema, Promise<Validator | undefined>>();
  const byContent = new Map<string, Promise<Validator | undefined>>();
  const compilers = new Map<Prepared['dialect'], Promise<Ajv>>();

  async function compile(schema: Schema): Promise<Validator | undefined> {
    const prepared = prepareSchema(schema);
    if (prepared === undefined) return undefined;
    const compiler = compilers.get(prepared.dialect) ?? loadCompiler(prepared.dialect);
    compilers.set(prepared.dialect, compiler);
    return compileWith(await compiler, prepared);
  }

  function kept(schema: Schema): Promise<Validator | undefined> {
    const key = createHash('sha256').update(JSON.stringify(schema)).digest('base64');
    const found = byContent.get(key) ?? compile(schema);
    byContent.delete(key);
    byContent.set(key, found);
    for (const oldest of byContent.keys()) {
      if (byContent.size <= MAX_KEPT) break;
      byContent.delete(oldest);
    }
    return found;
  }

  return {
    async get(schema) {
      if (!isSchema(schema)) return undefined;
      const found = bySchema.get(schema) ?? kept(schema);
      bySchema.set(schema, found);
      return found;
    },
  };
}

/** Loading and building a compiler takes tens of milliseconds: nothing of it happens before the first check. */
async function loadCompiler(dialect: Prepared['dialect']): Promise<Ajv> {
  const ajv: Ajv | Ajv2020 =
    dialect === '2020-12'
      ? new (await import('ajv/dist/2020.js')).Ajv2020(OPTIONS)
      : new (await import('ajv')).Ajv(OPTIONS);
  const { default: formats } = await import('ajv-formats');
  // As a CommonJS module it is its own default, or has one, depending on who loads it.
  const plugin = formats as unknown as FormatsPlugin & { default?: FormatsPlugin };
  (plugin.default ?? plugin)(ajv, { mode: 'fast', formats: [...FORMATS] });
  return ajv;
}

function compileWith(ajv: Ajv, { schema, recursive }: Prepared): Validator | undefined {
  try {
    const validate = ajv.compile(schema as Schema);
    // The compiler keeps every schema it has seen; ours are kept here, and bounded.
    ajv.removeSchema(schema as Schema);
    return (value) => {
      if (recursive && isDeeper(value, MAX_RECURSION)) return [];
      try {
        // Schemas speak of numbers that can be compared.
        const nearest = plain(value);
        const errors = validate(nearest) ? [] : (validate.errors ?? []);
        return nearest === value ? errors : errors.filter(({ keyword }) => !TELLING_APART.has(keyword));
      } catch {
        // A schema that is its own part recurses without end: nothing can be told.
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
