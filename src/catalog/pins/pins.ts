/** `lock`: the reaction to a server that changes the definition of a tool that a session uses. */
import type { ServerSpec, Settings } from '../../config/config.ts';
import type { McpxError } from '../../errors.ts';
import { sharedKey } from '../../mcp/capabilities.ts';
import type { Log } from '../../observe/log.ts';
import type { ListedTool } from '../listing.ts';
import { createHistory, type Statement, type Update } from './definition-history.ts';
import { createComparison } from './digest.ts';
import { createSessionPins, type Followed } from './session-pins.ts';
import type { ShownDefinitions } from './shown-definitions.ts';

/** The contents of one list. */
export interface Lesson extends Statement {
  spec: ServerSpec;
  /** The set of capabilities it was listed for, and the only client of its connection, if there is one. */
  offered: string;
  owner?: string | undefined;
  /**
   * A digest of the folder that the server was started for, if its launch depends on one: its definitions may differ
   * per folder.
   */
  folder?: string | undefined;
  /** The list comes from the server itself, or from disk. */
  from: 'server' | 'store';
}

/** A server whose tools are checked. */
export interface Subject {
  name: string;
  spec: ServerSpec;
}

/** The client that pins belong to. */
export interface Holder {
  key: string;
  /** Returns the set of capabilities of the client. */
  offered(): string | undefined;
  /** Set for a standalone request or a command: it was shown nothing before, so a list from disk does not bind. */
  stateless?: true | undefined;
  /** Epoch milliseconds at which its session began, if that was in another process. */
  issued?: number | undefined;
}

export interface Pins {
  /** Records a list; returns true if a definition changed without a change of the server's version. */
  learned(lesson: Lesson): boolean;
  /** Returns the pins of one client, which start when it first sees a server. */
  session(holder: Holder): SessionPins;
  /** True if the definitions are known that a session was shown which began then, in another process. */
  canResume(issued: number): boolean;
  /** Removes the pins of a client that has left. */
  release(key: string): void;
  /** Writes to disk what is not there yet. */
  flush(): void;
  /** Changes whenever the result of `shown` may have changed for a reason other than a new list. */
  readonly revision: number;
}

export interface SessionPins {
  /** Returns the tools of a server as this client sees them. */
  shown(server: Subject, tools: ListedTool[]): ListedTool[];
  /** True if a call must wait until the server was listed on the connection of the call. */
  relies(server: Subject): boolean;
  /** Returns why a tool must not be called; undefined if it may. */
  held(server: Subject, listed: ListedTool): McpxError | undefined;
}

export interface PinsOptions {
  mode: Exclude<Settings['lock'], 'enforce'>;
  log: Log;
  /** Without it no session of another process can be resumed in mode `session`. */
  shownDefinitions?: ShownDefinitions | undefined;
}

export const FREE: SessionPins = { shown: (_, tools) => tools, relies: () => false, held: () => undefined };
const NO_PINS: Pins = {
  learned: () => false,
  session: () => FREE,
  canResume: () => true,
  release: () => undefined,
  flush: () => undefined,
  revision: 0,
};

/** Creates the pins for every mode except `enforce`, which is in `enforce.ts`. */
export function createPins({ mode, log, shownDefinitions }: PinsOptions): Pins {
  return mode === 'off' ? NO_PINS : createMemory(mode, log, mode === 'session' ? shownDefinitions : undefined);
}

/** The key of shared connections, which have no owner. */
const SHARED = '';

/**
 * Creates the pins of `session` and `warn`. Only digests survive the process. Lists are keyed by the server's name: a
 * config that starts it in another way does not change the definitions that sessions were shown.
 */
