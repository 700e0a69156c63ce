/** Helpers to declare built-in tools: schemas of arguments and results, and annotations. */
import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';

type Properties = Record<string, Record<string, unknown>>;

export interface ObjectSchema {
  type: 'object';
  properties: Properties;
  required?: string[];
  additionalProperties?: boolean;
  [keyword: string]: unknown;
}

/** Returns the schema of arguments with exactly these properties. */
export function takes(properties: Properties, required: string[] = []): ObjectSchema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** Returns the schema of a result object in which every property is required. */
export function gives(properties: Properties): ObjectSchema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** The annotations of a tool that changes nothing and accesses nothing outside the process. */
export const READS = { readOnlyHint: true, openWorldHint: false } satisfies ToolAnnotations;
