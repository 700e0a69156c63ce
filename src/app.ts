/** The composition root: a Config becomes running profiles with their pools, catalogs and routers. */
import { Catalog, type ServerEntry } from './catalog/catalog.ts';
import type { CatalogStore } from './catalog/store.ts';
import type { Config, Profile } from './config/config.ts';
import { mainProfile } from './config/config.ts';
import { McpxError, messageOf } from './errors.ts';
import { createFront, type Front } from './front/front.ts';
import type { Gateway, ServerStatus } from './listen/gateway.ts';
import type { Log } from './observe/log.ts';
import { createStats, type Stats } from './observe/stats.ts';
import { type Access, createAccess, narrowAccess } from './policy/access.ts';
import { mayUseProfile, type Principal } from './policy/auth.ts';
import { createArgumentChecker } from './router/arguments.ts';
import { answerQuestion, belongsToCall } from './router/reverse.ts';
import { createRouter, type Router } from './router/router.ts';
import { createWishes, type Wishes } from './router/wishes.ts';
import type { ConnectionState } from './upstream/connection.ts';
import type { ChildRecords } from './upstream/owners.ts';
import { type Caller, createPool, type Pool } from './upstream/pool.ts';
import { offeredKey } from './upstream/sharing.ts';
import type { StderrFiles } from './upstream/stderr-file.ts';
import type { StopBounds } from './upstream/transport.ts';
import { VERSION } from './version.ts';

export interface App extends Gateway {
  /** Makes every upstream known in the background: from the disk, or by starting it once. Eager ones are all started. */
  start(): void;
  /** The router of a profile, for the command line; throws not_found. */
  router(profile?: string): Router;
  /** Resolves when a profile is listed, or after `wait` ms (default `connect.firstListWait`). */
  listed(profile?: string, wait?: number): Promise<void>;
  /** Ends every upstream; nothing is left running when it resolves. Again with smaller bounds hurries it. */
  stop(bounds?: StopBounds): Promise<void>;
  /** Kills every child at once, for the way out of a crash. */
  killNow(): void;
}

/** A profile at work. */
interface Running {
  profile: Profile;
  pool: Pool;
  catalog: Catalog;
  wishes: Wishes;
  access: Access;
  fronts: Set<Front>;
}

export interface AppOptions {
  log: Log;
  /** Where catalogs outlive the process; none for the demo. */
  store?: CatalogStore;
  /** Where children are written down while they run, and what they write to stderr. */
  children?: ChildRecords;
  stderr?: StderrFiles;
}

export function createApp(config: Config, options: AppOptions): App {
  const { settings } = config;
  const stats = createStats();
  const checker = createArgumentChecker();
  const started = Date.now();
  const running = new Map(
    config.profiles.filter(({ enabled }) => enabled).map((profile) => [profile.name, run(profile, config, options)]),
  );
  const main = mainProfile(config)?.name;

  const find = (name = main): Running => {
    const found = running.get(name ?? '');
    if (found !== undefined) return found;
    const names = [...running.keys()].join(', ');
    throw new McpxError('not_found', `no enabled profile is called "${name ?? ''}"`, {
      hint: `the profiles are: ${names}`,
    });
  };
  const router = ({ catalog, pool }: Running, access: Access, offered?: () => string): Router =>
    createRouter({ catalog, pool, access, checker, stats, ...(offered && { offered }) });
  const { firstListWait } = settings.connect;

  return {
    mainProfile: main,
    profileState: (name) => {
      if (running.has(name)) return 'enabled';
      return config.profiles.some((profile) => profile.name === name) ? 'disabled' : 'unknown';
    },
    start() {
      for (const { catalog, pool } of running.values()) {
        void catalog.settle(0);
        // What cannot be reached says so in its state and to whoever calls it.
        if (settings.connect.mode === 'eager') for (const one of pool.all()) one.connect().catch(() => undefined);
      }
    },
    router: (name) => {
      const found = find(name);
      return router(found, found.access);
    },
    listed: (name, wait = firstListWait) => find(name).catalog.settle(wait),
    open({ profile, front: kind, downstream, principal }) {
      const found = find(profile);
      const { wishes, catalog, pool } = found;
      const caller: Caller = { key: downstream.key, capabilities: {} };
      const offered = setOf(caller);
      const connectionTo = (server: string) => pool.get(server, caller);
      const listed = () => catalog.settle(firstListWait, { offered: offered(), connectionTo });
      const own = router(found, accessOf(found, principal), offered);
      const deps = { router: own, caller, settings, wishes, listed };
      const front = createFront(kind ?? found.profile.front ?? settings.front.kind, deps, downstream);
      found.fronts.add(front);
      return {
        front,
        close() {
          found.fronts.delete(front);
          front.close();
          pool.release(downstream.key);
        },
      };
    },
    status: (principal) => ({
      name: 'mcpx',
      version: VERSION,
      uptime: Math.round((Date.now() - started) / 1000),
      profiles: config.profiles
        .filter(({ name }) => principal === undefined || mayUseProfile(principal, name))
        .map((profile) => ({
          name: profile.name,
          enabled: profile.enabled,
          servers: profile.servers.map((spec) => serverStatus(spec, running.get(profile.name), principal)),
        })),
      calls: callCounts(stats),
    }),
    async stop(bounds) {
      for (const { catalog } of running.values()) catalog.close();
      await Promise.all([...running.values()].map(({ pool }) => pool.close(bounds)));
    },
    killNow() {
      for (const { pool } of running.values()) pool.killNow();
    },
  };
}

