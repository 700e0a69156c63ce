/** All connections of one profile: who shares which, bounded starts, the common end. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { ChildLimit } from './child-limit.ts';
import { type Connection, type ConnectionOptions, createConnection } from './connection.ts';
import { createListingPlaces } from './listing-places.ts';
import { enabled, type Member, memberOf, type PoolChange, sameLaunch } from './member.ts';
import type { ChildRecords } from './owners.ts';
import { isFurther, keyAt } from './pending-questions.ts';
import { perCall } from './percall.ts';
import { eventsOf, type PoolEvents } from './pool-events.ts';
import { createSlots } from './queue.ts';
import { type Answerer, createRooted, type RootedConnections } from './rooted.ts';
import { rootedView } from './rooted-view.ts';
import { createRootsMemory } from './roots.ts';
import {
  type Caller,
  introductionOf,
  launchFolder,
  offeredKey,
  type Share,
  sharedKey,
  workspaceOf,
} from './sharing.ts';
import { statelessView } from './stateless.ts';
import type { StderrFiles } from './stderr-file.ts';
import type { StopBounds } from './transport.ts';

export type { Heard } from './pool-events.ts';
export type { Caller } from './sharing.ts';

export interface PoolOptions {
  servers: ServerSpec[];
  settings: Pick<Settings, 'connect' | 'limits' | 'health'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  events?: PoolEvents;
  /** What was stored of a server: what worked the last time is tried first. */
  recall?: ConnectionOptions['recall'];
  /** Where children are written down while they run. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Bounds how many processes run at once. */
  childLimit?: ChildLimit | undefined;
  /** Where what children write to stderr is kept. */
  stderr?: StderrFiles | undefined;
  /** Told of slow starts where a person waits in a shell. */
  attended?: ConnectionOptions['attended'];
}

export interface Pool {
  /**
   * The connection for that caller; without one, the connection to list with: the last that was used, else one that offers what
   * was last offered. Undefined for a name that is not configured or is disabled. Never starts anything.
   */
  get(server: string, caller?: Caller): Connection | undefined;
  /** Every connection there is, at least one per server. */
  all(): Connection[];
  /** The key of the only client that it serves. */
  clientOf(connection: Connection): string | undefined;
  /** Whether a connection serves that client, or anybody. */
  serves(connection: Connection, caller: string): boolean;
  /** Whoever a change on this connection concerns: itself, and what else is served by it. */
  affected(connection: Connection): Connection[];
  /**
   * Takes other servers in place of those it has. One that is reached as before keeps its connections; what is changed or gone ends when its
   * last call is over.
   */
  update(servers: readonly ServerSpec[], settings: PoolOptions['settings']): PoolChange;
  /** Resolves when every connection that was given up by then has ended. */
  emptied(): Promise<void>;
  /** A downstream has left: what was its own ends when its last call is over. */
  release(caller: string): void;
  /** Ends everything at once, within the bounds of a stop; again with smaller bounds hurries it. */
  close(bounds?: StopBounds): Promise<void>;
  /** Ends every process tree at once and synchronously: for the way out of a dying process. */
  killNow(): void;
}

