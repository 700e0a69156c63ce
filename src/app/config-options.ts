/** The options with which a command finds the config that is in use. */
import type { Config } from '../config/config.ts';
import { usualFile } from '../config/paths.ts';

/** Returns `--config` for each file; nothing if it is the one that commands read anyway. */
export function configOptions({ files }: Pick<Config, 'files'>): string[] {
  const isUsual = files.length === 1 && files[0] === usualFile();
  return isUsual ? [] : files.map((file) => `--config ${shellWord(file)}`);
}

function shellWord(text: string): string {
  return /^[\w./\\:@~+-]+$/.test(text) ? text : `"${text}"`;
}
