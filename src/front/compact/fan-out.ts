/** `each`: runs one call of a batch for every element of a list, within the limit of the whole batch. */
import { McpxError } from '../../errors.ts';
import type { Params } from '../../wire/message.ts';
import type { Batch, BatchOptions, Limiter } from './batch.ts';
import { MAX_CALLS } from './call-count.ts';
import { isAbsent } from './exec-members.ts';
import { callsIn, newShared, resolvedList, type Scope, TOO_LARGE } from './reference-lookup.ts';
import type { Given } from './result-values.ts';

/** The results in the order of the elements; an element without one was not run. */
export type Elements<T> = { item: unknown; shown?: T }[];

interface FanOutDeps<T> extends BatchOptions<T>, Batch {
  limited: Limiter;
  scopeOf(own: number): Scope;
  /** Number of calls that elements may use. */
  room: number;
  /** Returns what later calls may refer to; undefined if none does. */
  retain(index: number, given: Given): Given | undefined;
}

export interface FanOut<T> {
  /** Reads the lists that no call of this batch gives; throws if they are too long, before anything runs. */
  prepare(): Promise<void>;
  run(call: Params, index: number): Promise<{ elements: Elements<T>; given: Given | undefined; isFailed: boolean }>;
}

export function createFanOut<T>(deps: FanOutDeps<T>): FanOut<T> {
  const { calls, parallel, onError, limited, scopeOf, resolve, run, failed, isReadOnly, retain } = deps;
  const known = new Map<number, unknown[]>();
  let room = deps.room;

  const take = (items: unknown[], index: number): unknown[] => {
    if (items.length > room) throw tooMany(items.length, { index, room });
    room -= items.length;
    return items;
  };

  /** A call with its references replaced, or the reason why there is none. */
  type Filled = { whole: Params } | { error: unknown };
  type One = { shown: T; isFailed: boolean; given?: Given | undefined } | undefined;

  /** Returns the calls with their arguments, or the error of those whose references give nothing. */
  async function fill(call: Params, index: number, items: unknown[]): Promise<Filled[]> {
    const scope = { ...scopeOf(index), shared: newShared() };
    const filled: Filled[] = [];
    for (const [at, item] of items.entries()) {
      const one = resolve(call, { ...scope, element: { item, index: at } });
      filled.push(
        await one.then(
          (whole) => ({ whole }),
          (error: unknown) => ({ error }),
        ),
      );
    }
    return filled;
  }

  return {
    async prepare() {
      for (const [index, call] of calls.entries()) {
        const { each } = call;
        if (isAbsent(each)) continue;
        const isKnown = callsIn(typeof each === 'string' ? { $from: each } : each, index).length === 0;
        if (isKnown) known.set(index, take(await resolvedList(each, scopeOf(index)), index));
      }
    },
    async run(call, index) {
      const items = known.get(index) ?? take(await resolvedList(call.each, scopeOf(index)), index);
      const filled = await fill(call, index, items);
      const together = { arguments: filled.flatMap((one) => ('whole' in one ? [one.whole.arguments] : [])) };
      const begin = async (at: number): Promise<Exclude<One, undefined>> => {
        const place = { index, element: at, of: items.length };
        const one = filled[at] as Filled;
        try {
          if ('error' in one) throw one.error;
          const { shown, given } = await limited(() => run(one.whole, place, together));
          return { shown, isFailed: given === undefined, given: given && retain(index, given) };
        } catch (error) {
          return { shown: failed(error, place), isFailed: true };
        }
      };
      const isTogether = parallel || (await isReadOnly(call));
      const ran: One[] = isTogether ? await Promise.all(items.map((_, at) => begin(at))) : await inOrder(items, begin);
      const elements = items.map((item, at) => ({ item, ...(ran[at] && { shown: ran[at].shown }) }));
      const failures = items.filter((_, at) => ran[at]?.isFailed !== false).length;
      const list = ran.map((one) => one?.given?.whole ?? null);
      const given = items.length > 0 && failures === items.length ? undefined : { whole: list, values: [list] };
      const lost = ran.find((one) => one?.given === TOO_LARGE)?.given;
      return { elements, isFailed: failures > 0, given: lost ?? given };
    },
  };

  async function inOrder(items: unknown[], begin: (at: number) => Promise<One>): Promise<One[]> {
    const ran: One[] = [];
    for (const at of items.keys()) {
      const one = await begin(at);
      ran.push(one);
      if (onError === 'stop' && one?.isFailed) break;
    }
    return ran;
  }
}

function tooMany(count: number, { index, room }: { index: number; room: number }): McpxError {
  return new McpxError(
    'arguments',
    `not run: "each" of call ${index} has ${count} elements, and ${room} calls are left`,
    {
      hint: `one "exec" runs up to ${MAX_CALLS} calls; take a part of the list, such as "each": "0.items[:${room}]"`,
    },
  );
}
