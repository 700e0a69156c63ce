/** `each`: runs one call of a batch for every element of a list, within the limit of the whole batch. */
import { McpxError } from '../../errors.ts';
import type { Params } from '../../wire/message.ts';
import type { Batch, BatchOptions, Limiter, Ran } from './batch.ts';
import { isAbsent, MAX_CALLS } from './call-count.ts';
import { callsIn, newRoom, resolvedList, type Scope } from './reference-lookup.ts';
import type { Given } from './result-values.ts';

/** The results in the order of the elements; an element without one was not run. */
export type Elements<T> = { item: unknown; shown?: T }[];

interface FanOutDeps<T> extends BatchOptions<T>, Batch {
  limited: Limiter;
  scopeOf(own: number): Scope;
  /** Number of calls that elements may use. */
  room: number;
}

export interface FanOut<T> {
  /** Reads the lists that no call of this batch gives; throws if they are too long, before anything runs. */
  prepare(): Promise<void>;
  run(call: Params, index: number): Promise<{ elements: Elements<T>; given?: Given; isFailed: boolean }>;
}

export function createFanOut<T>(deps: FanOutDeps<T>): FanOut<T> {
  const { calls, parallel, onError, limited, scopeOf, resolve, run, failed, isReadOnly } = deps;
  const known = new Map<number, unknown[]>();
  let room = deps.room;

  const take = (items: unknown[], index: number): unknown[] => {
    if (items.length > room) throw tooMany(items.length, { index, room });
    room -= items.length;
    return items;
  };

  type One = Ran<T> | undefined;

  /** Returns the calls with their arguments, or the error of those whose references give nothing. */
  function fill(call: Params, index: number, items: unknown[]): Promise<(Params | { error: unknown })[]> {
    const scope = { ...scopeOf(index), room: newRoom() };
    const one = async (item: unknown, at: number) =>
      resolve(call, { ...scope, element: { item, index: at } }).catch((error: unknown) => ({ error }));
    return Promise.all(items.map(one));
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
      const together = { arguments: filled.flatMap((one) => ('error' in one ? [] : [one.arguments])) };
      const begin = async (at: number): Promise<Ran<T>> => {
        const place = { index, element: at, of: items.length };
        const whole = filled[at] as Params;
        try {
          if ('error' in whole) throw whole.error;
          return await limited(() => run(whole, place, together));
        } catch (error) {
          return { shown: failed(error, place) };
        }
      };
      const isTogether = parallel || (await isReadOnly(call));
      const ran: One[] = isTogether ? await Promise.all(items.map((_, at) => begin(at))) : await inOrder(items, begin);
      const elements = items.map((item, at) => ({ item, ...(ran[at] && { shown: ran[at].shown }) }));
      const list = ran.map((one) => one?.given?.whole ?? null);
      const isFailed = items.length > 0 && items.some((_, at) => ran[at]?.given === undefined);
      const isUseless = items.length > 0 && ran.every((one) => one?.given === undefined);
      return { elements, isFailed, ...(!isUseless && { given: { whole: list, values: [list] } }) };
    },
  };

  async function inOrder(items: unknown[], begin: (at: number) => Promise<Ran<T>>): Promise<One[]> {
    const ran: One[] = [];
    for (const at of items.keys()) {
      const one = await begin(at);
      ran.push(one);
      if (onError === 'stop' && one.given === undefined) break;
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
