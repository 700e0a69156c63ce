/** Divides the characters of one answer among the results of a batch: what short results leave, later ones may use. */
import { isLarger } from '../../render/json-size.ts';
import type { ToolResult } from '../../router/router.ts';
import { textLength } from '../shown-to-model.ts';
import type { Place } from './batch.ts';

export interface BatchRoom {
  /** Counts the other elements of an `each` when its first one begins. */
  begin(place: Place): void;
  /** Reserves room for a result, and returns the number of results that would share the whole limit in equal parts. */
  share(result: ToolResult): number;
  /** The number of all results. */
  readonly results: number;
}

/** Maximum number of equal parts, so that each result has some room. */
const MAX_PARTS = 100;

export function createRoom(calls: number, chars: number): BatchRoom {
  const counted = new Set<number>();
  let results = calls;
  let pending = calls;
  let left = chars;
  return {
    get results() {
      return results;
    },
    begin({ index, of }) {
      if (of === undefined || counted.has(index)) return;
      counted.add(index);
      results += of - 1;
      pending += of - 1;
    },
    share(result) {
      const most = Math.max(left / Math.max(1, pending), chars / MAX_PARTS);
      left = Math.max(0, left - sizeOf(result, most));
      pending -= 1;
      return chars / most;
    },
  };
}

/** Returns the characters of a result, at most `most`. */
function sizeOf(result: ToolResult, most: number): number {
  const length = textLength(result);
  const { structuredContent } = result;
  if (length > 0 || structuredContent === undefined) return Math.min(length, most);
  return isLarger(structuredContent, most) ? most : (JSON.stringify(structuredContent)?.length ?? 0);
}
