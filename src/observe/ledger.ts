/** What mcpx has saved, added up over runs and processes: counts and characters in one small file, and no word of what was said. */
import { dirname } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Log } from './log.ts';

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
  log?: Pick<Log, 'debug'>;
}

/** Grows when the form of the file changes; another one is begun anew. */
const FORMAT = 1;
/** ms between two writings, at least. */
const PAUSE = 10_000;
/** ms to wait for another process that writes. */
const PATIENCE = 1000;

const FIELDS = Object.keys(NOTHING) as (keyof Counts)[];

export function createLedger({ file, log }: LedgerOptions = {}): Ledger {
  const started = Date.now();
  let written: Totals | undefined;
  let pending: Counts = { ...NOTHING };
  let timer: NodeJS.Timeout | undefined;

  async function save(target: string): Promise<void> {
    timer = undefined;
    if (FIELDS.every((field) => pending[field] === 0)) return;
    try {
      ensureFolder(dirname(target));
      const merge = () => {
        const totals = sum(readTotals(target) ?? { ...NOTHING, since: started }, pending);
        writeFileAtomic(target, `${JSON.stringify({ format: FORMAT, ...totals })}\n`);
        written = totals;
        pending = { ...NOTHING };
      };
      await withLock(target, merge, { wait: PATIENCE });
    } catch (error) {
      log?.debug(`what was saved could not be written to "${target}": ${messageOf(error)}`);
    }
  }

  return {
    add(counts) {
      for (const field of FIELDS) pending[field] += counts[field] ?? 0;
      if (file !== undefined) timer ??= setTimeout(() => void save(file), PAUSE).unref();
    },
    totals() {
      if (file !== undefined) written ??= readTotals(file);
      return sum(written ?? { ...NOTHING, since: started }, pending);
    },
    async close() {
      clearTimeout(timer);
      if (file !== undefined) await save(file);
    },
  };
}

/** What was written down, or undefined where there is nothing or nothing that can be read. */
export function readTotals(file: string): Totals | undefined {
  try {
    const value: unknown = JSON.parse(readIfPresent(file) ?? 'null');
    return isTotals(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isTotals(value: unknown): value is Totals {
  if (typeof value !== 'object' || value === null) return false;
  const found = value as Record<string, unknown>;
  return found.format === FORMAT && ['since', ...FIELDS].every((field) => Number.isSafeInteger(found[field]));
}

function sum(totals: Totals, counts: Counts): Totals {
  return { since: totals.since, ...sumCounts(totals, counts) };
}

function sumCounts(a: Partial<Counts>, b: Partial<Counts>): Counts {
  return Object.fromEntries(FIELDS.map((field) => [field, (a[field] ?? 0) + (b[field] ?? 0)])) as Counts;
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
