/** Helpers to declare built-in tools: schemas of arguments and results, and annotations. */

type Schema = Record<string, unknown>;

/** Returns the schema of arguments with exactly these properties. */
export function takes(properties: Record<string, Schema>, required: string[] = []): Schema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** Returns the schema of a result object in which every property is required. */
export function gives(properties: Record<string, Schema>): Schema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** The annotations of a tool that changes nothing and accesses nothing outside the process. */
export const READS = { readOnlyHint: true, openWorldHint: false };
