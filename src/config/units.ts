/** Durations and sizes as people write them: `"60s"`, `"4mb"`, or plain milliseconds and bytes. */

/** The longest delay a timer can hold, in ms; a larger one would fire at once. */
export const MAX_DURATION = 2 ** 31 - 1;

/** For the JSON Schema as well as for the reader. */
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

/** Milliseconds, or undefined for what is no duration. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
  return typeof value === 'string' && DURATION.test(value) ? withUnit(value, MS) : undefined;
}

/** Bytes, or undefined for what is no size. */
export function parseSize(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  return typeof value === 'string' && SIZE.test(value) ? withUnit(value.toLowerCase(), BYTES) : undefined;
}

/** The shortest exact form: 60000 is `1m`, 1500 is `1500ms`. */
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
