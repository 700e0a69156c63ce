/** `mcpx config show`: prints the effective config in the canonical shape, with secrets masked. */
import { describeConfig } from '../config/show.ts';
import type { Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { printJson } from './output.ts';

export async function run({ flags }: Invocation): Promise<number> {
  await printJson(describeConfig(readConfig(flags)));
  return 0;
}
