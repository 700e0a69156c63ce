/** `mcpx config show`: the config as mcpx understands it, in the canonical shape, secrets starred out. */
import { describeConfig } from '../config/show.ts';
import type { Invocation } from './command.ts';
import { printJson } from './output.ts';
import { readConfig } from './session.ts';

export async function run({ flags }: Invocation): Promise<number> {
  await printJson(describeConfig(readConfig(flags)));
  return 0;
}
