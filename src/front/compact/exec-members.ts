/** The names of the arguments of `exec`, in all spellings. */
import type { Params } from '../../wire/message.ts';

/** The arguments of `exec` itself. */
export const OWN = [
  'server_name',
  'tool_name',
  'tool',
  'method',
  'arguments',
  'select',
  'calls',
  'each',
  'show',
  'parallel',
  'onError',
];

/** Other spellings of the arguments, without case and underscores. */
const SPELT: ReadonlyMap<string, string> = new Map([
  ...OWN.map((name): [string, string] => [folded(name), name]),
  ['foreach', 'each'],
]);

function folded(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

/** A name beside `arguments`, or of a batch, is no argument of the tool. */
export function withSpellings(given: Params): Params {
  const isOwn = [given.arguments, given.calls, given.each].some((value) => !isAbsent(value));
  if (!isOwn) return given;
  const meant = (key: string) => (OWN.includes(key) ? key : (SPELT.get(folded(key)) ?? key));
  if (Object.keys(given).every((key) => meant(key) === key)) return given;
  const entries = Object.entries(given).filter(([key]) => meant(key) === key || isAbsent(given[meant(key)]));
  return Object.fromEntries(entries.map(([key, value]) => [meant(key), value]));
}

export function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

export function isEmptyList(value: unknown): boolean {
  return value === '' || value === '[]' || (Array.isArray(value) && value.length === 0);
}
