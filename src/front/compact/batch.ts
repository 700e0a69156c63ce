/** Runs a batch of calls in order, read-only ones at the same time; a failure stops the rest unless told otherwise. */
import { McpxError } from '../../errors.ts';
import { parseLossless } from '../../lossless-json.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { MAX_CALLS } from './call-count.ts';
import { knownCall } from './exec-arguments.ts';
import { isAbsent } from './exec-members.ts';
import { createFanOut, type Elements } from './fan-out.ts';
import { callsIn, createRetainer, type Scope, type StoredResults } from './reference-lookup.ts';
import type { Given } from './result-values.ts';

/** Maximum number of calls at the same time: one batch must not use up the client's share of all calls. */
const MAX_PARALLEL = 8;

/** The outcome of one call: the result for the client, and what later calls may refer to (absent if it failed). */
export interface Ran<T> {
  shown: T;
  given?: Given;
}

/** The position of a call in a batch, and of an element in its `each`. */
export interface Place {
  index: number;
  element?: number;
  /** Number of elements of the `each`. */
  of?: number;
}

export type Outcome<T> = { shown: T } | { elements: Elements<T> } | { skippedAfter: number };

export interface BatchOptions<T> {
  /** Returns the call with its references replaced. */
  resolve(call: Params, scope: Scope): Promise<Params>;
  run(call: Params, place: Place, together?: { arguments: unknown[] }): Promise<Ran<T>>;
  /** Returns the result for a failed call. */
  failed(error: unknown, place: Place): T;
  isReadOnly(call: Params): Promise<boolean>;
  stored: StoredResults;
}

/** A batch as the client wrote it. */
export interface Batch {
  calls: Params[];
  /** Runs all calls at the same time, except that a call waits for those that it refers to. */
  parallel: boolean;
  /** Undefined lets a failure stop later calls, and the elements of one `each` go on. */
  onError: 'stop' | 'continue' | undefined;
}

/** Reads the calls of a batch: an array, one call, or the JSON text of either. Throws if it could not be run as a whole. */
export function readBatch({ calls: given, parallel, onError }: Params): Batch {
  const list = typeof given === 'string' ? parsed(given) : given;
  const calls = isRecord(list) ? [list] : list;
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
  if (onError !== undefined && onError !== null && onError !== 'stop' && onError !== 'continue') {
    throw new McpxError('arguments', '"onError" must be "stop" or "continue"');
  }
  return {
    calls: calls.map(readCall),
    parallel: parallel === true || parallel === 'true',
    onError: onError ?? undefined,
  };
}

/** Returns the call under its documented names. Parses arguments and lists that arrive as JSON text, because they may contain references. */
function readCall(given: Params): Params {
  const call = knownCall(given);
  const { arguments: args, each } = call;
  const isText = (value: unknown, opening: string): value is string =>
    typeof value === 'string' && value.trimStart().startsWith(opening);
  const object = isText(args, '{') ? parsed(args) : undefined;
  const list = isText(each, '[') || isText(each, '{') ? parsed(each) : undefined;
  return { ...call, ...(isRecord(object) && { arguments: object }), ...(list !== undefined && { each: list }) };
}

function parsed(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return undefined;
  }
}

interface Step<T> {
  outcome: Outcome<T>;
  given?: Given | undefined;
  isFailed: boolean;
}

/** Returns the outcomes in the order of the calls. Throws before any call runs if an `each` is known to be too long. */
export async function runBatch<T>(batch: Batch, options: BatchOptions<T>): Promise<Outcome<T>[]> {
  const { calls, parallel, onError } = batch;
  const { resolve, run, failed, isReadOnly, stored } = options;
  const steps: Promise<Step<T>>[] = [];
  const wanted = new Set(calls.flatMap(calledBy));
  const limited = createLimiter(MAX_PARALLEL);
  const scopeOf = (own: number): Scope => ({ own, stored, earlier: async (call) => (await steps[call])?.given });
  const plain = calls.filter(({ each }) => isAbsent(each)).length;
  const retained = createRetainer();
  const retain = (index: number, given: Given) => (wanted.has(index) ? retained(given) : undefined);
  const fanOut = createFanOut({ ...options, ...batch, limited, scopeOf, retain, room: MAX_CALLS - plain });
  await fanOut.prepare();

  async function runOne(call: Params, index: number): Promise<Step<T>> {
    try {
      const whole = await resolve(call, scopeOf(index));
      const { shown, given } = await limited(() => run(whole, { index }));
      return { outcome: { shown }, isFailed: given === undefined, given: given && retain(index, given) };
    } catch (error) {
      return { outcome: { shown: failed(error, { index }) }, isFailed: true };
    }
  }

  async function runStep(call: Params, index: number): Promise<Step<T>> {
    if (isAbsent(call.each)) return runOne(call, index);
    try {
      const { elements, given, isFailed } = await fanOut.run(call, index);
      return { outcome: { elements }, given, isFailed };
    } catch (error) {
      return { outcome: { shown: failed(error, { index }) }, isFailed: true };
    }
  }

  /** Returns the end of the group that begins here: one call, or all the read-only calls that follow each other. */
  async function groupEnd(from: number): Promise<number> {
    if (parallel) return calls.length;
    let end = from;
    while (end < calls.length && (await isReadOnly(calls[end] as Params))) end += 1;
    return Math.max(end, from + 1);
  }

  for (let from = 0; from < calls.length; ) {
    const end = await groupEnd(from);
    for (let index = from; index < end; index += 1) steps.push(runStep(calls[index] as Params, index));
    const done = await Promise.all(steps.slice(from));
    const bad = onError === 'continue' ? -1 : done.findIndex(({ isFailed }) => isFailed);
    const outcome: Outcome<T> = { skippedAfter: from + bad };
    if (bad >= 0) while (steps.length < calls.length) steps.push(Promise.resolve({ outcome, isFailed: true }));
    from = steps.length;
  }
  return (await Promise.all(steps)).map(({ outcome }) => outcome);
}

/** Returns the earlier calls whose results a call needs; results that no call needs are not kept meanwhile. */
function calledBy({ arguments: args, each }: Params, own: number): number[] {
  const list = typeof each === 'string' ? { $from: each } : each;
  try {
    return callsIn([args, list], own);
  } catch {
    // The call itself reports the reference.
    return [];
  }
}

export type Limiter = <R>(work: () => Promise<R>) => Promise<R>;

function createLimiter(most: number): Limiter {
  let free = most;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
