/** Tool usage: counts successful calls over all runs and processes, in one small file of names and numbers. */

import { createCounterFile, readSaved } from './counter-file.ts';
import type { Log } from './log.ts';

export interface Usage {
  /** Counts a successful call. */
  record(server: string, tool: string): void;
  /** Returns a number from 0 for an unused tool to 1 for a tool of daily use. */
  share(server: string, tool: string): number;
  /** Writes pending counts; never rejects. */
  close(): Promise<void>;
}

export interface UsageOptions {
  /** A file in which counts survive the process; without one they are lost at exit. */
  file?: string;
  log?: Pick<Log, 'warn'>;
}

/** Version of the file format; a file of another version is replaced. */
const FORMAT = 1;
/** Maximum number of tools in the file; the least used tools are dropped first. */
const MAX_TOOLS = 2000;
/** If one count exceeds this, all are halved, so that old usage loses weight. */
const MAX_COUNT = 1024;
/** Number of calls from which a tool counts as one of daily use. */
const EVERY_DAY = 64;
/** Maximum characters of server and tool name together; calls with longer names are not counted. */
const MAX_NAME = 500;

/** Counts by server and tool, separated by a space: a server's name has no space, so keys are unique. */
type Counts = Map<string, number>;

export function createUsage({ file, log }: UsageOptions = {}): Usage {
  const saver = createCounterFile<Counts, Counts>({
    ...{ file, log },
    subject: 'which tools are used',
    nothing: () => new Map(),
    isNothing: ({ size }) => size === 0,
    read: readCounts,
    sum: (known = new Map(), news) => bounded(added(known, news)),
    toJson: (counts) => ({ format: FORMAT, calls: [...counts].map(([key, count]) => [...namesIn(key), count]) }),
  });
  return {
    record(server, tool) {
      if (server.length + tool.length > MAX_NAME) return;
      const key = keyOf(server, tool);
      const { news } = saver;
      if (news.has(key) || news.size < MAX_TOOLS) news.set(key, (news.get(key) ?? 0) + 1);
      saver.changed();
    },
    share(server, tool) {
      const key = keyOf(server, tool);
      const count = (saver.written()?.get(key) ?? 0) + (saver.news.get(key) ?? 0);
      return Math.min(1, Math.log2(1 + count) / Math.log2(1 + EVERY_DAY));
    },
    close: saver.close,
  };
}

function keyOf(server: string, tool: string): string {
  return `${server} ${tool}`;
}

function namesIn(key: string): [string, string] {
  const at = key.indexOf(' ');
  return [key.slice(0, at), key.slice(at + 1)];
}

function added(a: Counts, b: Counts): Counts {
  const total = new Map(a);
  for (const [key, count] of b) {
    const before = total.get(key) ?? 0;
    // Deleting first moves the entry to the end, so the map is ordered by last use.
    total.delete(key);
    total.set(key, before + count);
  }
  return total;
}

function bounded(counts: Counts): Counts {
  const most = Math.max(0, ...counts.values());
  const fading = most > MAX_COUNT ? 2 ** Math.ceil(Math.log2(most / MAX_COUNT)) : 1;
  return new Map(
    [...counts]
      .reverse()
      .map(([key, count]) => [key, Math.ceil(count / fading)] as const)
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_TOOLS),
  );
}

/** Returns the counts in the file. */
function readCounts(file: string): Counts {
  const calls = readSaved(file, FORMAT)?.calls;
  const rows = (Array.isArray(calls) ? calls : []).filter(isRow).slice(0, MAX_TOOLS);
  return new Map(rows.reverse().map(([server, tool, count]) => [keyOf(server, tool), count]));
}

function isRow(value: unknown): value is [server: string, tool: string, count: number] {
  if (!Array.isArray(value)) return false;
  const [server, tool, count] = value;
  return typeof server === 'string' && typeof tool === 'string' && Number.isSafeInteger(count) && count > 0;
}
