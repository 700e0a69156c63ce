/** How the tools of one server changed while it kept its version: what they were at any moment since its first list. */
import type { ListedTool, Tool } from './list.ts';

export type Tools = ReadonlyMap<string, ListedTool>;

/** What became of a tool since a moment. */
export type Since = { kind: 'same' } | { kind: 'changed'; was: Tool } | { kind: 'unknown' };

export interface History {
  readonly version: string;
  /** Takes note of the tools as they are now; the names of those that changed, where the version stayed. */
  update(version: string, tools: Tools, now: number): Update;
  since(name: string, moment: number): Since;
}

export type Update = { kind: 'same' } | { kind: 'version'; was: string } | { kind: 'changed'; names: string[] };

interface Past {
  /** Until this moment it was so. */
  until: number;
  /** Undefined: it was not there. */
  tool: Tool | undefined;
}

/** Characters of definitions of the past. A server that changes more than that has no past that could be trusted. */
const MAX_PAST = 4_000_000;

const SAME = { kind: 'same' } as const;

export function createHistory(version: string, tools: Tools, digest: (tool: Tool) => string): History {
  let now = { version, tools };
  const past = new Map<string, Past[]>();
  let size = 0;
  /** Before this moment nothing is known any more. */
  let horizon = 0;

  const add = (name: string, until: number, tool: Tool | undefined) => {
    past.set(name, [...(past.get(name) ?? []), { until, tool }]);
    size += name.length + (tool === undefined ? 0 : JSON.stringify(tool).length);
  };
  const forget = (moment: number) => {
    past.clear();
    size = 0;
    horizon = moment;
  };
  const differs = (one: Tool, other: Tool) => one !== other && digest(one) !== digest(other);

  /** The names of those that are not what they were. A tool that is new or gone is none of them. */
  const compare = (after: Tools, moment: number): string[] => {
    const changed: string[] = [];
    for (const [name, { tool }] of now.tools) {
      const other = after.get(name)?.tool;
      if (other !== undefined && !differs(tool, other)) continue;
      add(name, moment, tool);
      if (other !== undefined) changed.push(name);
    }
    for (const name of after.keys()) if (!now.tools.has(name) && past.has(name)) add(name, moment, undefined);
    if (size > MAX_PAST) forget(moment);
    return changed;
  };

  return {
    get version() {
      return now.version;
    },
    update(nextVersion, nextTools, moment) {
      const was = now.version;
      if (was !== nextVersion) {
        forget(0);
        now = { version: nextVersion, tools: nextTools };
        return { kind: 'version', was };
      }
      const names = compare(nextTools, moment);
      now = { version: nextVersion, tools: nextTools };
      return names.length === 0 ? SAME : { kind: 'changed', names };
    },
    since(name, moment) {
      if (moment < horizon) return { kind: 'unknown' };
      const then = past.get(name)?.find(({ until }) => until > moment);
      const tool = now.tools.get(name)?.tool;
      // What was not there, or is no longer, is nobody's expectation.
      if (then?.tool === undefined || tool === undefined) return SAME;
      return differs(then.tool, tool) ? { kind: 'changed', was: then.tool } : SAME;
    },
  };
}
