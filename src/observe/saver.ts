/** Counts that outlive the process: what is new is added, now and then, to one small file that several processes may add to. */
import { dirname } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Log } from './log.ts';

export interface Saver<Whole, News> {
  /** What is not written down yet. Whoever changes it says so with `changed`. */
  readonly news: News;
  changed(): void;
  /** What was written down, as far as this process has seen it. */
  written(): Whole | undefined;
  /** Writes down what is not yet; never rejects. */
  close(): Promise<void>;
}

export interface SaverOptions<Whole, News> {
  /** Without one nothing is written, and news stay news. */
  file: string | undefined;
  log: Pick<Log, 'warn'> | undefined;
  /** What the counts are of, for the log. */
  subject: string;
  /** The beginning of new news. */
  nothing(): News;
  isNothing(news: News): boolean;
  /** Throws where the file is there and cannot be read: it is then not written either. */
  read(file: string): Whole | undefined;
  sum(whole: Whole | undefined, news: News): Whole;
  toJson(whole: Whole): object;
}

/** ms between two writings, at least. */
const PAUSE = 10_000;
/** ms to wait for another process that writes. */
const PATIENCE = 1000;

export function createSaver<Whole, News>(options: SaverOptions<Whole, News>): Saver<Whole, News> {
  const { file, log, subject } = options;
  let written: Whole | undefined;
  let news = options.nothing();
  let timer: NodeJS.Timeout | undefined;
  /** The rest would be the same every ten seconds. */
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

/** The fields of such a file; undefined where there is none, a damaged one, or one of another format. Throws where it cannot be read. */
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
