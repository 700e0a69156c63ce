/** A tool's definition as a model reads it, and a digest of it that does not depend on the order of keys. */
import { createHash } from 'node:crypto';
import { isExact } from '../exact.ts';
import type { Tool } from './list.ts';

/** What decides what a model believes of a tool. `_meta`, icons and the like do not. */
const FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

export type Definition = Pick<Tool, (typeof FIELDS)[number]>;

export function definitionOf(tool: Tool): Definition {
  const present = FIELDS.filter((field) => tool[field] !== undefined).map((field) => [field, tool[field]]);
  return Object.fromEntries(present) as Definition;
}

/** Hex; the same for two definitions that say the same. */
export function digestOf(tool: Tool): string {
  return createHash('sha256')
    .update(canonical(definitionOf(tool)))
    .digest('hex');
}

/** JSON with sorted keys. Definitions are within the bounds of lists, so that the depth is bounded too. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null || isExact(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}

/** Digests that are worked out once for every tool of a list. */
export function createDigests(): (tool: Tool) => string {
  const known = new WeakMap<Tool, string>();
  return (tool) => {
    const found = known.get(tool) ?? digestOf(tool);
    known.set(tool, found);
    return found;
  };
}
