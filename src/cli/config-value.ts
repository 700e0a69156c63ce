/** Edits one value of the config file for `mcpx config set` and `mcpx config unset`. */
import type { JSONPath } from 'jsonc-parser';
import { warningText } from '../config/diagnostics.ts';
import { writeEdit } from '../config/edit.ts';
import { environmentOf } from '../config/environment.ts';
import { readSource } from '../config/jsonc-file.ts';
import { loadConfig } from '../config/load.ts';
import { bootstrap, configFiles } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { withLock } from '../files.ts';
import type { Flags } from './command.ts';
import { parseKey } from './config-key.ts';
import { note, warn } from './output.ts';

/** Edits the last config file, which wins over the others. An edit that makes a config unusable is refused. */
export async function editConfig(
  key: string,
  flags: Flags,
  edit: (text: string, path: JSONPath) => string,
): Promise<number> {
  const world = environmentOf();
  const { files, fallback } = configFiles(flags.values('config'), world);
  const file = files.at(-1) ?? fallback ?? '';
  if (files.length === 0) {
    const { problem } = bootstrap(file, world);
    if (problem !== undefined) throw new McpxError('refused', problem, { hint: 'set MCPX_HOME to a writable folder' });
  }
  const { text: before, value } = readSource(file);
  const after = edit(before, parseKey(key, value));
  if (after === before) {
    note(`nothing has to be changed in ${file}`);
    return 0;
  }
  const named = files.length === 0 ? [file] : files;
  const load = (text: string) => loadConfig({ ...world, files: named, texts: new Map([[file, text]]) }).config;
  const problem = problemOf(() => load(after));
  // A config with several mistakes is corrected step by step.
  if (problem !== undefined && problemOf(() => load(before)) === undefined) throw problem;
  await withLock(file, () => writeEdit({ file, before, after }));
  note(`changed ${key} in ${file}`);
  if (problem !== undefined) throw problem;
  for (const warning of load(after).warnings) warn(warningText(warning));
  return 0;
}

function problemOf(work: () => unknown): McpxError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof McpxError) return error;
    throw error;
  }
}
