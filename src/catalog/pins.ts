/** `lock`: what happens when a server changes the definition of a tool that somebody relies on. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { McpxError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { sharedKey } from '../upstream/sharing.ts';
import { createComparison } from './digest.ts';
import { createHistory, type Statement, type Update } from './history.ts';
import type { ListedTool } from './list.ts';
import { createSessionPins, type Followed } from './session-pins.ts';
import type { ShownDefinitions } from './shown-definitions.ts';

/** What a list said. */
export interface Lesson extends Statement {
  spec: ServerSpec;
  /** The set of capabilities it was made for, and the only client of its connection, where there is one. */
  offered: string;
  owner?: string | undefined;
  /** A digest of the folder that the server was started for, where its launch depends on one: in another folder it may describe its tools in another way. */
  folder?: string | undefined;
  /** From the server itself, or from the disk. */
  from: 'server' | 'store';
}

/** A server whose tools are looked at. */
export interface Subject {
  name: string;
  spec: ServerSpec;
}

/** Whose pins they are. */
export interface Holder {
  key: string;
  /** The set of capabilities that it offers. */
  offered(): string | undefined;
  /** A request that stands alone, or a command: nothing was shown to it before, so that a list on the disk is no promise to it. */
  lasts?: 'request' | undefined;
  /** When its session began, where that was in another process; epoch ms. */
  issued?: number | undefined;
}

export interface Pins {
  /** True where a definition changed while the server kept its version. */
  learned(lesson: Lesson): boolean;
  /** The pins of one client, from the moment at which it first sees a server. */
  session(holder: Holder): SessionPins;
  /** Whether a session that began then, in another process, can be held to what it was shown. */
  canResume(issued: number): boolean;
  /** A client has left. */
  release(key: string): void;
  /** Another one whenever what `shown` answers may have changed for another reason than a new list. */
  readonly revision: number;
}

export interface SessionPins {
  /** The tools of a server as this client is to see them. */
  shown(server: Subject, tools: ListedTool[]): ListedTool[];
  /** Whether a call must not run before the server was listed on the connection that it goes on. */
  relies(server: Subject): boolean;
  /** Why a tool must not run, if so. */
  held(server: Subject, listed: ListedTool): McpxError | undefined;
}

export interface PinsOptions {
  mode: Exclude<Settings['lock'], 'enforce'>;
  log: Log;
  /** Without it no session of another process can go on under `session`. */
  shownDefinitions?: ShownDefinitions | undefined;
}

export const FREE: SessionPins = { shown: (_, tools) => tools, relies: () => false, held: () => undefined };
const NO_PINS: Pins = {
  learned: () => false,
  session: () => FREE,
  canResume: () => true,
  release: () => undefined,
  revision: 0,
};

/** `enforce` has a file, see `lock.ts`. */
export function createPins({ mode, log, shownDefinitions }: PinsOptions): Pins {
  return mode === 'off' ? NO_PINS : createMemory(mode, log, mode === 'session' ? shownDefinitions : undefined);
}

/** Everybody's connection has no owner. */
const SHARED = '';

/**
 * `session` and `warn`: of all this only digests outlive the process. Lists are known by the name of the server: a config that starts it in another way changes
 * nothing about what sessions were shown.
 */
function createMemory(mode: 'session' | 'warn', log: Log, onDisk: ShownDefinitions | undefined): Pins {
  const comparison = createComparison();
  const tell = createTeller(log);
  /** By the owner of the connection, while it is here, then by server and set. */
  const lists = new Map<string, Map<string, Followed>>([[SHARED, new Map()]]);
  /** The definitions that the catalog shows to clients without a history: by server and set, and by server alone, whoever had it listed. */
  const latest = new Map<string, Followed>();
  /** Counts lists, so that it can be told what came before what. */
  let clock = 0;

  /** In the order of `knownTo` of the catalog. */
  const latestOf = (server: string, offered: string): Followed | undefined =>
    latest.get(keyOf(server, offered)) ?? latest.get(keyOf(server, sharedKey(offered))) ?? latest.get(server);

  /** How the first list of a connection differs from what was shown without it: what another set of capabilities was told says nothing of definitions. */
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
      // The last list of a connection may come when its client has left.
      if (own === undefined) return false;
      clock += 1;
      const update = note(own, lesson);
      if (update !== undefined) tell(update, lesson);
      onDisk?.note(lesson, comparison);
      return update !== undefined && update.changed.length > 0;
    },
    canResume: (issued) => mode === 'warn' || onDisk?.to(issued) !== undefined,
    session({ key, offered, lasts, issued }) {
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
          // Another client's server, started for the folder of that client, says nothing of this one's.
          if (found?.owner !== undefined && found.folder !== undefined) return undefined;
          return lasts === 'request' && found?.isLive === false ? undefined : found;
        },
      });
    },
    release: (key) => void lists.delete(key),
  };
}

function keyOf(server: string, offered: string): string {
  // No name of a server has a space.
  return `${server} ${offered}`;
}

/** Names in one log line. */
const MAX_NAMES = 10;

/** Says how a list differs from the one before; what does not count is said once of each server, and then only to who wants details. */
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

/** The first of many, for one line. */
export function few(names: string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
