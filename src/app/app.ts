/** The composition root: a Config becomes running profiles with their pools, catalogs and routers. */

import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { ToolSearch } from '../catalog/search.ts';
import type { Config, Profile, ProfileWord, Settings } from '../config/config.ts';
import { mainProfile, profileWord } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { compactTools } from '../front/compact.ts';
import { createFront, type Downstream } from '../front/front.ts';
import { createMeter } from '../front/meter.ts';
import { instructionsOf } from '../front/tools.ts';
import type { Entrance, Gateway, OpenOptions } from '../listen/gateway.ts';
import { createLedger } from '../observe/ledger.ts';
import type { Access } from '../policy/access.ts';
import type { Principal } from '../policy/auth.ts';
import { createShares } from '../policy/shares.ts';
import { createAdmission } from '../router/admission.ts';
import { createArgumentChecker } from '../router/arguments.ts';
import { createRouter, type Router, type RouterDeps } from '../router/router.ts';
import { createResultStore } from '../router/shelf.ts';
import { createChildLimit } from '../upstream/child-limit.ts';
import type { Caller } from '../upstream/pool.ts';
import { offeredKey } from '../upstream/sharing.ts';
import type { StopBounds } from '../upstream/transport.ts';
import { createCallRedactor } from './call-redactor.ts';
import { createConflictLog } from './conflicts.ts';
import { createObserved, metricsFor, seenBy } from './observed.ts';
import { needsRestart, type Reloaded, swapProfiles } from './reload.ts';
import { type AppOptions, accessOf, type Running, runProfile } from './running.ts';
import { describeStatus } from './status.ts';

export interface App extends Gateway {
  /** Makes every upstream known in the background: from the disk, or by starting it once. Eager ones are all started. */
  start(): void;
  /** The router of a profile, for the command line; throws not_found, and `config` where no profile is enabled. */
  router(profile?: string): Router;
  /** Everything that the servers of a profile offer, whoever may use it; throws not_found. */
  catalog(profile?: string): Pick<Catalog, 'servers' | 'settle' | 'answered'>;
  /** The search of a profile, for the command line; throws not_found. */
  search(profile?: string): ToolSearch;
  /** Resolves when a profile is listed, or after `wait` ms (default `connect.firstListWait`); `all` lists, or tools alone. */
  listed(profile?: string, wait?: number, lists?: 'tools' | 'all'): Promise<void>;
  /** Takes another config in place of the one it runs. Throws, and changes nothing, where that cannot be used. */
  reload(config: Config): Reloaded;
  /** Ends every upstream; nothing is left running when it resolves. Again with smaller bounds hurries it. */
  stop(bounds?: StopBounds): Promise<void>;
  /** Kills every child at once, for the way out of a crash. */
  killNow(): void;
}

/** For whom a router is made. */
interface As {
  principal?: Principal | undefined;
  /** Of its session. */
  key?: string;
  issued?: number | undefined;
  lasts?: Downstream['lasts'];
  offered?: () => string;
  verify?: RouterDeps['verify'];
}

/** A client that arrives. */
type Arriving = { downstream: Pick<Downstream, 'key' | 'lasts'> } & Pick<
  OpenOptions,
  'principal' | 'holder' | 'issued'
>;

export function createApp(initial: Config, options: AppOptions): App {
  let config = initial;
  const observed = createObserved(options.log);
  const openAudit = (settings: Settings['audit']) =>
    observed.audit(
      settings,
      createCallRedactor(() => config),
    );
  openAudit(config.settings.audit);
  const { observer } = observed;
  const ledger = options.ledger ?? createLedger();
  const meter = createMeter(ledger);
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
  /** Profiles that are gone, until their last call is over. */
  const leaving = new Set<Running>();
  const main = () => mainProfile(config)?.name;
  const everything = () => [...running.values(), ...leaving];

  const find = (name = main()): Running => {
    if (name === undefined) throw noProfile(profileWord(config));
    const found = running.get(name);
    if (found !== undefined) return found;
    const names = [...running.keys()].join(', ');
    const word = profileWord(config);
    throw new McpxError('not_found', `no enabled ${word} is called "${name}"`, { hint: `the ${word}s are: ${names}` });
  };
  const router = (found: Running, access: Access, as: As = {}): Router => {
    const { catalog, pool, profile, admission } = found;
    const { principal, key = 'cli', lasts, issued, offered = () => undefined } = as;
    const { verify = (server) => catalog.verify(server) } = as;
    const calls = observer.calls({ profile: profile.name, principal: principal?.name });
    // Every command stands alone.
    const pins = found.pins.session({ key, offered, issued, lasts: as.key === undefined ? 'request' : lasts });
    const pinned = () => found.pins.revision;
    const tasks = found.tasks.of(
      principal
        ? { holder: `token ${principal.name}`, known: 'by token' }
        : { holder: lasts === 'request' ? '' : key, known: 'by session' },
    );
    return createRouter({ catalog, verify, pool, access, checker, calls, admission, pins, pinned, tasks, offered });
  };
  const enter = (found: Running, { downstream, principal, holder, issued }: Arriving): Entrance => {
    const { key, lasts } = downstream;
    const { catalog, pool } = found;
    const caller: Caller = { key, holder, principal: principal?.name, lasts, capabilities: {} };
    const offered = setOf(caller);
    let left = false;
    // Nobody would end what is begun for one that has left.
    const connectionTo = (server: string) => (left ? undefined : pool.get(server, caller));
    const verify: Entrance['verify'] = (server, wanted) => catalog.verify(server, connectionTo(server), wanted);
    const own = router(found, accessOf(found, principal), { principal, lasts, issued, offered, key, verify });
    return {
      caller,
      verify,
      search: found.search,
      router: own,
      async listed(wait = Number.POSITIVE_INFINITY, lists) {
        await catalog.settle(Math.min(wait, listWait()), { offered: offered(), connectionTo, lasts }, lists);
        tellConflicts(found, config.settings.naming);
      },
      reading() {
        const { settings } = config;
        const tools = compactTools(own.servers(), settings);
        return meter.reading(own.servers(), { tools, instructions: instructionsOf(settings.front, own.servers()) });
      },
      close() {
        left = true;
        pool.release(key);
        found.pins.release(key);
      },
    };
  };
  const listWait = () => config.settings.connect.firstListWait;
  /** Makes what is new known, in the background. */
  const settle = ({ catalog, pool }: Running) => {
    void catalog.settle(0);
    // What cannot be reached says so in its state and to whoever calls it.
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
      const shelf =
        downstream.lasts === 'request'
          ? results.ofRequest(found.profile.name, principal?.name)
          : results.ofSession(downstream.key, principal?.name);
      const isListing = () => found.catalog.isListing;
      const deps = { ...entrance, isListing, settings, wishes: found.wishes, meter, shelf };
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
      enter(find(profile), { downstream: { key: randomUUID(), lasts: 'request' }, ...who }),
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

/** The set of capabilities that a client offers; worked out again only when it has introduced itself. */
function setOf(caller: Caller): () => string {
  let known: { of: Caller['capabilities']; key: string } | undefined;
  return () => {
    if (known?.of !== caller.capabilities) known = { of: caller.capabilities, key: offeredKey(caller) };
    return known.key;
  };
}
