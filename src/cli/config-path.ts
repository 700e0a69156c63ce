/** `mcpx config path`: which file would be read, whether or not it is there. */
import { existsSync } from 'node:fs';
import { NAMED_FILE_HINT } from '../config/source.ts';
import { configFiles } from '../config/store.ts';
import { worldOf } from '../config/world.ts';
import type { Invocation } from './command.ts';
import { note, print, printJson } from './output.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const { files, fallback } = configFiles(flags.values('config'), worldOf());
  const paths = files.length === 0 && fallback !== undefined ? [fallback] : files;
  const found = paths.map((path) => ({ path, exists: existsSync(path) }));
  if (flags.has('json')) {
    await printJson(found);
    return 0;
  }
  await print(paths.join('\n'));
  if (files.length === 0) note('not there yet; `mcpx serve` writes a first one');
  else for (const { path, exists } of found) if (!exists) note(`"${path}" does not exist; ${NAMED_FILE_HINT}`);
  return 0;
}
