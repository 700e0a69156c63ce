/** Built-in server `time`: the clock, time zones and calendar arithmetic. */
import { gives, READS, takes } from './define.ts';
import { optionalText, readNumber, readText, rejectInput } from './input.ts';
import { type Clock, readInstant } from './instant.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';
import {
  addMonths,
  checkInstant,
  instantOf,
  isoIn,
  offsetAt,
  offsetText,
  wallAt,
  weekdayOf,
  zoneName,
} from './zone.ts';

type Args = Record<string, unknown>;

const SECOND = 1000;
const UNITS = { weeks: 7 * 86_400, days: 86_400, hours: 3_600, minutes: 60, seconds: 1 } as const;
const MAX_AMOUNT = 1_000_000_000;

const TIME = {
  type: 'string',
  description:
    'A time: ISO 8601 ("2026-03-01T09:30:00+01:00", "2026-03-01 09:30", "2026-03-01"), Unix seconds or milliseconds ("1772353800"), an HTTP or mail date, or "now"',
  maxLength: 100,
};
const ZONE = {
  type: 'string',
  description: 'IANA time zone such as "Europe/Paris" or "Asia/Shanghai"; UTC when absent',
  default: 'UTC',
};
const MOMENT = gives({
  iso: { type: 'string', description: 'ISO 8601 with offset' },
  timezone: { type: 'string' },
  date: { type: 'string', description: 'YYYY-MM-DD in that zone' },
  time: { type: 'string', description: 'HH:MM:SS in that zone' },
  weekday: { type: 'string' },
  offset: { type: 'string', description: 'Offset from UTC' },
  unix: { type: 'number', description: 'Seconds since 1970-01-01T00:00:00Z' },
});

export function createTime(clock: Clock = Date.now): Toolbox {
  return {
    name: 'time',
    title: 'Time',
    instructions:
      'Current time, time zones and date arithmetic. Times without an offset are read in the given timezone, else UTC.',
    tools: [nowTool(clock), convertTool(clock), addTool(clock), differenceTool(clock), parseTool(clock)],
  };
}

function nowTool(clock: Clock): BuiltinTool {
  return {
    name: 'now',
    title: 'Current time',
    description:
      'Get the current date and time in a time zone. Returns ISO 8601, date, weekday, UTC offset and Unix time.',
    inputSchema: takes({ timezone: ZONE }),
    outputSchema: MOMENT,
    annotations: { ...READS, idempotentHint: false },
    run: (args) => moment(clock(), readZone(args, 'timezone')),
  };
}

function convertTool(clock: Clock): BuiltinTool {
  return {
    name: 'convert',
    title: 'Convert between time zones',
    description:
      'Convert a time from one time zone to another, daylight saving included. A time that carries its own offset ignores "from".',
    inputSchema: takes(
      {
        time: TIME,
        to: { type: 'string', description: 'IANA time zone to show the time in' },
        from: { ...ZONE, description: 'IANA time zone of a time without an offset; UTC when absent' },
      },
      ['time', 'to'],
    ),
    outputSchema: MOMENT,
    annotations: READS,
    run: (args) =>
      moment(readInstant(args, 'time', readZone(args, 'from'), clock), zoneName(readText(args, 'to', 100))),
  };
}

function addTool(clock: Clock): BuiltinTool {
  const amount = (unit: string) => ({
    type: 'number',
    description: `${unit} to add; negative to subtract`,
    default: 0,
  });
  return {
    name: 'add',
    title: 'Add to a time',
    description:
      'Add or subtract a duration. Years and months follow the calendar (31 January + 1 month = 28 or 29 February), weeks and days keep the time of day across daylight saving, the rest is exact.',
    inputSchema: takes(
      {
        time: TIME,
        timezone: ZONE,
        years: { ...amount('years'), type: 'integer' },
        months: { ...amount('months'), type: 'integer' },
        weeks: { ...amount('weeks'), type: 'integer' },
        days: { ...amount('days'), type: 'integer' },
        hours: amount('hours'),
        minutes: amount('minutes'),
        seconds: amount('seconds'),
      },
      ['time'],
    ),
    outputSchema: MOMENT,
    annotations: READS,
    run: (args) => {
      const zone = readZone(args, 'timezone');
      return moment(addTo(readInstant(args, 'time', zone, clock), zone, args), zone);
    },
  };
}

function differenceTool(clock: Clock): BuiltinTool {
  return {
    name: 'difference',
    title: 'Time between two times',
    description:
      'Measure the time from one moment to another: in seconds, in days, and in words. Negative when the end comes first.',
    inputSchema: takes({ start: TIME, end: TIME, timezone: ZONE }, ['start', 'end']),
    outputSchema: gives({
      seconds: { type: 'number' },
      days: { type: 'number', description: 'Days of 24 hours, with a fraction' },
      words: { type: 'string', description: 'Such as "3 days 4 hours"' },
    }),
    annotations: READS,
    run: (args) => {
      const zone = readZone(args, 'timezone');
      const seconds = (readInstant(args, 'end', zone, clock) - readInstant(args, 'start', zone, clock)) / SECOND;
      return { seconds, days: seconds / UNITS.days, words: durationWords(seconds) };
    },
  };
}

function parseTool(clock: Clock): BuiltinTool {
  return {
    name: 'parse',
    title: 'Read a written time',
    description:
      'Read a date or time in any usual notation and return it in a standard form, with weekday and Unix time.',
    inputSchema: takes({ text: TIME, timezone: ZONE }, ['text']),
    outputSchema: MOMENT,
    annotations: READS,
    run: (args) => {
      const zone = readZone(args, 'timezone');
      return moment(readInstant(args, 'text', zone, clock), zone);
    },
  };
}

function readZone(args: Args, key: string): string {
  return zoneName(optionalText(args, key, 100) ?? 'UTC');
}

function addTo(instant: number, zone: string, args: Args): number {
  const amount = (key: string) => {
    const value = readNumber(args, key, 0);
    if (Math.abs(value) > MAX_AMOUNT) rejectInput(`"${key}" is too large`);
    return value;
  };
  const months = Math.trunc(amount('years') * 12 + amount('months'));
  const days = Math.trunc(amount('weeks') * 7 + amount('days'));
  const wall = addMonths(wallAt(instant, zone), months);
  const shifted = months === 0 && days === 0 ? instant : instantOf({ ...wall, day: wall.day + days }, zone);
  const exact = amount('hours') * UNITS.hours + amount('minutes') * UNITS.minutes + amount('seconds');
  return checkInstant(Math.round(shifted + exact * SECOND));
}

function moment(instant: number, timezone: string): Record<string, unknown> {
  const iso = isoIn(instant, timezone);
  const offset = offsetText(offsetAt(instant, timezone));
  const [date = '', time = ''] = iso.split('T');
  return {
    iso,
    timezone,
    date,
    time: time.slice(0, 8),
    weekday: weekdayOf(wallAt(instant, timezone)),
    offset: offset === 'Z' ? '+00:00' : offset,
    unix: instant / SECOND,
  };
}

function durationWords(seconds: number): string {
  let rest = Math.abs(Math.trunc(seconds));
  const words: string[] = [];
  for (const [unit, size] of Object.entries(UNITS)) {
    if (unit === 'weeks') continue;
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${count === 1 ? unit.slice(0, -1) : unit}`);
  }
  const text = words.join(' ') || '0 seconds';
  return seconds < 0 ? `minus ${text}` : text;
}
