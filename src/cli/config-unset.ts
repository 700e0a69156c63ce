/** `mcpx config unset`: removes one value from the config file and keeps its comments. */
import { removeAt } from '../config/remove.ts';
import type { Invocation } from './command.ts';
import { editConfig } from './config-value.ts';

export function run({ args: [key = ''], flags }: Invocation): Promise<number> {
  return editConfig(key, flags, removeAt);
}
