/** The composition root: creates the running profiles of a Config with their pools, catalogs and routers. */

import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { ToolSearch } from '../catalog/search/search.ts';
import type { Config, Profile, ProfileWord, Settings } from '../config/config.ts';
import { mainProfile, profileWord } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { compactTools } from '../front/compact/compact.ts';
import { createResultStore } from '../front/compact/result-store.ts';
import { instructionsOf } from '../front/compact/tool-definitions.ts';
import { createFront } from '../front/front.ts';
import type { Downstream } from '../front/front-interface.ts';
import { createSavings } from '../front/savings.ts';
import type { Entrance, Gateway, OpenOptions } from '../listen/app-api.ts';
import { offeredKey } from '../mcp/capabilities.ts';
import { createLedger } from '../observe/savings-totals.ts';
import type { Access } from '../policy/access.ts';
import type { Principal } from '../policy/auth.ts';
import { createShares } from '../policy/shares.ts';
import { createAdmission } from '../router/admission.ts';
import { createArgumentChecker } from '../router/arguments.ts';
import { createRouter, type Router, type RouterDeps } from '../router/router.ts';
import type { Caller } from '../upstream/pool.ts';
import { createChildLimit } from '../upstream/process/child-limit.ts';
import type { StopBounds } from '../upstream/transports/transport.ts';
import { needsRestart, type Reloaded, swapProfiles } from './apply-config.ts';
import { createCallRedactor } from './call-redactor.ts';
import { createConflictLog } from './name-conflicts.ts';
import { createObservers, metricsFor, seenBy } from './observers.ts';
import { type AppOptions, accessOf, type ProfileRuntime, runProfile } from './profile.ts';
import { describeStatus } from './status-report.ts';

export interface App extends Gateway {
  /** Lists every upstream in the background, from the stored catalog or by starting it once. In eager mode, all are started. */
  start(): void;
  /** Returns the router of a profile, for the command line. Throws `not_found`, or `config` if no profile is enabled. */
  router(profile?: string): Router;
  /** Returns the catalog of a profile, without access filters. Throws `not_found`. */
  catalog(profile?: string): Pick<Catalog, 'servers' | 'settle' | 'answered'>;
  /** Returns the search of a profile, for the command line. Throws `not_found`. */
  search(profile?: string): ToolSearch;
  /** Resolves when a profile is listed, or after `wait` ms (default `connect.firstListWait`). `lists` selects all lists or only tools. */
  listed(profile?: string, wait?: number, lists?: 'tools' | 'all'): Promise<void>;
  /** Replaces the running config. Throws and changes nothing if the new one cannot be used. */
  reload(config: Config): Reloaded;
  /** Stops every upstream and resolves when no process is left. A second call with shorter bounds speeds it up. */
  stop(bounds?: StopBounds): Promise<void>;
  /** Kills every child process immediately, for the exit after a crash. */
  killNow(): void;
}

/** The client that a router is created for. */
interface As {
  principal?: Principal | undefined;
  /** The key of its session; undefined for the command line. */
  key?: string;
  issued?: number | undefined;
  stateless?: Downstream['stateless'];
  offered?: () => string;
  verify?: RouterDeps['verify'];
}

/** A client that opens a session or sends a single request. */
type Arriving = { downstream: Pick<Downstream, 'key' | 'stateless'> } & Pick<
  OpenOptions,
  'principal' | 'holder' | 'issued'
>;

