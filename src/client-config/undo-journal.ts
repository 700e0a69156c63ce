/** Records every change of a client's file with a backup of its bytes, so that a setup can be undone. The files are in mcpx's folder. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isRecord, type Path } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../files.ts';
import { digestOf, readBytes } from './client-file.ts';
import type { ClientId } from './client-table.ts';
import { valueAt } from './found-servers.ts';
import type { Change } from './text-editor.ts';

/** One change of one file. */
export interface JournalEntry {
  time: string;
  client: ClientId;
  file: string;
  /** The copy of the file before the change; undefined if there was no file. */
  backup?: string;
  /** The SHA-256 before the change, undefined if there was no file, and after it. */
  before?: string;
  after: string;
  /** The changes that take this one back in a file that was changed by another program since. */
  inverse: Change[];
}

/** The maximum number of entries; the oldest ones go first, with their backups. */
const MAX_ENTRIES = 200;

export interface UndoJournal {
  /** The path of the journal, which serves as the name of a lock as well. */
  file: string;
  entries(): JournalEntry[];
  /** Copies the file and records the change that follows. */
  record(change: Pick<JournalEntry, 'client' | 'file' | 'after' | 'inverse'>): JournalEntry;
  /** Forgets entries that were undone, and deletes their backups. */
  forget(undone: readonly JournalEntry[]): void;
}

/** `home` is mcpx's folder. */
export function openJournal(home: string, now: () => Date = () => new Date()): UndoJournal {
  const folder = join(home, 'setup');
  const file = join(folder, 'journal.json');
  const write = (journal: Stored) => writeFileAtomic(file, `${JSON.stringify({ version: 1, ...journal }, null, 2)}\n`);
  const read = () => readJournal(file);
  /** Returns the journal; a new one is written before the first backup, so that its time is known. */
  const begin = (time: string): Stored => {
    const found = read();
    if (found !== undefined) return found;
    const journal = { since: time, entries: [] };
    write(journal);
    return journal;
  };
  const deleteBackups = (gone: readonly JournalEntry[]) => {
    for (const { backup } of gone) if (backup !== undefined) rmSync(backup, { force: true });
  };
  return {
    file,
    entries: () => read()?.entries ?? [],
    record(change) {
      ensureFolder(folder);
      const time = now().toISOString();
      const journal = begin(time);
      removeOrphans(folder, journal);
      const before = digestOf(readBytes(change.file));
      const backup = before === undefined ? undefined : backUp(change, folder, time);
      const entry = { time, ...change, ...(before && { before }), ...(backup && { backup }) };
      const all = [...journal.entries, entry];
      write({ ...journal, entries: all.slice(-MAX_ENTRIES) });
      deleteBackups(all.slice(0, -MAX_ENTRIES));
      return entry;
    },
    forget(undone) {
      const gone = new Set(undone.map(keyOf));
      const journal = read() ?? { entries: [] };
      write({ ...journal, entries: journal.entries.filter((entry) => !gone.has(keyOf(entry))) });
      deleteBackups(undone);
    },
  };
}

function keyOf({ time, file, after }: JournalEntry): string {
  return JSON.stringify([time, file, after]);
}

function backUp({ client, file }: Pick<JournalEntry, 'client' | 'file'>, folder: string, time: string): string {
  const bytes = readBytes(file) ?? Buffer.alloc(0);
  const name = `${stampOf(time)}-${client}-${digestOf(Buffer.from(file))?.slice(0, 8)}-${basename(file)}`;
  const backup = join(folder, name);
  writeFileAtomic(backup, bytes);
  return backup;
}

/** The beginning of the name of a backup. */
function stampOf(time: string): string {
  return time.replace(/[:.]/g, '-');
}

/**
 * Deletes the backups that a killed process left without an entry. Backups from before the journal stay: they belong to
 * a journal that was damaged and moved away.
 */
function removeOrphans(folder: string, { since, entries }: Stored): void {
  if (since === undefined) return;
  const known = new Set(entries.map(({ backup }) => backup));
  for (const name of readdirSync(folder)) {
    const isBackup = /^\d{4}-\d\d-\d\dT[\d-]+Z-/.test(name) && name >= stampOf(since);
    if (isBackup && !known.has(join(folder, name))) rmSync(join(folder, name), { force: true });
  }
}

interface Stored {
  /** The time of the first change; undefined in a journal of an older mcpx. */
  since?: string;
  entries: JournalEntry[];
}

/** Returns undefined if there is no journal. */
function readJournal(file: string): Stored | undefined {
  const text = readIfPresent(file);
  if (text === undefined) return undefined;
  const data = jsonOf(text);
  if (isRecord(data) && Array.isArray(data.entries)) {
    const since = typeof data.since === 'string' ? { since: data.since } : {};
    return { ...since, entries: data.entries as JournalEntry[] };
  }
  const hint = 'the backups in its folder are complete; move it away to go on without undo';
  throw new McpxError('failed', `the journal "${file}" is damaged`, { hint });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the changes that take others back, given the data before them. They are in the order in which they have to be made. */
export function inverseOf(changes: readonly Change[], before: unknown): Change[] {
  return changes.toReversed().map(({ path }): Change => {
    const value = valueAt(before, path);
    return value === undefined ? { kind: 'remove', path } : { kind: 'set', path, value };
  });
}

/** Returns the inverse changes that still make sense for other data: entries of lists are found by their names. */
export function applicable(inverse: readonly Change[], data: unknown): Change[] {
  let appended = 0;
  return inverse.flatMap((change): Change[] => {
    const container = change.path.slice(0, -1);
    const holder = valueAt(data, container);
    const at = Array.isArray(holder) ? [...container, positionIn(holder, change)] : change.path;
    const present = valueAt(data, at);
    if (change.kind === 'remove') return present === undefined ? [] : [{ kind: 'remove', path: at }];
    if (!Array.isArray(holder))
      return present === undefined || isOwnEntry(change.path) ? [{ ...change, path: at }] : [];
    if (present !== undefined) return [];
    appended += 1;
    return [{ ...change, path: [...container, holder.length + appended - 1] }];
  });
}

function isOwnEntry(path: Path): boolean {
  return path.at(-1) === 'mcpx';
}

function positionIn(list: unknown[], change: Change): number {
  const name = change.kind === 'set' && isRecord(change.value) ? change.value.name : 'mcpx';
  const index = list.findIndex((item) => isRecord(item) && item.name === name);
  return index < 0 ? list.length : index;
}
