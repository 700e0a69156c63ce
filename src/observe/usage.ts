/** Which tools are used: successful calls counted over runs and processes, in one small file of names and numbers. */
import type { Log } from './log.ts';
import { createSaver, readSaved } from './saver.ts';

export interface Usage {
  /** A call that succeeded. */
  record(server: string, tool: string): void;
  /** From 0, never used, to 1: a tool of every day. */
  share(server: string, tool: string): number;
  /** Writes down what is not yet; never rejects. */
  close(): Promise<void>;
}

export interface UsageOptions {
  /** Where counts outlive the process; without one they end with it. */
  file?: string;
  log?: Pick<Log, 'warn'>;
}

/** Grows when the form of the file changes; another one is begun anew. */
const FORMAT = 1;
/** Tools that are remembered; those used least are forgotten first. */
const MAX_TOOLS = 2000;
/** Where one count gets there all are halved, so that what was used long ago fades. */
const MAX_COUNT = 1024;
/** Calls that make a tool one of every day. */
const EVERY_DAY = 64;
/** A longer name is nobody's habit. */
const MAX_NAME = 500;

/** By server and tool with a space between them: a server's name has none, so that no two pairs meet. */
type Counts = Map<string, number>;

export function createUsage({ file, log }: UsageOptions = {}): Usage {
  const saver = createSaver<Counts, Counts>({
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
    // What was used last is the last.
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

/** The counts in the file. */
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
