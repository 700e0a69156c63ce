/** The composition root: a Config becomes running profiles with their pools, catalogs and routers. */
import type { Config } from '../config/config.ts';
import { mainProfile } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { createFront } from '../front/front.ts';
import { createMeter } from '../front/meter.ts';
import type { Gateway } from '../listen/gateway.ts';
import { createLedger } from '../observe/ledger.ts';
import type { Access } from '../policy/access.ts';
import type { Principal } from '../policy/auth.ts';
import { createGate } from '../policy/limits.ts';
import { createAdmission } from '../router/admission.ts';
import { createArgumentChecker } from '../router/arguments.ts';
import { createRouter, type Router } from '../router/router.ts';
import { createResultStore } from '../router/shelf.ts';
import type { Caller } from '../upstream/pool.ts';
import { offeredKey } from '../upstream/sharing.ts';
import type { StopBounds } from '../upstream/transport.ts';
import { createObserved, metricsFor, seenBy } from './observed.ts';
import { type AppOptions, accessOf, type Running, runProfile } from './running.ts';
import { describeStatus } from './status.ts';

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

/** For whom a router is made. */
interface As {
  principal?: Principal | undefined;
  offered?: () => string;
}

export function createApp(config: Config, options: AppOptions): App {
  const { settings } = config;
  const observed = createObserved(options.log);
  observed.audit(settings.audit);
  const { observer } = observed;
  const ledger = options.ledger ?? createLedger();
  const meter = createMeter(ledger);
  observer.subscribe((happening) => {
    if (happening.type !== 'call_ended' || happening.call.kind !== 'tool') return;
    if (happening.call.outcome !== 'denied') ledger.add({ calls: 1 });
  });
  const checker = createArgumentChecker();
  const admission = createAdmission({ policy: settings.policy, gate: createGate(settings.limits.concurrentCalls) });
  const results = createResultStore(settings.limits.resultStore);
  const started = Date.now();
  const running = new Map(
    config.profiles
      .filter(({ enabled }) => enabled)
      .map((profile) => [profile.name, runProfile(profile, config, { ...options, observer })]),
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
  const router = ({ catalog, pool, profile }: Running, access: Access, as: As = {}): Router => {
    const calls = observer.calls({ profile: profile.name, principal: as.principal?.name });
    const { offered } = as;
    return createRouter({ catalog, pool, access, checker, calls, admission, ...(offered && { offered }) });
  };
  const { firstListWait } = settings.connect;
  const status = (principal?: Principal) => describeStatus({ config, running, observed, ledger, started }, principal);

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
      const own = router(found, accessOf(found, principal), { principal, offered });
      const shelf =
        downstream.lasts === 'request'
          ? results.ofRequest(found.profile.name, principal?.name)
          : results.ofSession(downstream.key);
      const deps = { router: own, caller, settings, wishes, meter, shelf, listed };
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
    status,
    emit: observer.emit,
    watch: (principal, hear) =>
      observer.subscribe((happening) => {
        const event = seenBy(principal, happening);
        if (event !== undefined) hear(event);
      }),
    metrics: (principal) => metricsFor(principal, { metrics: observed.metrics, running, status: status(principal) }),
    async stop(bounds) {
      for (const { catalog } of running.values()) catalog.close();
      await Promise.all([ledger.close(), ...[...running.values()].map(({ pool }) => pool.close(bounds))]);
      observed.close();
    },
    killNow() {
      observed.close();
      for (const { pool } of running.values()) pool.killNow();
    },
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