function createMemory(mode: 'session' | 'warn', log: Log, onDisk: ShownDefinitions | undefined): Pins {
  const comparison = createComparison();
  const tell = createTeller(log);
  /** Lists by the owner of the connection, while it is present, then by server and set. */
  const lists = new Map<string, Map<string, Followed>>([[SHARED, new Map()]]);
  /**
   * The definitions that the catalog shows to clients without a history: by server and set, and by server alone, for
   * any owner.
   */
  const latest = new Map<string, Followed>();
  /** Counts lists, to order them in time. */
  let clock = 0;

  /** Looks up in the same order as `knownTo` of the catalog. */
  const latestOf = (server: string, offered: string): Followed | undefined =>
    latest.get(keyOf(server, offered)) ?? latest.get(keyOf(server, sharedKey(offered))) ?? latest.get(server);

  /**
   * Compares the first list of a connection with the list shown without it. A list for another set of capabilities says
   * nothing about definitions.
   */
  const compareFirst = (lesson: Lesson): Update | undefined => {
    const { spec, offered, folder, from } = lesson;
    if (from === 'store') return undefined;
    const before = latest.get(keyOf(spec.name, offered));
    if (before !== undefined) return before.folder === folder ? before.history.compare(lesson) : undefined;
    const { was } = latest.get(spec.name)?.history.compare(lesson) ?? {};
    return was === undefined ? undefined : { was, changed: [], ignored: [] };
  };

  const note = (own: Map<string, Followed>, lesson: Lesson): Update | undefined => {
    const { spec, offered, folder, owner, from } = lesson;
    const key = keyOf(spec.name, offered);
    const known = own.get(key);
    const update = known === undefined ? compareFirst(lesson) : known.history.update(lesson, clock);
    const followed = known ?? { history: createHistory(lesson, comparison), folder, owner, isLive: false };
    followed.folder = folder;
    followed.isLive ||= from === 'server';
    own.set(key, followed);
    latest.set(key, followed).set(spec.name, followed);
    return update;
  };

  return {
    revision: 0,
    learned(lesson) {
      const own = lists.get(lesson.owner ?? SHARED);
      // The last list of a connection may arrive after its client has left.
      if (own === undefined) return false;
      clock += 1;
      const update = note(own, lesson);
      if (update !== undefined) tell(update, lesson);
      onDisk?.note(lesson, comparison);
      return update !== undefined && update.changed.length > 0;
    },
    canResume: (issued) => mode === 'warn' || onDisk?.to(issued) !== undefined,
    session({ key, offered, stateless, issued }) {
      if (!lists.has(key)) lists.set(key, new Map());
      if (mode === 'warn') return FREE;
      return createSessionPins({
        comparison,
        shownBefore: issued === undefined ? undefined : onDisk?.to(issued),
        offered: () => offered() ?? '',
        clock: () => clock,
        isHere: () => lists.has(key),
        follow(server, set) {
          const own = lists.get(key)?.get(keyOf(server, set));
          if (own !== undefined) return own;
          const found = latestOf(server, set);
          // A server that was started for another client's folder says nothing about this client's server.
          if (found?.owner !== undefined && found.folder !== undefined) return undefined;
          return stateless && found?.isLive === false ? undefined : found;
        },
      });
    },
    release: (key) => void lists.delete(key),
    flush: () => onDisk?.flush(),
  };
}

function keyOf(server: string, offered: string): string {
  // The name of a server has no space.
  return `${server} ${offered}`;
}

/** Maximum number of names in one log line. */
const MAX_NAMES = 10;

/**
 * Returns a function that logs how a list differs from the one before; differences that do not count are logged once
 * per server, and then at debug level.
 */
export function createTeller(log: Log): (update: Update, lesson: Pick<Lesson, 'spec' | 'version'>) => void {
  const told = new Set<string>();
  return ({ was, changed, ignored }, { spec, version }) => {
    if (was !== undefined) log.info(`server "${spec.name}" is now version ${version}, it was ${was}`);
    if (changed.length > 0)
      log.warn(
        `server "${spec.name}" changed the definition of ${few(changed)}, and still calls itself version ${version}`,
      );
    if (ignored.length === 0) return;
    const line = `server "${spec.name}" lists other times than before, which is no change: ${few(ignored)}`;
    if (told.has(spec.name)) log.debug(line);
    else log.info(line);
    told.add(spec.name);
  };
}

/** Returns the first names, for one line. */
export function few(names: string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
