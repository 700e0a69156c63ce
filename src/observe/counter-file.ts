/** Counters that survive the process: increments are periodically added to one small file that several processes may share. */
import { dirname } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Log } from './log.ts';

export interface CounterFile<Whole, News> {
  /** Increments that are not yet written. Code that changes them must call `changed`. */
  readonly news: News;
  changed(): void;
  /** The counts in the file, as this process last saw them. */
  written(): Whole | undefined;
  /** Writes pending increments; never rejects. */
  close(): Promise<void>;
}

export interface CounterFileOptions<Whole, News> {
  /** Without a file nothing is written, and all increments stay in memory. */
  file: string | undefined;
  log: Pick<Log, 'warn'> | undefined;
  /** The subject of the counts, for log messages. */
  subject: string;
  /** Returns empty increments. */
  nothing(): News;
  isNothing(news: News): boolean;
  /** Throws if the file exists and cannot be read; then it is not written either. */
  read(file: string): Whole | undefined;
  sum(whole: Whole | undefined, news: News): Whole;
  toJson(whole: Whole): object;
}

/** Minimum milliseconds between two writes. */
const PAUSE = 10_000;
/** Milliseconds to wait for another process that writes. */
const PATIENCE = 1000;

export function createCounterFile<Whole, News>(options: CounterFileOptions<Whole, News>): CounterFile<Whole, News> {
  const { file, log, subject } = options;
  let written: Whole | undefined;
  let news = options.nothing();
  let timer: NodeJS.Timeout | undefined;
  /** True after the first warning; later ones would repeat it every ten seconds. */
  let told = false;

  const tell = (failed: string, target: string, error: unknown) => {
    if (!told) log?.warn(`${subject} could not be ${failed} "${target}": ${messageOf(error)}`);
    told = true;
  };

  async function save(target: string): Promise<void> {
    timer = undefined;
    if (options.isNothing(news)) return;
    try {
      ensureFolder(dirname(target));
      const merge = () => {
        const whole = options.sum(options.read(target), news);
        writeFileAtomic(target, `${JSON.stringify(options.toJson(whole))}\n`);
        written = whole;
        news = options.nothing();
      };
      await withLock(target, merge, { wait: PATIENCE });
    } catch (error) {
      tell('written to', target, error);
    }
  }

  return {
    get news() {
      return news;
    },
    changed() {
      if (file !== undefined) timer ??= setTimeout(() => void save(file), PAUSE).unref();
    },
    written() {
      try {
        if (file !== undefined) written ??= options.read(file);
      } catch (error) {
        tell('read from', String(file), error);
      }
      return written;
    },
    async close() {
      clearTimeout(timer);
      if (file !== undefined) await save(file);
    },
  };
}

/**
 * Returns the fields of such a file; undefined if it is missing, damaged or of another format. Throws if it cannot be
 * read.
 */
export function readSaved(file: string, format: number): Record<string, unknown> | undefined {
  const value = parsed(readIfPresent(file) ?? 'null');
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  return fields.format === format ? fields : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
