/** The composition root: creates the running profiles of a Config with their pools, catalogs and routers. */
import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { ToolSearch } from '../catalog/search/search.ts';
import type { Config, Profile, ProfileWord } from '../config/config.ts';
import { mainProfile, profileWord } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { createResultStore, type ResultStore } from '../front/compact/result-store.ts';
import { createSavings } from '../front/savings.ts';
import type { Entrance, Gateway, LiveEvent, OpenOptions, Session, Status } from '../listen/app-api.ts';
import { isUnreached } from '../observe/observer.ts';
import type { Family } from '../observe/prometheus.ts';
import { createLedger, type Ledger } from '../observe/savings-totals.ts';
import type { Principal } from '../policy/auth.ts';
import { createShares, type Shares } from '../policy/shares.ts';
import { createAdmission } from '../router/admission.ts';
import { createArgumentChecker } from '../router/arguments.ts';
import type { Router } from '../router/router.ts';
import type { Diagnostics } from '../upstream/connection-interface.ts';
import { createChildLimit } from '../upstream/process/child-limit.ts';
import type { StopBounds } from '../upstream/transports/transport.ts';
import { needsRestart, type Reloaded, swapProfiles } from './apply-config.ts';
import { createCallRedactor } from './call-redactor.ts';
import { commandRouter, type EntranceDeps, enterFront, enterProfile } from './entrance.ts';
import { createConflictLog } from './name-conflicts.ts';
import { createObservers, metricsFor, type Observers, seenBy } from './observers.ts';
import { type AppOptions, type Common, type ProfileRuntime, runProfile } from './profile.ts';
import { describeStatus } from './status-report.ts';

export interface App extends Gateway {
  /** Lists every upstream in the background, from the stored catalog or by starting it once. In eager mode, all are started. */
  start(): void;
  /** Returns the router of a profile, for the command line. Throws `not_found`, or `config` if no profile is enabled. */
  router(profile?: string): Router;
  /** Returns the catalog of a profile, without access filters. Throws `not_found`. */
  catalog(profile?: string): Pick<Catalog, 'servers' | 'settle' | 'answered' | 'ensure'>;
  /** Returns what is known about the process or connection of a server; undefined if it is unknown or disabled. */
  diagnostics(server: string, profile?: string): Diagnostics | undefined;
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

export function createApp(initial: Config, options: AppOptions): App {
  return new RunningApp(initial, options);
}

class RunningApp implements App {
  #config: Config;
  readonly #options: AppOptions;
  readonly #observed: Observers;
  readonly #ledger: Ledger;
  readonly #results: ResultStore;
  /** The parts that the routers and sessions of all profiles share. */
  readonly #shared: EntranceDeps;
  /** The parts that all profiles share. */
  readonly #common: Omit<Common, 'admission'>;
  readonly #calls: Shares;
  readonly #started = Date.now();
  readonly #running: Map<string, ProfileRuntime>;
  /** Removed profiles whose last calls have not finished yet. */
  readonly #leaving = new Set<ProfileRuntime>();

  readonly #ignoreSignIns: (() => void) | undefined;

  readonly emit: Gateway['emit'];

  constructor(initial: Config, options: AppOptions) {
    this.#config = initial;
    this.#options = options;
    this.#observed = createObservers(options.log);
    this.#openAudit(initial);
    const { observer } = this.#observed;
    this.emit = observer.emit;
    this.#ledger = options.ledger ?? createLedger();
    this.#count();
    const limits = () => this.#config.settings.limits;
    this.#calls = createShares(() => limits().concurrentCalls);
    this.#results = createResultStore({ maxBytes: () => limits().resultStore, folder: options.resultFolder });
    this.#shared = {
      config: () => this.#config,
      observer,
      checker: createArgumentChecker(),
      savings: createSavings(this.#ledger),
      results: this.#results,
      tellConflicts: createConflictLog(options.log),
    };
    this.#common = {
      observer,
      prior: (server, tool) => (this.#learns ? (options.usage?.share(server, tool) ?? 0) : 0),
      childLimit: createChildLimit({ limit: () => limits().children }),
    };
    const enabled = initial.profiles.filter(({ enabled }) => enabled);
    this.#running = new Map(enabled.map((profile) => [profile.name, this.#run(profile)]));
    this.#ignoreSignIns = options.oauth?.onSignIn((server) => this.#signedIn(server));
  }

