/** The history of one server's tool definitions within one version: their state at any moment since the first list. */

import type { ListedTool, Tool } from '../listing.ts';
import type { Comparison } from './digest.ts';

export type Tools = ReadonlyMap<string, ListedTool>;

/** The definitions of a server's tools in one list. */
export interface Statement {
  /** The version that the server reports. */
  version: string;
  tools: Tools;
}

/** The differences between two consecutive lists. */
export interface Update {
  /** The previous version, if the version changed; then nothing else is compared. */
  was?: string;
  /** Tools whose definition changed, without added and removed tools. */
  changed: string[];
  /** Differences that do not count, such as `read: default of "since" (a time)`. */
  ignored: string[];
}

export interface History {
  readonly version: string;
  /** When a definition was last changed or removed. */
  readonly changedAt: number;
  /** Returns the differences between a list and the last one. */
  compare(next: Statement): Update;
  /** Records a list. */
  update(next: Statement, now: number): Update;
  names(): Iterable<string>;
  current(name: string): Tool | undefined;
  /**
   * Returns the first definition that a tool had since a moment; `unknown` if the history does not reach back that far.
   */
  first(name: string, moment: number): Tool | 'unknown' | undefined;
}

interface Past {
  /** The moment at which the definition was replaced or removed. */
  until: number;
  tool: Tool;
}

/** Maximum characters of past definitions. If a server changes more than that, its history is dropped. */
const MAX_PAST = 4_000_000;

export function createHistory(first: Statement, { same, ignored }: Comparison): History {
  let now = first;
  const past = new Map<string, Past[]>();
  let size = 0;
  let changedAt = 0;
  /** Nothing is known about moments before this one. */
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
