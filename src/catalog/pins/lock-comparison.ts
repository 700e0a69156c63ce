/** Compares accepted definitions with those that a server lists: changes, acceptance, and fields that an older lock file did not cover. */

import type { ListedTool, Tool } from '../listing.ts';
import { type Comparison, createComparison } from './digest.ts';
import { FIRST_FORMAT_FIELDS, type Locked, type LockedServer } from './lock-file.ts';

/** A tool that differs from its accepted definition. */
export interface Change {
  tool: string;
  kind: 'changed' | 'new' | 'gone';
  before?: Tool;
  after?: Tool;
}

export interface Acceptance {
  /** True if a tool equals its accepted definition. */
  isAccepted(locked: Locked | undefined, tool: Tool): boolean;
  changes(server: LockedServer, live: ReadonlyMap<string, Locked>): Change[];
  /** Returns the changes of a list that are not accepted; waiting changes of other lists are kept. */
  waiting(server: LockedServer, live: ReadonlyMap<string, Locked>): Map<string, Locked>;
  /** True if both hold the same waiting definitions. */
  sameWaiting(one: ReadonlyMap<string, Locked>, other: ReadonlyMap<string, Locked>): boolean;
  /** Returns the differences that do not count, such as `read: default of "since" (a time)`. */
  ignored(server: LockedServer, live: ReadonlyMap<string, Locked>): string[];
  /**
   * Locks every field of tools that are otherwise equal, if an older mcpx locked only some fields; returns the added
   * fields, such as `read: _meta`.
   */
  complete(server: LockedServer, live: ReadonlyMap<string, Locked>): string[];
}

export function createAcceptance({ same, ignored }: Comparison = createComparison()): Acceptance {
  const parts = new WeakMap<Tool, Tool>();
  const firstFormatPart = (tool: Tool): Tool => {
    const part = parts.get(tool) ?? partOf(tool);
    parts.set(tool, part);
    return part;
  };
  const isAccepted: Acceptance['isAccepted'] = (locked, tool) =>
    locked !== undefined && same(locked.definition, locked.partial ? firstFormatPart(tool) : tool);
  const waiting: Acceptance['waiting'] = (server, live) => {
    const all = new Map([...server.waiting, ...live]);
    return new Map([...all].filter(([name, { definition }]) => !isAccepted(server.tools.get(name), definition)));
  };

  return {
    isAccepted,
    waiting,
    sameWaiting: (one, other) =>
      one.size === other.size &&
      [...one].every(([name, { definition }]) => {
        const found = other.get(name);
        return found !== undefined && same(found.definition, definition);
      }),
    changes(server, live) {
      const others = [...waiting(server, live)].map(([tool, { definition: after }]): Change => {
        const before = server.tools.get(tool)?.definition;
        return before === undefined ? { tool, kind: 'new', after } : { tool, kind: 'changed', before, after };
      });
      const gone = [...server.tools].filter(([tool]) => !live.has(tool) && !server.waiting.has(tool));
      return [...others, ...gone.map(([tool, { definition: before }]): Change => ({ tool, kind: 'gone', before }))];
    },
    ignored: (server, live) =>
      [...live].flatMap(([name, { definition }]) => {
        const locked = server.tools.get(name);
        if (locked === undefined || !isAccepted(locked, definition)) return [];
        const compared = locked.partial ? firstFormatPart(definition) : definition;
        return ignored(locked.definition, compared).map((what) => `${name}: ${what}`);
      }),
    complete(server, live) {
      const added: string[] = [];
      for (const [name, locked] of live) {
        const known = server.tools.get(name);
        if (known?.partial !== true || !isAccepted(known, locked.definition)) continue;
        server.tools.set(name, locked);
        const fields = Object.keys(locked.definition).filter((field) => !FIRST_FORMAT_FIELDS.includes(field));
        if (fields.length > 0) added.push(`${name}: ${fields.join(', ')}`);
      }
      return added;
    },
  };
}

/** Accepts all changes of a server, or those of one tool. */
export function accept(server: LockedServer, live: ReadonlyMap<string, Locked>, only?: string): void {
  const fresh = new Map([...server.waiting, ...live]);
  const names = new Set(only === undefined ? [...fresh.keys(), ...server.tools.keys()] : [only]);
  for (const name of names) {
    const now = fresh.get(name);
    if (now === undefined) server.tools.delete(name);
    else server.tools.set(name, now);
    server.waiting.delete(name);
  }
}

export function lockedOf(tools: ListedTool[]): Map<string, Locked> {
  return new Map(tools.map(({ tool }) => [tool.name, { definition: tool }]));
}

function partOf(tool: Tool): Tool {
  const fields = Object.entries(tool).filter(([field]) => FIRST_FORMAT_FIELDS.includes(field));
  return Object.fromEntries(fields) as Tool;
}