  get mainProfile(): string | undefined {
    return mainProfile(this.#config)?.name;
  }

  profileState(name: string): ReturnType<App['profileState']> {
    if (this.#running.has(name)) return 'enabled';
    return this.#config.profiles.some((profile) => profile.name === name) ? 'disabled' : 'unknown';
  }

  profileWord(name?: string): ProfileWord {
    return profileWord(this.#config, name);
  }

  start(): void {
    for (const one of this.#running.values()) this.#settle(one);
  }

  router(profile?: string): Router {
    return commandRouter(this.#find(profile), this.#shared);
  }

  catalog(profile?: string): ReturnType<App['catalog']> {
    return this.#find(profile).catalog;
  }

  diagnostics(server: string, profile?: string): Diagnostics | undefined {
    return this.#find(profile).pool.get(server)?.diagnostics();
  }

  search(profile?: string): ToolSearch {
    return this.#find(profile).search;
  }

  listed(profile?: string, wait = this.#config.settings.connect.firstListWait, lists?: 'tools' | 'all'): Promise<void> {
    return this.#find(profile).catalog.settle(wait, undefined, lists);
  }

  canResume(profile: string, issued: number): boolean {
    return this.#find(profile).pins.canResume(issued);
  }

  open({ profile, ...options }: OpenOptions): Session {
    return enterFront(this.#find(profile), options, this.#shared);
  }

  enter({ profile, ...who }: Parameters<App['enter']>[0]): Entrance {
    const downstream = { key: randomUUID(), stateless: true } as const;
    return enterProfile(this.#find(profile), { downstream, ...who }, this.#shared);
  }

  status(principal?: Principal): Status {
    const problems = [...(this.#options.problems ?? []), ...this.#observed.problems()];
    const counts = this.#observed.counts();
    const of = { config: this.#config, running: this.#running, ledger: this.#ledger, started: this.#started };
    return describeStatus({ ...of, counts, problems }, principal);
  }

  watch(principal: Principal | undefined, hear: (event: LiveEvent) => void): () => void {
    return this.#observed.observer.subscribe((happening) => {
      const event = seenBy(principal, happening, this.#running);
      if (event !== undefined) hear(event);
    });
  }

  metrics(principal?: Principal): Family[] {
    const status = this.status(principal);
    return metricsFor(principal, { ...this.#observed.counts(), running: this.#running, status });
  }

  reload(next: Config): Reloaded {
    const before = this.#config;
    this.#openAudit(next);
    this.#config = next;
    const [running, leaving] = [this.#running, this.#leaving];
    const run = (profile: Profile) => this.#run(profile);
    const reloaded = swapProfiles({ running, leaving, run, settle: (one) => this.#settle(one) }, next);
    return { ...reloaded, restart: needsRestart(before.settings, next.settings) };
  }

  async stop(bounds?: StopBounds): Promise<void> {
    this.#ignoreSignIns?.();
    for (const { catalog } of this.#everything()) catalog.close();
    for (const { pins } of this.#everything()) pins.flush();
    this.#options.store?.flush();
    this.#results.close();
    this.#observed.observer.settle();
    const pools = this.#everything().map(({ pool }) => pool.close(bounds));
    await Promise.all([this.#ledger.close(), this.#options.usage?.close(), ...pools]);
    this.#observed.close();
  }

  killNow(): void {
    this.#observed.close();
    for (const { pool } of this.#everything()) pool.killNow();
  }

  #run(profile: Profile): ProfileRuntime {
    const config = () => this.#config;
    const policy = {
      get confirm() {
        return config().settings.policy.confirm;
      },
    };
    const admission = createAdmission({ policy, calls: this.#calls, refusal: this.#observed.refusal });
    return runProfile(profile, this.#config, { ...this.#options, ...this.#common, admission });
  }

  /** Lists new servers in the background. */
  #settle({ catalog, pool }: ProfileRuntime): void {
    void catalog.settle(0);
    // A failed connection is visible in the server's state and in the error of each call.
    if (this.#config.settings.connect.mode === 'eager')
      for (const one of pool.all()) one.connect().catch(() => undefined);
  }

  /** Lists a server that the user has signed in to, also if its lists are known from an earlier run. */
  #signedIn(server: string): void {
    for (const { catalog } of this.#running.values()) {
      void catalog.ensure(server);
      void catalog.verify(server, undefined, { start: 'stored' });
    }
  }

  #find(name = this.mainProfile): ProfileRuntime {
    const word = profileWord(this.#config);
    if (name === undefined) throw noProfile(word);
    const found = this.#running.get(name);
    if (found !== undefined) return found;
    const names = [...this.#running.keys()].join(', ');
    throw new McpxError('not_found', `no enabled ${word} is called "${name}"`, { hint: `the ${word}s are: ${names}` });
  }

  #everything(): ProfileRuntime[] {
    return [...this.#running.values(), ...this.#leaving];
  }

  #openAudit({ settings }: Config): void {
    const redact = createCallRedactor(() => this.#config);
    this.#observed.audit(settings.audit, redact);
  }

  /** True if the use of tools is counted, for the order of search results. */
  get #learns(): boolean {
    const { stats, search } = this.#config.settings;
    return stats && search.usage;
  }

  #count(): void {
    this.#observed.observer.tally((happening) => {
      if (happening.type !== 'call_ended' || happening.call.kind !== 'tool') return;
      const { outcome, server, name } = happening.call;
      if (!isUnreached(outcome)) this.#ledger.add({ calls: 1 });
      if (outcome === 'ok' && this.#learns) this.#options.usage?.record(server, name);
    });
  }
}

export function noProfile(word: ProfileWord): McpxError {
  return new McpxError('config', `no ${word} is enabled`, { hint: `enable one under "${word}s" in the config` });
}
