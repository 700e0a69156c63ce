/** Totals of the tokens that mcpx has saved, over all runs and processes: counts and characters in one small file, no content. */

import { createCounterFile, readSaved } from './counter-file.ts';
import type { Log } from './log.ts';

/** Zero counts; the fields are those of the file. */
const NOTHING = {
  /** Tool lists that were shown as a menu, and their characters without and with it. */
  menus: 0,
  listedWithout: 0,
  listedWith: 0,
  calls: 0,
  /** Results that were re-encoded in a shorter form, and their characters before and after. */
  reencoded: 0,
  resultsBefore: 0,
  resultsAfter: 0,
  /** Responses of `inspect`, and their characters. */
  lookups: 0,
  lookedUp: 0,
};

export type Counts = typeof NOTHING;

export interface Totals extends Counts {
  /** Start of the counting, in epoch milliseconds. */
  since: number;
}

export interface Ledger {
  add(counts: Partial<Counts>): void;
  /** Returns the totals of all runs that are in the file, and of this one. */
  totals(): Totals;
  /** Writes pending counts; never rejects. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** A file in which counts survive the process; without one they are lost at exit. */
  file?: string;
  log?: Pick<Log, 'warn'>;
}

/** Version of the file format; a file of another version is replaced. */
const FORMAT = 1;

const FIELDS = Object.keys(NOTHING) as (keyof Counts)[];

export function createLedger({ file, log }: LedgerOptions = {}): Ledger {
  const started = Date.now();
  const sum = (totals: Totals | undefined, counts: Counts) => added(totals ?? { ...NOTHING, since: started }, counts);
  const saver = createCounterFile<Totals, Counts>({
    ...{ file, log, sum },
    subject: 'what was saved',
    nothing: () => ({ ...NOTHING }),
    isNothing: (counts) => FIELDS.every((field) => counts[field] === 0),
    read: readTotals,
    toJson: (totals) => ({ format: FORMAT, ...totals }),
  });
  return {
    add(counts) {
      const { news } = saver;
      for (const field of Object.keys(counts) as (keyof Counts)[]) news[field] += counts[field] ?? 0;
      saver.changed();
    },
    totals: () => sum(saver.written(), saver.news),
    close: saver.close,
  };
}

/** Returns the totals in the file; undefined if there is no valid file. */
export function readTotals(file: string): Totals | undefined {
  const found = readSaved(file, FORMAT);
  return found !== undefined && isTotals(found) ? found : undefined;
}

function isTotals(found: object): found is Totals {
  return ['since', ...FIELDS].every((field) => Number.isSafeInteger((found as Record<string, unknown>)[field]));
}

function added(totals: Totals, counts: Counts): Totals {
  const sums = FIELDS.map((field) => [field, totals[field] + counts[field]]);
  return { since: totals.since, ...(Object.fromEntries(sums) as Counts) };
}

/**
 * Characters are counted, because counting tokens would take longer than a call. Code and English have about four
 * characters per token.
 */
const CHARACTERS_PER_TOKEN = 4;

/**
 * The savings in the form that is shown. Tokens are estimates; the responses of `inspect` are subtracted from `net`.
 */
export interface Savings extends Pick<Counts, 'menus' | 'calls' | 'reencoded' | 'lookups'> {
  /** Start of the counting, as ISO 8601. */
  since: string;
  tokens: { menus: number; results: number; lookups: number; net: number };
  method: string;
}

export function describeSavings(totals: Totals): Savings {
  const { since, menus, calls, reencoded, lookups } = totals;
  const tokens = (characters: number) => Math.round(characters / CHARACTERS_PER_TOKEN);
  const saved = {
    menus: tokens(totals.listedWithout - totals.listedWith),
    results: tokens(totals.resultsBefore - totals.resultsAfter),
    lookups: tokens(-totals.lookedUp),
  };
  return {
    since: new Date(since).toISOString(),
    ...{ menus, calls, reencoded, lookups },
    tokens: { ...saved, net: saved.menus + saved.results + saved.lookups },
    method: `estimated: ${CHARACTERS_PER_TOKEN} characters are a token; each list of tools is counted once per session`,
  };
}
