/** `mcpx config set`: writes one value into the config file and keeps its comments; `config unset` removes one. */
import { setValue } from '../config/set-value.ts';
import type { Invocation } from './command.ts';
import { editConfig } from './config-value.ts';

export function run({ args: [key = '', value = ''], flags }: Invocation): Promise<number> {
  return editConfig(key, flags, (text, path) => setValue(text, path, parseValue(value)));
}

/** Reads JSON; any other text is a string, such as `2m`. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
