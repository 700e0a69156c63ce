/** How the tools of one server changed while it kept its version: what they were at any moment since its first list. */
import type { Comparison } from './digest.ts';
import type { ListedTool, Tool } from './list.ts';

export type Tools = ReadonlyMap<string, ListedTool>;

/** The definitions of a server's tools in one list. */
export interface Statement {
  /** As the server calls itself. */
  version: string;
  tools: Tools;
}

/** How a list differs from the one before. */
export interface Update {
  /** The version before, where it is another one now: then nothing else is compared. */
  was?: string;
  /** Tools whose definition changed. A tool that is new or gone is none of them. */
  changed: string[];
  /** Differences that do not count, such as `read: default of "since" (a time)`. */
  ignored: string[];
}

export interface History {
  readonly version: string;
  /** When a definition changed or went last. */
  readonly changedAt: number;
  /** How a list differs from the last one. */
  compare(next: Statement): Update;
  /** Takes note of a list. */
  update(next: Statement, now: number): Update;
  names(): Iterable<string>;
  current(name: string): Tool | undefined;
  /** The first definition that a tool had since a moment; unknown where that is too long ago. */
  first(name: string, moment: number): Tool | 'unknown' | undefined;
}

interface Past {
  /** Until this moment it was so. */
  until: number;
  tool: Tool;
}

/** Characters of definitions of the past. A server that changes more than that has no past that could be trusted. */
const MAX_PAST = 4_000_000;

export function createHistory(first: Statement, { same, ignored }: Comparison): History {
  let now = first;
  const past = new Map<string, Past[]>();
  let size = 0;
  let changedAt = 0;
  /** Before this moment nothing is known any more. */
  let horizon = 0;

  const forget = (moment: number) => {
    past.clear();
    size = 0;
    horizon = moment;
  };

  const compare = ({ version, tools }: Statement): Update => {
    const update: Update = { changed: [], ignored: [] };
    if (version !== now.version) return { ...update, was: now.version };
    for (const [name, { tool }] of now.tools) {
      const next = tools.get(name)?.tool;
      if (next === undefined) continue;
      if (!same(tool, next)) update.changed.push(name);
      else update.ignored.push(...ignored(tool, next).map((what) => `${name}: ${what}`));
    }
    return update;
  };

  const keep = (names: string[], until: number) => {
    for (const name of names) {
      const tool = now.tools.get(name)?.tool;
      if (tool === undefined) continue;
      past.set(name, [...(past.get(name) ?? []), { until, tool }]);
      size += name.length + JSON.stringify(tool).length;
      changedAt = until;
    }
    if (size > MAX_PAST) forget(until);
  };

  return {
    get version() {
      return now.version;
    },
    get changedAt() {
      return changedAt;
    },
    compare,
    update(next, moment) {
      const update = compare(next);
      if (update.was === undefined) {
        const gone = [...now.tools.keys()].filter((name) => !next.tools.has(name));
        keep([...update.changed, ...gone], moment);
      } else forget(0);
      now = next;
      return update;
    },
    names: () => new Set([...now.tools.keys(), ...past.keys()]),
    current: (name) => now.tools.get(name)?.tool,
    first(name, moment) {
      if (moment < horizon) return 'unknown';
      return past.get(name)?.find(({ until }) => until > moment)?.tool ?? now.tools.get(name)?.tool;
    },
  };
}
