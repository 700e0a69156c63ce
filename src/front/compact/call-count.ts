/** Counts the tool calls in one `exec`, for limits that apply before it runs. */
import { isRecord, type Params } from '../../wire/message.ts';

/** Maximum number of calls in one `exec`, with each element of an `each` as one. */
export const MAX_CALLS = 100;

/** Returns the number of calls, at least 1; the maximum if a list is not known yet. */
export function countCalls({ calls, each }: Params): number {
  const all: unknown[] = Array.isArray(calls) ? calls : typeof calls === 'string' ? [{ each: calls }] : [{ each }];
  const total = all.reduce<number>((sum, call) => sum + elementsOf(isRecord(call) ? call.each : undefined), 0);
  return Math.max(1, Math.min(total, MAX_CALLS));
}

function elementsOf(each: unknown): number {
  if (Array.isArray(each)) return each.length;
  return isAbsent(each) ? 1 : MAX_CALLS;
}

export function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

export function isEmptyList(value: unknown): boolean {
  return value === '' || value === '[]' || (Array.isArray(value) && value.length === 0);
}
