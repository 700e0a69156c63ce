/** `mcpx config schema`: the JSON Schema of the config file. */
import { jsonSchema } from '../config/schema.ts';
import { printJson } from './output.ts';

export async function run(): Promise<number> {
  await printJson(jsonSchema());
  return 0;
}
