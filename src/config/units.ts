/** Parses and formats durations and sizes: `"60s"`, `"4mb"`, or numbers in milliseconds and bytes. */
import { LONGEST_TIMER } from '../event-loop.ts';

/** The longest duration in ms. */
export const MAX_DURATION = LONGEST_TIMER;

/** The JSON Schema and the reader use these patterns. */
export const DURATION_PATTERN = '^\\d+(\\.\\d+)? ?(ms|s|m|h)$';
export const SIZE_PATTERN = '^\\d+(\\.\\d+)? ?([bB]|[kK][bB]|[mM][bB]|[gG][bB])$';

const DURATION = new RegExp(DURATION_PATTERN);
const SIZE = new RegExp(SIZE_PATTERN);
const MS = new Map([
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
]);
const BYTES = new Map([
  ['gb', 1024 ** 3],
  ['mb', 1024 ** 2],
  ['kb', 1024],
  ['b', 1],
]);

/** Returns milliseconds, or undefined if the value is not a duration. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
  return typeof value === 'string' && DURATION.test(value) ? withUnit(value, MS) : undefined;
}

/** Returns bytes, or undefined if the value is not a size. */
export function parseSize(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  return typeof value === 'string' && SIZE.test(value) ? withUnit(value.toLowerCase(), BYTES) : undefined;
}

/** Returns the shortest exact form: 60000 is `1m`, 1500 is `1500ms`. */
export function formatDuration(ms: number): string {
  return shortest(ms, MS);
}

export function formatSize(bytes: number): string {
  return shortest(bytes, BYTES);
}

function withUnit(text: string, units: Map<string, number>): number {
  const unit = /[a-z]+$/.exec(text)?.[0] ?? '';
  return Math.round(Number.parseFloat(text) * (units.get(unit) ?? 1));
}

function shortest(amount: number, units: Map<string, number>): string {
  const [unit, factor] = [...units].find(([, size]) => amount >= size && amount % size === 0) ?? ['ms', 1];
  return `${amount / factor}${amount === 0 ? [...units.keys()].at(-1) : unit}`;
}
