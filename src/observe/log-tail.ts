/** Reads the end of log files, and follows them while they grow and are rotated. */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';

/** Bytes that are read at once. */
const CHUNK = 64 * 1024;
/** Milliseconds between two looks at a followed file. */
const LOOK = 250;

export interface Tail {
  lines: string[];
  /** The bytes of the newest file that were read or skipped; lines from there on are new. */
  end: number;
}

/** Returns the last complete lines of a log, with those of its set-aside files if the newest has too few. */
export function lastLines(file: string, count: number): Tail {
  const newest = tailOf(file, count);
  let { lines } = newest;
  for (const older of setAside(file)) {
    if (lines.length >= count) break;
    lines = [...tailOf(older, count - lines.length).lines, ...lines];
  }
  return { lines, end: newest.end };
}

/** Returns the earlier files of a log, newest first: `<file>.1`, or `<file>.<time>-<pid>`. */
function setAside(file: string): string[] {
  const folder = dirname(file);
  const names = namesIn(folder).filter((name) => name.startsWith(`${basename(file)}.`));
  const stamped = names.filter((name) => /\.\d{8}T\d+Z-\d+$/.test(name)).sort();
  const numbered = names.filter((name) => name === `${basename(file)}.1`);
  return [...numbered, ...stamped.reverse()].map((name) => join(folder, name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Reads a file backwards until it has enough lines; a file that is gone has none. */
function tailOf(file: string, count: number): Tail {
  const handle = openOrNothing(file);
  if (handle === undefined) return { lines: [], end: 0 };
  try {
    const { size } = fstatSync(handle);
    let start = size;
    let tail = Buffer.alloc(0);
    while (start > 0 && newlines(tail) <= count) {
      const from = Math.max(0, start - CHUNK);
      const chunk = Buffer.alloc(start - from);
      readSync(handle, chunk, 0, chunk.length, from);
      tail = Buffer.concat([chunk, tail]);
      start = from;
    }
    // A line that is still being written is shown when it is complete.
    const whole = tail.lastIndexOf(10) + 1;
    const lines = tail.subarray(0, whole).toString('utf8').split('\n').slice(0, -1);
    return { lines: count === 0 ? [] : lines.slice(-count), end: size - (tail.length - whole) };
  } finally {
    closeSync(handle);
  }
}

function newlines(bytes: Buffer): number {
  let number = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) number += 1;
  return number;
}

function openOrNothing(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}

export interface Follow {
  /** Returns the files to follow by the name of their source; it is called again and again, because files appear. */
  files(): ReadonlyMap<string, string>;
  /** The bytes of each file that were shown already; a source without an entry is new. */
  shown: ReadonlyMap<string, number>;
  line(source: string, line: string): void | Promise<void>;
  stop: AbortSignal;
}

interface Followed {
  file: string;
  handle: number;
  ino: number;
  offset: number;
  partial: string;
  decoder: StringDecoder;
}

/** Passes on every line that is appended. Resolves when `stop` is aborted. */
export async function followFiles({ files, shown, line, stop }: Follow): Promise<void> {
  const open = new Map<string, Followed>();
  const offsets = new Map(shown);
  const passOn = async (source: string, one: Followed) => {
    for (const text of readLines(one)) await line(source, text);
  };
  const look = async () => {
    for (const [source, file] of files()) {
      const one = open.get(source) ?? begin(file, offsets.get(source) ?? 0);
      if (one === undefined) continue;
      open.set(source, one);
      await passOn(source, one);
      if (!isReplaced(one)) continue;
      // The set-aside file may have got lines since they were read.
      await passOn(source, one);
      closeSync(one.handle);
      open.delete(source);
      offsets.delete(source);
    }
  };
  try {
    while (!stop.aborted) {
      await look();
      await delay(LOOK, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    for (const { handle } of open.values()) closeSync(handle);
  }
}

function begin(file: string, offset: number): Followed | undefined {
  const handle = openOrNothing(file);
  if (handle === undefined) return undefined;
  const { ino } = fstatSync(handle);
  return { file, handle, ino, offset, partial: '', decoder: new StringDecoder('utf8') };
}

/** Returns the complete lines that were appended since the last call. */
function readLines(one: Followed): string[] {
  const { size } = fstatSync(one.handle);
  // A file that became shorter was emptied, and begins anew.
  if (size < one.offset) one.offset = 0;
  const lines: string[] = [];
  while (one.offset < size) {
    const chunk = Buffer.alloc(Math.min(CHUNK, size - one.offset));
    const read = readSync(one.handle, chunk, 0, chunk.length, one.offset);
    if (read === 0) break;
    one.offset += read;
    const pieces = (one.partial + one.decoder.write(chunk.subarray(0, read))).split('\n');
    one.partial = pieces.pop() ?? '';
    lines.push(...pieces);
  }
  return lines;
}

/** True if the path names another file now, because the log was rotated. */
function isReplaced({ file, ino }: Followed): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && found.ino !== ino;
}
