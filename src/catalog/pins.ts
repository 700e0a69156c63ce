/** `lock`: what happens when a server changes the definition of a tool that somebody relies on. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { createDigests } from './digest.ts';
import { createHistory, type History, type Tools, type Update } from './history.ts';
import type { ListedTool } from './list.ts';
import { launchKey } from './store.ts';

/** What a list said. */
export interface Lesson {
  spec: ServerSpec;
  /** The set of capabilities it was made for, and the only client of its connection, where there is one. */
  offered: string;
  owner?: string | undefined;
  /** As the server calls it. */
  version: string;
  tools: Tools;
  /** From the server itself, or from the disk. */
  from: 'server' | 'store';
}

/** A server whose tools are looked at. */
export interface Subject {
  name: string;
  spec: ServerSpec;
}

export interface Pins {
  learned(lesson: Lesson): void;
  /** The pins of one client, from the moment at which it first sees a server. */
  session(key: string, offered: () => string | undefined): SessionPins;
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
}

const FREE: SessionPins = { shown: (_, tools) => tools, relies: () => false, held: () => undefined };
export const NO_PINS: Pins = { learned: () => undefined, session: () => FREE, release: () => undefined, revision: 0 };

/** `enforce` has a file, see `lock.ts`. */
export function createPins({ mode, log }: PinsOptions): Pins {
  return mode === 'off' ? NO_PINS : createMemory(mode, log);
}

/** Everybody's connection has no owner. */
const SHARED = '';

/** `session` and `warn`: nothing outlives the process. */
function createMemory(mode: 'session' | 'warn', log: Log): Pins {
  const digest = createDigests();
  /** By the owner of the connection, while it is here, then by server and set. */
  const histories = new Map<string, Map<string, History>>([[SHARED, new Map()]]);
  /** Counts lists, so that it can be told what came before what. */
  let clock = 0;
  const launches = new WeakMap<ServerSpec, string>();
  /** One that the config starts in another way is another server. */
  const keyOf = (spec: ServerSpec, offered: string): string => {
    const launch = launches.get(spec) ?? launchKey(spec);
    launches.set(spec, launch);
    return `${spec.name} ${launch} ${offered}`;
  };

  return {
    revision: 0,
    learned(lesson) {
      const { spec, offered, owner = SHARED, version, tools, from } = lesson;
      // What is on the disk may be of any age: what the server says first in this run is where it begins.
      if (from === 'store') return;
      const own = histories.get(owner);
      // The last list of a connection may come when its client has left.
      if (own === undefined) return;
      clock += 1;
      const key = keyOf(spec, offered);
      const history = own.get(key);
      if (history === undefined) own.set(key, createHistory(version, tools, digest));
      else tell(history.update(version, tools, clock), lesson, log);
    },
    session(key, offered) {
      if (!histories.has(key)) histories.set(key, new Map());
      return mode === 'warn' ? FREE : sessionOf(key, offered);
    },
    release: (key) => void histories.delete(key),
  };

  function sessionOf(key: string, offered: () => string | undefined): SessionPins {
    const seen = new Map<string, number>();
    const historyOf = ({ spec }: Subject): History | undefined => {
      const name = keyOf(spec, offered() ?? '');
      return histories.get(key)?.get(name) ?? histories.get(SHARED)?.get(name);
    };
    /** When this client first saw the server, and how that changed since; undefined where it did not. */
    const look = (server: Subject): { moment: number; history: History } | undefined => {
      const first = seen.get(server.name);
      const moment = first ?? clock;
      if (first === undefined) seen.set(server.name, moment);
      if (moment === clock) return undefined;
      const history = historyOf(server);
      return history && { moment, history };
    };
    return {
      shown(server, tools) {
        const found = look(server);
        if (found === undefined) return tools;
        const { history, moment } = found;
        return tools.map((listed) => {
          const since = history.since(listed.tool.name, moment);
          return since.kind === 'changed' ? { ...listed, tool: since.was } : listed;
        });
      },
      // What was on the disk is no promise; what the server has said is.
      relies: (server) => seen.has(server.name) && historyOf(server) !== undefined,
      held(server, { tool }) {
        const found = look(server);
        if (found === undefined || found.history.since(tool.name, found.moment).kind === 'same') return undefined;
        return changedUnderSession(server.name, tool.name, found.history.version);
      },
    };
  }
}

/** Names in one log line. */
const MAX_NAMES = 10;

function tell(update: Update, { spec, version }: Lesson, log: Log): void {
  if (update.kind === 'version') log.info(`server "${spec.name}" is now version ${version}, it was ${update.was}`);
  if (update.kind !== 'changed') return;
  const { names } = update;
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const which = names.slice(0, MAX_NAMES).join(', ');
  log.warn(
    `server "${spec.name}" changed the definition of ${which}${more}, and still calls itself version ${version}`,
  );
}

function changedUnderSession(server: string, tool: string, version: string): McpxError {
  return new McpxError(
    'refused',
    `"${server}.${tool}" is no longer what this session was shown: its definition changed while its server still calls itself version ${version}`,
    { hint: 'begin a new session to use it as it is now; "lock" in the config decides this' },
  );
}
