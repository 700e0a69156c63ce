/** Repairs arguments that failed validation where only one repair is valid: "5" to 5, "true" to true, x to [x]. */
import type { ErrorObject } from 'ajv';
import { parseLossless } from '../lossless-json.ts';
import type { Validator } from './validator.ts';

type Args = Record<string, unknown>;

/** Maximum number of rounds: a repaired array may hold values that need repair. */
const MAX_ROUNDS = 4;
/** Maximum number of values repaired in one round. */
const MAX_PLACES = 20;

/** Returns a copy with fewer errors, or the same object if nothing could be repaired. */
export function heal(args: Args, validate: Validator): Args {
  let current = args;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const mended = healOnce(current, validate);
    if (mended === undefined) return current;
    current = mended;
  }
  return current;
}

function healOnce(args: Args, validate: Validator): Args | undefined {
  const copy = parseLossless(JSON.stringify(args)) as Args;
  let changed = false;
  for (const [path, types] of wantedTypes(validate(args))) {
    const keys = pointerKeys(path);
    const place = find(copy, keys);
    if (place === undefined) continue;
    const original = place.holder[place.key];
    const fitting = candidates(original, types).filter((candidate) => {
      place.holder[place.key] = candidate;
      return !validate(copy).some((error) => error.instancePath === path);
    });
    // Two valid repairs are ambiguous, so the original value stays.
    place.holder[place.key] = fitting.length === 1 ? fitting[0] : original;
    changed ||= fitting.length === 1;
  }
  return changed ? copy : undefined;
}

/** Returns the types that the schema expects, by path. */
function wantedTypes(errors: ErrorObject[]): Map<string, Set<string>> {
  const wanted = new Map<string, Set<string>>();
  for (const { keyword, instancePath, params } of errors) {
    if (keyword !== 'type' || instancePath === '' || wanted.size >= MAX_PLACES) continue;
    const types = wanted.get(instancePath) ?? new Set();
    for (const type of [params.type].flat()) types.add(String(type));
    wanted.set(instancePath, types);
  }
  return wanted;
}

function candidates(value: unknown, types: Set<string>): unknown[] {
  const found = [...types].flatMap((type) => READINGS.get(type)?.(value) ?? []);
  return [...new Map(found.map((candidate) => [JSON.stringify(candidate), candidate])).values()];
}

const READINGS: ReadonlyMap<string, (value: unknown) => unknown[]> = new Map([
  ['number', readNumber],
  ['integer', readNumber],
  [
    'boolean',
    (value: unknown) => (/^(true|false)$/i.test(textOf(value)) ? [textOf(value).toLowerCase() === 'true'] : []),
  ],
  ['null', (value: unknown) => (value === 'null' ? [null] : [])],
  ['object', (value: unknown) => readJson(value, '{')],
  ['array', readList],
]);

/** Accepts only numbers that JavaScript represents exactly: an id of twenty digits stays text. */
function readNumber(value: unknown): unknown[] {
  const text = textOf(value).trim();
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return [];
  const number = Number(text);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? [number] : [];
}

/** Does not wrap a text with commas or line breaks, which may be one item or several. */
function readList(value: unknown): unknown[] {
  if (value === null || value === undefined || Array.isArray(value)) return [];
  const parsed = readJson(value, '[');
  if (parsed.length > 0) return parsed;
  return /[,\n]/.test(textOf(value)) ? [] : [[value]];
}

function readJson(value: unknown, opening: '{' | '['): unknown[] {
  if (!textOf(value).trimStart().startsWith(opening)) return [];
  try {
    return [parseLossless(textOf(value))];
  } catch {
    return [];
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function pointerKeys(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the object or array that contains the value, and the value's key in it. */
function find(root: Args, keys: string[]): { holder: Args; key: string } | undefined {
  const key = keys.at(-1);
  let holder: unknown = root;
  for (const step of keys.slice(0, -1))
    holder = isHolder(holder) && Object.hasOwn(holder, step) ? holder[step] : undefined;
  return key !== undefined && isHolder(holder) && Object.hasOwn(holder, key) ? { holder, key } : undefined;
}

function isHolder(value: unknown): value is Args {
  return typeof value === 'object' && value !== null;
}
