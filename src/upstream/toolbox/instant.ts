/** Reads written times: ISO 8601, Unix time, HTTP and mail dates, "now". */
import { readText, rejectInput } from './input.ts';
import { checkInstant, instantOf, type Wall } from './zone.ts';

type Args = Record<string, unknown>;
export type Clock = () => number;

const SECOND = 1000;

/** Reads a time argument; a time without an offset is in `zone`. */
export function readInstant(args: Args, key: string, zone: string, clock: Clock): number {
  const text = readText(args, key, 100).trim();
  if (text.toLowerCase() === 'now') return clock();
  const instant = numericInstant(text) ?? isoInstant(text, zone) ?? mailInstant(text);
  if (instant === undefined || Number.isNaN(instant)) {
    return rejectInput(`"${text}" is not a time`, 'write it as "2026-03-01T09:30:00+01:00" or "2026-03-01 09:30"');
  }
  return checkInstant(instant);
}

/** Numbers with eleven or more digits are milliseconds: as seconds they would lie beyond the year 5000. */
function numericInstant(text: string): number | undefined {
  if (!/^-?\d{5,16}(\.\d{1,9})?$/.test(text)) return undefined;
  const value = Number(text);
  return Math.round(Math.abs(value) < 1e11 ? value * SECOND : value);
}

function isoInstant(text: string, zone: string): number | undefined {
  const match =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)? ?(Z|[+-]\d{2}:?\d{2})?$/i.exec(
      text,
    );
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const ms = Math.floor(Number(`0.${match[7] ?? 0}`) * SECOND);
  const wall = { year, month, day, hour, minute, second, ms } as Wall;
  const shown = new Date(Date.UTC(wall.year, wall.month - 1, wall.day)).getUTCDate() === wall.day;
  if (!shown || wall.month > 12 || wall.hour > 23 || wall.minute > 59 || wall.second > 59) {
    rejectInput(`"${text}" is not on the calendar`);
  }
  const offset = match[8];
  if (offset === undefined) return instantOf(wall, zone);
  return instantOf(wall, 'UTC') - offsetMs(offset);
}

function offsetMs(text: string): number {
  if (/^z$/i.test(text)) return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return (text.startsWith('-') ? -1 : 1) * minutes * 60 * SECOND;
}

/** Reads a date such as "Sun, 01 Mar 2026 09:30:00 GMT" of HTTP and mail; other formats depend on the engine. */
function mailInstant(text: string): number | undefined {
  return /^([A-Za-z]{3}, )?\d{1,2} [A-Za-z]{3} \d{4} \d{1,2}:\d{2}(:\d{2})? (GMT|UTC|[+-]\d{4})$/.test(text)
    ? Date.parse(text)
    : undefined;
}