export function createPool(options: PoolOptions): Pool {
  let { settings } = options;
  const starts = createSlots({ limit: settings.connect.concurrency, subject: 'the start of servers' });
  const places = createListingPlaces(settings.connect.concurrency);
  const memberFor = (spec: ServerSpec) => memberOf(spec, settings);
  const members = new Map(enabled(options.servers).map((spec) => [spec.name, memberFor(spec)]));
  const open = new Set<Connection>();
  const ending = new Set<Promise<void>>();
  const memory = createRootsMemory();
  let closed = false;

  const create = (
    member: Member,
    share: Share,
    caller: Caller | undefined,
    parts: { answer?: Answerer; holder?: string | undefined } = {},
  ): Connection => {
    const { name } = member.spec;
    const own = share === 'session' || share === 'call' ? caller : undefined;
    const connection: Connection = createConnection({
      ...options,
      settings,
      spec: member.spec,
      starts,
      places,
      owner: own?.key,
      holder: own?.holder ?? parts.holder,
      offered: caller && (share === 'all' ? sharedKey(offeredKey(caller)) : offeredKey(caller)),
      introduction: introductionOf(share, caller),
      workspaceFolder: workspaceOf(caller),
      stderr: options.stderr && ((line) => options.stderr?.write(name, line)),
      events: eventsOf(name, options.events, {
        self: () => connection,
        answer: parts.answer,
        questions: member.questions,
        state(state) {
          if (state.kind === 'ready') member.era = connection.hello?.era;
          // What another has taken the place of says nothing any more.
          if (share === 'call' || members.get(name) !== member) return;
          if (state.kind === 'ready') takeOver(member, connection);
          if (state.kind === 'idle') member.rooted?.idle(connection);
          options.events?.state?.(name, state, connection);
        },
      }),
    });
    open.add(connection);
    // Whoever still calls hears that it is stopped, and nothing is started.
    if (closed) void connection.close();
    return connection;
  };

  const shared = (member: Member, caller: Caller | undefined): Connection => {
    const key = caller === undefined ? '' : sharedKey(offeredKey(caller));
    const at = (place: number): Connection => {
      const own = keyAt(key, place);
      const found = member.shared.get(own) ?? create(member, 'all', caller);
      member.shared.set(own, found);
      return found;
    };
    // Where the config says that there is one, there is one.
    const isOnly = caller === undefined || member.spec.share === 'all';
    return at(isOnly ? 0 : member.questions.placeFor(caller.key, at));
  };

  /** What runs serves every set of capabilities. */
  const stateless = (member: Member): Connection =>
    [...member.shared.values(), ...(member.rooted?.all() ?? [])].find(({ state }) => state.kind === 'ready') ??
    shared(member, undefined);

  const view = (member: Member, caller: Caller): Connection => {
    member.claimed.add(stateless(member));
    const offered = offeredKey(caller);
    const { capabilities } = introductionOf('all', caller);
    const roots = caller.capabilities.roots === undefined ? {} : { roots: {} };
    const client = { key: '', capabilities: { ...capabilities, ...roots } };
    const found = member.views.get(offered) ?? statelessView({ base: () => stateless(member), offered, client });
    member.views.set(offered, found);
    return found;
  };

  const own = (member: Member, caller: Caller): Connection => {
    const found = member.sessions.get(caller.key) ?? create(member, 'session', caller);
    member.sessions.set(caller.key, found);
    return found;
  };

  const rooted = (member: Member): RootedConnections => {
    member.rooted ??= createRooted({
      ...{ questions: member.questions, memory },
      create(caller, own) {
        const connection = create(member, 'roots', caller, own);
        member.claimed.add(connection);
        return connection;
      },
      end(connection) {
        if (member.current === connection) member.current = undefined;
        void end(connection);
      },
    });
    return member.rooted;
  };

  const once = (member: Member, caller: Caller): Connection =>
    perCall({
      create: () => create(member, 'call', caller),
      end,
      slots: member.calls,
      shown: {
        name: member.spec.name,
        spec: member.spec,
        hello: lister(member).hello,
        offered: offeredKey(caller),
        folder: launchFolder(member.spec, workspaceOf(caller)),
      },
    });

  /** Ends a connection when nothing is under way on it any more. */
  const end = (connection: Connection) => {
    const ended = connection.dismiss().finally(() => {
      open.delete(connection);
      ending.delete(ended);
    });
    ending.add(ended);
    return ended;
  };

  const lister = (member: Member): Connection => member.current ?? shared(member, member.seen);

  const find = (server: string, caller?: Caller): Connection | undefined => {
    const member = members.get(server);
    if (!member || !caller) return member && lister(member);
    member.seen = caller;
    member.era ??= options.recall?.(member.spec)?.era ?? 'unknown';
    const share = member.shareFor(caller, member.era);
    if (share === 'call') return once(member, caller);
    if (share === 'all' && member.era === 'modern') return view(member, caller);
    if (share === 'roots') return rootedView(caller, rooted(member));
    const connection = share === 'all' ? shared(member, caller) : own(member, caller);
    member.claimed.add(connection);
    return connection;
  };

  // One per server from the beginning, so that there is something to show.
  for (const member of members.values()) shared(member, undefined);

  return {
    get: find,
    all: () => [...open],
    affected(connection) {
      const member = members.get(connection.name);
      const views = member?.era === 'modern' && connection.owner === undefined ? [...member.views.values()] : [];
      return [connection, ...views.filter(({ offered }) => offered !== connection.offered)];
    },
    clientOf: (connection) => connection.owner ?? members.get(connection.name)?.rooted?.clientOf(connection),
    serves: (connection, key) => members.get(connection.name)?.rooted?.serves(connection, key) ?? true,
    update(servers, next) {
      settings = next;
      const before = new Map(members);
      members.clear();
      const change: PoolChange = { added: [], changed: [], removed: [] };
      for (const spec of enabled(servers)) {
        const old = before.get(spec.name);
        const member = memberFor(spec);
        if (old !== undefined && sameLaunch(old, member)) {
          members.set(spec.name, Object.assign(old, { spec }));
          before.delete(spec.name);
          continue;
        }
        members.set(spec.name, member);
        shared(member, undefined);
        change[old === undefined ? 'added' : 'changed'].push(spec.name);
      }
      change.removed = [...before.keys()].filter((name) => !members.has(name));
      for (const { shared, sessions, rooted } of before.values()) {
        for (const one of [...shared.values(), ...sessions.values(), ...(rooted?.all() ?? [])]) void end(one);
      }
      return change;
    },
    emptied: async () => void (await Promise.allSettled(ending)),
    release(key) {
      memory.forget(key);
      for (const member of members.values()) {
        member.rooted?.release(key);
        const connection = member.sessions.get(key);
        if (!connection) continue;
        member.sessions.delete(key);
        if (member.current === connection) member.current = undefined;
        void end(connection);
      }
    },
    async close(bounds) {
      closed = true;
      await Promise.all([...open].map((connection) => connection.close(bounds)));
    },
    killNow() {
      closed = true;
      for (const connection of open) connection.killNow();
    },
  };
}

/** A connection that only listed is not needed any more once one is there that somebody calls through. */
function takeOver(member: Member, connection: Connection): void {
  if (!isFurther(connection, member.current)) member.current = connection;
  if (!member.claimed.has(connection)) return;
  for (const other of member.shared.values()) {
    if (other !== connection && !member.claimed.has(other)) void other.rest();
  }
}
