/** `mcpx config schema`: prints the JSON Schema of the config file. */
import { jsonSchema } from '../config/json-schema.ts';
import { printJson } from './output.ts';

export async function run(): Promise<number> {
  await printJson(jsonSchema());
  return 0;
}
