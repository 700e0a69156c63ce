/** Writes planned edits: under a lock, with a backup, only if the file is still as it was read; and takes them back. */
import { rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { changedMeanwhile } from '../config/edit.ts';
import { McpxError } from '../errors.ts';
import { codeOf, ensureFolder, withLock, writeFileAtomic } from '../files.ts';
import { type ClientFile, digestOf, readBytes, readClientFile } from './client-file.ts';
import type { ClientId } from './client-table.ts';
import { editText, loadEditor } from './edit-text.ts';
import type { FileEdit } from './setup-plan.ts';
import { applicable, inverseOf, type JournalEntry, type UndoJournal } from './undo-journal.ts';

export interface Applied {
  edit: FileEdit;
  /** The backup of the file; undefined if there was none before. */
  backup?: string;
  /** The reason for which the file was not written. */
  error?: McpxError;
}

/** Writes each edit of a client's file. An edit that fails does not keep the others from being written. */
export function applyEdits(edits: readonly FileEdit[], journal: UndoJournal): Promise<Applied[]> {
  ensureFolder(dirname(journal.file));
  return withLock(journal.file, async () => {
    const applied: Applied[] = [];
    for (const edit of edits) applied.push(await applyOne(edit, journal));
    return applied;
  });
}

async function applyOne(edit: FileEdit, journal: UndoJournal): Promise<Applied> {
  try {
    const { file, client, source, after, changes } = edit;
    const bytes = source.encode(after);
    refuseReadOnly(file);
    refuseChanged(source);
    if (client === undefined) throw new McpxError('failed', `"${file}" belongs to no client`);
    const editor = await loadEditor(source.format);
    const inverse = inverseOf(changes, editor.parse(source.text, file));
    const { backup } = journal.record({ client, file, after: digestOf(bytes) ?? '', inverse });
    writeBytes(file, bytes);
    return { edit, ...(backup !== undefined && { backup }) };
  } catch (error) {
    if (error instanceof McpxError) return { edit, error };
    throw error;
  }
}

/** Throws `conflict` if the file does not have the bytes from which the edit was planned. */
export function refuseChanged({ file, bytes }: Pick<ClientFile, 'file' | 'bytes'>): void {
  if (digestOf(readBytes(file)) !== digestOf(bytes)) throw changedMeanwhile(file);
}

/** A rename would replace a read-only file, but its owner or a program such as Nix wants it to stay as it is. */
export function refuseReadOnly(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o200) !== 0) return;
  throw new McpxError('refused', `"${file}" is read-only`, {
    hint: 'make it writable, or add the entry by hand: mcpx setup --print shows it',
  });
}

function writeBytes(file: string, bytes: Buffer): void {
  try {
    ensureFolder(dirname(file));
    writeFileAtomic(file, bytes);
  } catch (cause) {
    throw new McpxError('refused', `"${file}" cannot be written (${codeOf(cause) ?? 'unknown reason'})`, {
      hint: 'allow your user to write to its folder',
      cause,
    });
  }
}

/** The planned restoration of one file. */
export interface Restoration {
  client: ClientId;
  source: ClientFile;
  /** The bytes to write; undefined if the file is deleted, because mcpx created it. */
  bytes: Buffer | undefined;
  /** True if the file gets exactly the bytes that it had; false if another program changed it since, and those changes stay. */
  isExact: boolean;
  undone: JournalEntry[];
}

/** Plans the restoration of every recorded file of these clients. */
export async function planUndo(journal: UndoJournal, clients: readonly ClientId[]): Promise<Restoration[]> {
  const entries = journal.entries().filter(({ client }) => clients.includes(client));
  const files = [...new Set(entries.map(({ file }) => file))];
  const plans: Restoration[] = [];
  for (const file of files) plans.push(await restoration(entries.filter((entry) => entry.file === file)));
  return plans;
}

/** Takes back the changes of one file, the newest first. */
async function restoration(entries: JournalEntry[]): Promise<Restoration> {
  const [{ file, client } = { file: '', client: 'generic' as const }] = entries;
  const source = readClientFile(file);
  const plan: Restoration = { client, source, bytes: source.bytes, isExact: true, undone: entries };
  for (const entry of entries.toReversed()) {
    const current = digestOf(plan.bytes);
    if (current === entry.before) continue;
    if (current === entry.after) {
      const backup = entry.backup === undefined ? undefined : readBytes(entry.backup);
      if (entry.backup !== undefined && digestOf(backup) !== entry.before) throw damaged(entry.backup, file);
      plan.bytes = backup;
    } else {
      plan.bytes = await withoutChanges(plan.bytes, source, entry);
      plan.isExact = false;
    }
  }
  return plan;
}

function damaged(backup: string, file: string): McpxError {
  return new McpxError('failed', `the backup "${backup}" is missing or was changed, so "${file}" cannot be restored`);
}

/** Takes the changes of one entry back in a file that another program has changed since. */
async function withoutChanges(
  bytes: Buffer | undefined,
  source: ClientFile,
  entry: JournalEntry,
): Promise<Buffer | undefined> {
  if (bytes === undefined) return undefined;
  const editor = await loadEditor(source.format);
  const { file } = source;
  const text = source.decode(bytes);
  const changes = applicable(entry.inverse, editor.parse(text, file));
  return source.encode(editText(editor, text, { file, changes }));
}

/** Writes the restored files and forgets their entries. */
export function applyUndo(plans: readonly Restoration[], journal: UndoJournal): Promise<void> {
  return withLock(journal.file, () => {
    for (const { source, bytes, undone } of plans) {
      refuseChanged(source);
      if (digestOf(bytes) !== digestOf(source.bytes)) {
        refuseReadOnly(source.file);
        if (bytes === undefined) rmSync(source.file, { force: true });
        else writeBytes(source.file, bytes);
      }
      journal.forget(undone);
    }
  });
}