function run(profile: Profile, { settings }: Config, { log, store, children, stderr }: AppOptions): Running {
  const fronts = new Set<Front>();
  const pool = createPool({
    servers: profile.servers,
    settings,
    log,
    recall: (spec) => [...(store?.read(spec)?.bySet.values() ?? [])].at(-1)?.hello,
    children,
    stderr,
    events: {
      notification: (server, heard, { owner }) => {
        catalog.noticed(server, heard.method);
        if (belongsToCall(heard)) return;
        for (const front of fronts) {
          if (owner === undefined || front.key === owner) front.heard(server, heard.method, heard.params);
        }
      },
      request: answerQuestion,
      state: (server, state, connection) => {
        if (state.kind !== 'ready') return;
        catalog.connected(server, connection);
        wishes.connected(server);
      },
    },
  });
  const catalog = new Catalog({
    servers: profile.servers,
    pool,
    log,
    ...(store && { store }),
    changed: (_, kinds) => {
      for (const front of fronts) front.changed(kinds);
    },
  });
  const wishes = createWishes({ pool, log });
  return { profile, pool, catalog, wishes, access: createAccess({ profile, policy: settings.policy }), fronts };
}

function serverStatus(
  spec: Profile['servers'][number],
  running: Running | undefined,
  principal: Principal | undefined,
): ServerStatus {
  const entry = running?.catalog.server(spec.name);
  const state = running?.pool.get(spec.name)?.state ?? { kind: 'idle' };
  return {
    name: spec.name,
    ...(spec.title && { title: spec.title }),
    type: spec.type,
    ...(spec.disabled ? { state: 'disabled' } : describeState(state, entry)),
    tools: running === undefined ? 0 : visibleTools(entry, accessOf(running, principal)),
  };
}

function describeState(
  state: ConnectionState,
  entry: ServerEntry | undefined,
): Pick<ServerStatus, 'state' | 'since' | 'nextTry' | 'reason'> {
  const failure = entry?.listing.kind === 'failed' ? messageOf(entry.listing.error) : undefined;
  const reason = 'reason' in state ? state.reason : failure;
  return {
    state: state.kind,
    ...('since' in state && { since: new Date(state.since).toISOString() }),
    ...(state.kind === 'backoff' && !state.resting && { nextTry: new Date(state.until).toISOString() }),
    ...(reason && state.kind !== 'ready' && { reason }),
  };
}

/** The set of capabilities that a client offers; worked out again only when it has introduced itself. */
function setOf(caller: Caller): () => string {
  let known: { of: Caller['capabilities']; key: string } | undefined;
  return () => {
    if (known?.of !== caller.capabilities) known = { of: caller.capabilities, key: offeredKey(caller) };
    return known.key;
  };
}

function visibleTools(entry: ServerEntry | undefined, access: Access): number {
  const seen = (entry?.offer.tools ?? []).filter(({ tool }) =>
    access.allows({ server: entry?.name ?? '', kind: 'tool', name: tool.name }),
  );
  return seen.length;
}

function accessOf({ access }: Running, principal: Principal | undefined): Access {
  return principal === undefined ? access : narrowAccess(access, principal);
}

function callCounts(stats: Stats): { calls: number; errors: number } {
  const { calls, errors } = stats.snapshot();
  return { calls, errors };
}
