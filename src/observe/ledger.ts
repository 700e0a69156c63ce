/** What mcpx has saved, added up over runs and processes: counts and characters in one small file, and no word of what was said. */
import type { Log } from './log.ts';
import { createSaver, readSaved } from './saver.ts';

/** Zero of everything; the fields are those of the file. */
const NOTHING = {
  /** Lists of tools that were shown as a menu, and their characters without and with it. */
  menus: 0,
  listedWithout: 0,
  listedWith: 0,
  calls: 0,
  /** Results that were written shorter, and their characters before and after. */
  reencoded: 0,
  resultsBefore: 0,
  resultsAfter: 0,
  /** Answers of `inspect`, and their characters. */
  lookups: 0,
  lookedUp: 0,
};

export type Counts = typeof NOTHING;

export interface Totals extends Counts {
  /** When counting began, epoch ms. */
  since: number;
}

export interface Ledger {
  add(counts: Partial<Counts>): void;
  /** Of all runs as far as they were written down, and of this one. */
  totals(): Totals;
  /** Writes down what is not yet; never rejects. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Where counts outlive the process; without one they end with it. */
  file?: string;
  log?: Pick<Log, 'warn'>;
}

/** Grows when the form of the file changes; another one is begun anew. */
const FORMAT = 1;

const FIELDS = Object.keys(NOTHING) as (keyof Counts)[];

export function createLedger({ file, log }: LedgerOptions = {}): Ledger {
  const started = Date.now();
  const sum = (totals: Totals | undefined, counts: Counts) => added(totals ?? { ...NOTHING, since: started }, counts);
  const saver = createSaver<Totals, Counts>({
    ...{ file, log, sum },
    subject: 'what was saved',
    nothing: () => ({ ...NOTHING }),
    isNothing: (counts) => FIELDS.every((field) => counts[field] === 0),
    read: readTotals,
    toJson: (totals) => ({ format: FORMAT, ...totals }),
  });
  return {
    add(counts) {
      for (const field of FIELDS) saver.news[field] += counts[field] ?? 0;
      saver.changed();
    },
    totals: () => sum(saver.written(), saver.news),
    close: saver.close,
  };
}

/** The totals in the file; undefined where there is none. */
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

/** Counting tokens would cost more time than a call; characters cost nothing. Code and English have about four to a token. */
const CHARACTERS_PER_TOKEN = 4;

/** As people and programs read it. Tokens are estimates; what `inspect` answered has been taken off `net`. */
export interface Savings extends Pick<Counts, 'menus' | 'calls' | 'reencoded' | 'lookups'> {
  /** ISO 8601. */
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
