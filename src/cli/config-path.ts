/** `mcpx config path`: prints the files that would be read, even if they do not exist. */
import { existsSync } from 'node:fs';
import { environmentOf } from '../config/environment.ts';
import { NAMED_FILE_HINT } from '../config/jsonc-file.ts';
import { configFiles } from '../config/paths.ts';
import type { Invocation } from './command.ts';
import { print, printJson } from './output.ts';
import { status } from './status-lines.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const { files, fallback } = configFiles(flags.values('config'), environmentOf());
  const paths = files.length === 0 && fallback !== undefined ? [fallback] : files;
  const found = paths.map((path) => ({ path, exists: existsSync(path) }));
  if (flags.has('json')) {
    await printJson(found);
    return 0;
  }
  await print(paths.join('\n'));
  if (files.length === 0) status.info('the file does not exist yet; `mcpx serve` creates it');
  else for (const { path, exists } of found) if (!exists) status.info(`"${path}" does not exist; ${NAMED_FILE_HINT}`);
  return 0;
}