export function createApp(initial: Config, options: AppOptions): App {
  let config = initial;
  const observed = createObservers(options.log);
  const openAudit = (settings: Settings['audit']) =>
    observed.audit(
      settings,
      createCallRedactor(() => config),
    );
  openAudit(config.settings.audit);
  const { observer } = observed;
  const ledger = options.ledger ?? createLedger();
  const savings = createSavings(ledger);
  const learns = () => config.settings.stats && config.settings.search.usage;
  observer.tally((happening) => {
    if (happening.type !== 'call_ended' || happening.call.kind !== 'tool') return;
    if (happening.call.outcome !== 'denied') ledger.add({ calls: 1 });
    if (happening.call.outcome === 'ok' && learns()) options.usage?.record(happening.call.server, happening.call.name);
  });
  const checker = createArgumentChecker();
  const calls = createShares(() => config.settings.limits.concurrentCalls);
  const policy = {
    get confirm() {
      return config.settings.policy.confirm;
    },
  };
  const childLimit = createChildLimit({ limit: () => config.settings.limits.children });
  const results = createResultStore({
    maxBytes: () => config.settings.limits.resultStore,
    folder: options.resultFolder,
  });
  const tellConflicts = createConflictLog(options.log);
  const started = Date.now();
  const prior = (server: string, tool: string) => (learns() ? (options.usage?.share(server, tool) ?? 0) : 0);
  const run = (profile: Profile) => {
    const admission = createAdmission({ policy, calls, refusal: observed.refusal });
    const common = { observer, prior, admission, childLimit };
    return runProfile(profile, config, { ...options, ...common });
  };
  const running = new Map(
    config.profiles.filter(({ enabled }) => enabled).map((profile) => [profile.name, run(profile)]),
  );
  /** Removed profiles whose last calls have not finished yet. */
  const leaving = new Set<ProfileRuntime>();
  const main = () => mainProfile(config)?.name;
  const everything = () => [...running.values(), ...leaving];

  const find = (name = main()): ProfileRuntime => {
    if (name === undefined) throw noProfile(profileWord(config));
    const found = running.get(name);
    if (found !== undefined) return found;
    const names = [...running.keys()].join(', ');
    const word = profileWord(config);
    throw new McpxError('not_found', `no enabled ${word} is called "${name}"`, { hint: `the ${word}s are: ${names}` });
  };
  const router = (found: ProfileRuntime, access: Access, as: As = {}): Router => {
    const { catalog, pool, profile, admission } = found;
    const { principal, key = 'cli', stateless, issued, offered = () => undefined } = as;
    const { verify = (server) => catalog.verify(server) } = as;
    const calls = observer.calls({ profile: profile.name, principal: principal?.name });
    // A command of the command line has no session, so its pins last for one request.
    const pins = found.pins.session({ key, offered, issued, stateless: as.key === undefined ? true : stateless });
    const pinned = () => found.pins.revision;
    const tasks = found.tasks.of(
      principal
        ? { holder: `token ${principal.name}`, known: 'by token' }
        : { holder: stateless ? '' : key, known: 'by session' },
    );
    // A client with a token may be on another machine.
    const configFile = principal ? undefined : config.files.at(-1);
    const own = { pins, pinned, tasks, offered, configFile };
    return createRouter({ catalog, verify, pool, access, checker, calls, admission, ...own });
  };
  const enter = (found: ProfileRuntime, { downstream, principal, holder, issued }: Arriving): Entrance => {
    const { key, stateless } = downstream;
    const { catalog, pool } = found;
    const caller: Caller = { key, holder, principal: principal?.name, stateless, capabilities: {} };
    const offered = setOf(caller);
    let left = false;
    // A connection that is opened after the client has left would never be closed.
    const connectionTo = (server: string) => (left ? undefined : pool.get(server, caller));
    const verify: Entrance['verify'] = (server, wanted) => catalog.verify(server, connectionTo(server), wanted);
    const own = router(found, accessOf(found, principal), { principal, stateless, issued, offered, key, verify });
    return {
      caller,
      verify,
      search: found.search,
      router: own,
      async listed(wait = Number.POSITIVE_INFINITY, lists) {
        await catalog.settle(Math.min(wait, listWait()), { offered: offered(), connectionTo, stateless }, lists);
        tellConflicts(found, config.settings.naming);
      },
      reading() {
        const { settings } = config;
        const tools = compactTools(own.servers(), settings);
        return savings.reading(own.servers(), { tools, instructions: instructionsOf(settings.front, own.servers()) });
      },
      close() {
        left = true;
        pool.release(key);
        found.pins.release(key);
      },
    };
  };
  const listWait = () => config.settings.connect.firstListWait;
  /** Lists new servers in the background. */
  const settle = ({ catalog, pool }: ProfileRuntime) => {
    void catalog.settle(0);
    // A failed connection is visible in the server's state and in the error of each call.
    if (config.settings.connect.mode === 'eager') for (const one of pool.all()) one.connect().catch(() => undefined);
  };
  const problems = () => [...(options.problems ?? []), ...observed.problems()];
  const status = (principal?: Principal) =>
    describeStatus({ config, running, counts: observed.counts(), ledger, started, problems: problems() }, principal);

  return {
    get mainProfile() {
      return main();
    },
    profileState: (name) => {
      if (running.has(name)) return 'enabled';
      return config.profiles.some((profile) => profile.name === name) ? 'disabled' : 'unknown';
    },
    profileWord: (name) => profileWord(config, name),
    start() {
      for (const one of running.values()) settle(one);
    },
    router: (name) => {
      const found = find(name);
      return router(found, accessOf(found, undefined));
    },
    catalog: (name) => find(name).catalog,
    search: (name) => find(name).search,
    listed: (name, wait = listWait(), lists) => find(name).catalog.settle(wait, undefined, lists),
    canResume: (profile, issued) => find(profile).pins.canResume(issued),
    open({ profile, front: kind, downstream, principal, holder, issued }) {
      const found = find(profile);
      const { settings } = config;
      const { close: leave, ...entrance } = enter(found, { downstream, principal, holder, issued });
      const clientResults = downstream.stateless
        ? results.ofRequest(found.profile.name, principal?.name)
        : results.ofSession(downstream.key, principal?.name);
      const isListing = () => found.catalog.isListing;
      const deps = { ...entrance, isListing, settings, subscriptions: found.subscriptions, savings, clientResults };
      const front = createFront(kind ?? found.profile.front ?? settings.front.kind, deps, downstream);
      found.fronts.add(front);
      return {
        front,
        close() {
          found.fronts.delete(front);
          front.close();
          leave();
        },
      };
    },
    enter: ({ profile, ...who }) =>
      enter(find(profile), { downstream: { key: randomUUID(), stateless: true }, ...who }),
    status,
    emit: observer.emit,
    watch: (principal, hear) =>
      observer.subscribe((happening) => {
        const event = seenBy(principal, happening, running);
        if (event !== undefined) hear(event);
      }),
    metrics: (principal) => metricsFor(principal, { ...observed.counts(), running, status: status(principal) }),
    reload(next) {
      const before = config;
      openAudit(next.settings.audit);
      config = next;
      const reloaded = swapProfiles({ running, leaving, run, settle }, next);
      return { ...reloaded, restart: needsRestart(before.settings, next.settings) };
    },
    async stop(bounds) {
      for (const { catalog } of everything()) catalog.close();
      results.close();
      observer.settle();
      await Promise.all([
        ledger.close(),
        options.usage?.close(),
        ...everything().map(({ pool }) => pool.close(bounds)),
      ]);
      observed.close();
    },
    killNow() {
      observed.close();
      for (const { pool } of everything()) pool.killNow();
    },
  };
}

export function noProfile(word: ProfileWord): McpxError {
  return new McpxError('config', `no ${word} is enabled`, { hint: `enable one under "${word}s" in the config` });
}

/** Returns the key of the client's capabilities. It is computed again only if the handshake has replaced them. */
function setOf(caller: Caller): () => string {
  let known: { of: Caller['capabilities']; key: string } | undefined;
  return () => {
    if (known?.of !== caller.capabilities) known = { of: caller.capabilities, key: offeredKey(caller) };
    return known.key;
  };
}
