/** Short forms for what every built-in tool declares: schemas of arguments and results, and annotations. */

type Schema = Record<string, unknown>;

/** Arguments: these properties and no others. */
export function takes(properties: Record<string, Schema>, required: string[] = []): Schema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** A result object in which every property is present. */
export function gives(properties: Record<string, Schema>): Schema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Honest for a tool that changes nothing and reaches nothing outside the process. */
export const READS = { readOnlyHint: true, openWorldHint: false };
