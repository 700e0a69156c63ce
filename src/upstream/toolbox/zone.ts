/** Calendar arithmetic in a time zone, on what `Intl` knows of zones. Instants are epoch milliseconds. */
import { rejectInput } from './input.ts';

/** A calendar date and clock time without a zone; months count from 1. */
export interface Wall {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  ms: number;
}

const MINUTE = 60_000;
/** The range of a JavaScript date: ±100,000,000 days around 1970. */
const MAX_INSTANT = 8.64e15;

/** Returns the zone's name as `Intl` spells it; throws an error with an example if it is unknown. */
export function zoneName(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text.trim() }).resolvedOptions().timeZone;
  } catch {
    return rejectInput(
      `unknown time zone "${text}"`,
      'use an IANA name such as "Europe/Paris", "Asia/Shanghai" or "UTC"',
    );
  }
}

export function checkInstant(instant: number): number {
  if (!(Math.abs(instant) <= MAX_INSTANT - 24 * 60 * MINUTE))
    rejectInput('the time is out of the range of the calendar');
  return instant;
}

/** Returns the calendar date and clock time in `zone` at `instant`. */
export function wallAt(instant: number, zone: string): Wall {
  // "gregory" is the proleptic calendar of ECMAScript; "iso8601" is Julian before 1582 in older ICUs.
  const format = new Intl.DateTimeFormat('en-u-ca-gregory', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = new Map(format.formatToParts(instant).map((part) => [part.type, part.value]));
  const read = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const ms = ((instant % 1000) + 1000) % 1000;
  const year = parts.get('era')?.startsWith('B') ? 1 - read('year') : read('year');
  return {
    year,
    month: read('month'),
    day: read('day'),
    hour: read('hour'),
    minute: read('minute'),
    second: read('second'),
    ms,
  };
}

/** Returns the wall time as if it were UTC; days and months out of range carry over, as in `Date`. */
export function utcOf(wall: Wall): number {
  const date = new Date(0);
  date.setUTCFullYear(wall.year, wall.month - 1, wall.day);
  date.setUTCHours(wall.hour, wall.minute, wall.second, wall.ms);
  return date.getTime();
}

/** Returns the offset from UTC in ms, positive east of Greenwich. */
export function offsetAt(instant: number, zone: string): number {
  return utcOf(wallAt(instant, zone)) - instant;
}

/**
 * Returns the instant of a wall time in `zone`; a time in a gap is moved forward, an ambiguous time is the earlier one.
 */
export function instantOf(wall: Wall, zone: string): number {
  const utc = checkInstant(utcOf(wall));
  const before = utc - offsetAt(utc - 24 * 60 * MINUTE, zone);
  const after = utc - offsetAt(utc + 24 * 60 * MINUTE, zone);
  const fits = [before, after].filter((instant) => instant + offsetAt(instant, zone) === utc);
  return fits.length > 0 ? Math.min(...fits) : before;
}

export function offsetText(offset: number): string {
  if (offset === 0) return 'Z';
  const minutes = Math.round(Math.abs(offset) / MINUTE);
  return `${offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

/** Formats an instant as ISO 8601 with the zone's offset; milliseconds are omitted if they are zero. */
export function isoIn(instant: number, zone: string): string {
  const offset = offsetAt(instant, zone);
  const local = new Date(instant + offset).toISOString().replace(/Z$/, '');
  return local.replace(/\.000$/, '') + offsetText(offset);
}

export function weekdayOf(wall: Wall): string {
  const names = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  return names[new Date(utcOf(wall)).getUTCDay()] ?? '';
}

/** Adds calendar months and keeps the day of the month, or the last one where the month is shorter. */
export function addMonths(wall: Wall, months: number): Wall {
  const total = wall.year * 12 + (wall.month - 1) + months;
  const year = Math.floor(total / 12);
  const month = total - year * 12 + 1;
  const lastDay = new Date(utcOf({ ...wall, year, month: month + 1, day: 0 })).getUTCDate();
  return { ...wall, year, month, day: Math.min(wall.day, lastDay) };
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
