/** Runs a batch of calls: in parallel unless one refers to another's result, each with its own result or error. */
import { McpxError } from '../../errors.ts';
import { isLosslessNumber, parseLossless, plain } from '../../lossless-json.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { MAX_CALLS } from './dialect.ts';

/** Maximum nesting depth of references in the arguments of a call. */
const MAX_DEPTH = 32;

/** The outcome of one call: the result for the client, and the values that later calls may refer to. */
export interface BatchSlot<T> {
  shown: T;
  /**
   * Alternative JSON values of the result; a reference uses the first one that contains its path. Absent for a failed
   * call; calls that refer to it do not run.
   */
  values?: unknown[];
}

export interface BatchOptions<T> {
  run(call: Params, index: number): Promise<BatchSlot<T>>;
  /** Returns the result for a failed call; the other calls continue. */
  failed(error: unknown, index: number): T;
}

/** Reads the calls of a batch: at most twenty objects, as an array or as its JSON text. */
export function readCalls(given: unknown): Params[] {
  const calls = typeof given === 'string' ? parsed(given) : given;
  if (!Array.isArray(calls) || !calls.every(isRecord)) {
    throw new McpxError('arguments', '"calls" must be a list of calls', {
      hint: 'each one is an object, written as if it were alone',
    });
  }
  if (calls.length === 0 || calls.length > MAX_CALLS) {
    throw new McpxError('arguments', `"calls" has ${calls.length} calls: there must be 1 to ${MAX_CALLS}`);
  }
  const nested = calls.findIndex((call) => call.calls !== undefined);
  if (nested >= 0) throw new McpxError('arguments', `call ${nested} is itself a batch: list its calls with the others`);
  return calls;
}

function parsed(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return undefined;
  }
}

export function runBatch<T>(calls: Params[], { run, failed }: BatchOptions<T>): Promise<T[]> {
  const slots: Promise<BatchSlot<T>>[] = [];
  for (const [index, call] of calls.entries()) {
    const begin = async (): Promise<BatchSlot<T>> => {
      try {
        const args = readArguments(call.arguments);
        const values = new Map<number, unknown[]>();
        for (const earlier of referencesIn(args, index)) {
          // References point to earlier calls only, so there are no cycles.
          const readings = (await slots[earlier])?.values;
          if (readings === undefined) {
            throw new McpxError('arguments', `not run: it refers to call ${earlier}, which failed`);
          }
          values.set(earlier, readings);
        }
        return await run(args === undefined ? call : { ...call, arguments: filledIn(args, values, 0) }, index);
      } catch (error) {
        return { shown: failed(error, index) };
      }
    };
    slots.push(begin());
  }
  return Promise.all(slots.map(async (slot) => (await slot).shown));
}

/** Parses arguments that arrive as JSON text, because they may contain references. */
function readArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const value = parsed(given);
  return isRecord(value) ? value : given;
}

/** Returns the text of a reference, which is an object whose only key is `$from`. */
function referenceOf(value: unknown): string | undefined {
  if (!isRecord(value) || !Object.hasOwn(value, '$from') || Object.keys(value).length !== 1) return undefined;
  return typeof value.$from === 'string' ? value.$from : JSON.stringify(value.$from);
}

/** Returns the calls that a value refers to; throws for a reference to a call that is not earlier. */
function referencesIn(value: unknown, own: number, depth = 0): Set<number> {
  const reference = referenceOf(value);
  if (reference !== undefined) return new Set([readReference(reference, own).index]);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return new Set();
  return new Set(Object.values(value).flatMap((inner) => [...referencesIn(inner, own, depth + 1)]));
}

interface Reference {
  index: number;
  path: (string | number)[];
}

/** A step of a path: `.name`, `[0]` or `["any name"]`. */
const STEP = /^(?:\.([^.[\]"]+)|\[(-?\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])/;

function readReference(text: string, own: number): Reference {
  const start = /^\d{1,3}(?=[.[]|$)/.exec(text)?.[0];
  const path: Reference['path'] = [];
  let rest = start === undefined ? 'x' : text.slice(start.length);
  for (let step = STEP.exec(rest); step !== null; step = STEP.exec(rest)) {
    const [whole, name, at, quoted] = step;
    path.push(at !== undefined ? Number(at) : (name ?? String(JSON.parse(quoted ?? '""'))));
    rest = rest.slice(whole.length);
  }
  if (rest !== '') {
    throw new McpxError('arguments', `${JSON.stringify(text)} is no reference`, {
      hint: 'write the number of an earlier call and a path in its result, such as {"$from": "0.items[0].id"}',
    });
  }
  const index = Number(start);
  if (index >= own) {
    const which = own === 0 ? 'the first call has none before it' : `this is call ${own}`;
    throw new McpxError('arguments', `"$from" ${JSON.stringify(text)} must name an earlier call: ${which}`);
  }
  return { index, path };
}

function filledIn(value: unknown, values: ReadonlyMap<number, unknown[]>, depth: number): unknown {
  const reference = referenceOf(value);
  if (reference !== undefined) return lookUp(reference, values);
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((inner) => filledIn(inner, values, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filledIn(inner, values, depth + 1)]));
}

function lookUp(text: string, values: ReadonlyMap<number, unknown[]>): unknown {
  const { index, path } = readReference(text, Infinity);
  const found = (values.get(index) ?? []).map((value) => follow(value, path, String(index)));
  const there = found.find((one) => one.missing === undefined);
  if (there !== undefined) return there.value;
  const last = found.at(-1);
  throw nothingAt(text, last?.missing ?? '', plain(last?.value));
}

/** Returns the value at the end of a path, or the last value that exists and its path. */
function follow(from: unknown, path: Reference['path'], start: string): { value: unknown; missing?: string } {
  let value = from;
  let at = start;
  for (const step of path) {
    const key = typeof step === 'number' && step < 0 && Array.isArray(value) ? value.length + step : step;
    const isHolder = typeof value === 'object' && value !== null && !isLosslessNumber(value);
    if (!isHolder || !Object.hasOwn(value as object, key)) return { value, missing: at };
    value = (value as Record<string | number, unknown>)[key];
    at += typeof step === 'number' ? `[${step}]` : `.${step}`;
  }
  return { value };
}

function nothingAt(text: string, at: string, value: unknown): McpxError {
  const what =
    typeof value !== 'object' || value === null
      ? `is ${value === null ? 'null' : `a ${typeof value}`}`
      : Array.isArray(value)
        ? `is a list of ${value.length}`
        : `has the keys ${Object.keys(value).slice(0, 20).join(', ')}`;
  return new McpxError('arguments', `not run: there is nothing at "$from" ${JSON.stringify(text)}; "${at}" ${what}`);
}
