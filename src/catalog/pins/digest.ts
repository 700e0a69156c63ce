/** The digest of a tool's definition, over every field that its server sent except those that `volatile.ts` lists. */
import { createHash } from 'node:crypto';
import type { Tool } from '../listing.ts';
import { type Ignored, normalise } from './volatile.ts';

export { canonical } from './volatile.ts';

export interface Digest {
  /** The digest in hex; equal for equivalent definitions. */
  hex: string;
  ignored: Ignored[];
}

export function digestOf(tool: Tool): Digest {
  const { text, ignored } = normalise(tool);
  return { hex: createHash('sha256').update(text).digest('hex'), ignored };
}

/** Compares definitions; the digest of each is computed once. */
export interface Comparison {
  /** Returns the first 128 bits of the digest, in hex. */
  digest(tool: Tool): string;
  same(one: Tool, other: Tool): boolean;
  /** Returns the differences that were ignored between two equal definitions, such as `default of "since" (a time)`. */
  ignored(one: Tool, other: Tool): string[];
}

export function createComparison(): Comparison {
  const known = new WeakMap<Tool, Digest>();
  const digest = (tool: Tool): Digest => {
    const found = known.get(tool) ?? digestOf(tool);
    known.set(tool, found);
    return found;
  };
  return {
    digest: (tool) => digest(tool).hex.slice(0, 32),
    same: (one, other) => one === other || digest(one).hex === digest(other).hex,
    ignored(one, other) {
      if (one === other) return [];
      const before = digest(one).ignored;
      const differing = digest(other).ignored.filter(({ value }, index) => before[index]?.value !== value);
      return [...new Set(differing.map(({ place }) => `${place} (a time)`))];
    },
  };
}
