/** Counts the tool calls in one `exec`, for limits that apply before it runs. */
import { isRecord, type Params } from '../../wire/message.ts';
import { isAbsent, isEmptyList, withSpellings } from './exec-members.ts';

/** Maximum number of calls in one `exec`, with each element of an `each` as one. */
export const MAX_CALLS = 100;

/** Returns the number of calls, at least 1; the maximum if a list is not known yet. */
export function countCalls(given: Params): number {
  const { calls: listed, each } = withSpellings(given);
  const calls = isEmptyList(listed) ? undefined : listed;
  const one = isRecord(calls) ? calls : { each: typeof calls === 'string' ? calls : each };
  const all: unknown[] = Array.isArray(calls) ? calls : [one];
  const total = all.reduce<number>((sum, call) => sum + elementsOf(isRecord(call) ? call : {}), 0);
  return Math.max(1, Math.min(total, MAX_CALLS));
}

function elementsOf(call: Params): number {
  const { each } = withSpellings(call);
  if (Array.isArray(each)) return each.length;
  return isAbsent(each) ? 1 : MAX_CALLS;
}
