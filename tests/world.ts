/** The in-memory world: scripted upstreams behind a real catalog and router, for tests of everything above `upstream/`. */
import { randomUUID } from 'node:crypto';
import { Catalog } from '../src/catalog/catalog.ts';
import type { CatalogStore } from '../src/catalog/catalog-store.ts';
import type { Tool } from '../src/catalog/listing.ts';
import { createGuard } from '../src/catalog/pins/enforce.ts';
import type { LockFile } from '../src/catalog/pins/lock-file.ts';
import { createPins } from '../src/catalog/pins/pins.ts';
import type { ShownDefinitions } from '../src/catalog/pins/shown-definitions.ts';
import { createToolSearch } from '../src/catalog/search/search.ts';
import {
  DEFAULTS,
  type Filter,
  type FrontKind,
  SERVER_DEFAULTS,
  type ServerSpec,
  type Settings,
} from '../src/config/config.ts';
import { openSession } from '../src/front/client-session.ts';
import { createResultStore } from '../src/front/compact/result-store.ts';
import { createFront } from '../src/front/front.ts';
import type { ClientDeps, ClientSession, Downstream } from '../src/front/front-interface.ts';
import { createSavings } from '../src/front/savings.ts';
import { createStats } from '../src/observe/call-counts.ts';
import { createLog } from '../src/observe/log.ts';
import { createObserver, type Observer } from '../src/observe/observer.ts';
import { createLedger, type Ledger } from '../src/observe/savings-totals.ts';
import { createAccess } from '../src/policy/access.ts';
import { createShares } from '../src/policy/shares.ts';
import { createAdmission } from '../src/router/admission.ts';
import { createArgumentChecker } from '../src/router/arguments.ts';
import { createRouter, type Router } from '../src/router/router.ts';
import { createSessionLogLevels } from '../src/router/session-log-levels.ts';
import { createSubscriptions } from '../src/router/subscriptions.ts';
import type { CallOptions } from '../src/upstream/call-options.ts';
import type { Connection } from '../src/upstream/connection-interface.ts';
import type { Handshake } from '../src/upstream/handshake.ts';
import type { Params } from '../src/wire/message.ts';

/** An upstream as a test describes it. */
export interface Script {
  tools?: Partial<Tool>[];
  instructions?: string;
  version?: string;
  /** Replaces what `connect` would answer: throw to stage a server that cannot start. */
  connect?: () => Promise<void>;
  /** Called when the catalog has read its lists. */
  listed?: () => void;
  /** Answers every request but the ones that lists are made of, where `tools` is given. */
  answer?: (method: string, params: Params | undefined, options: CallOptions) => unknown;
  spec?: Partial<ServerSpec>;
  /** The key of the only client that it runs for. */
  owner?: string;
  capabilities?: Record<string, unknown>;
  /** Another number is another process, which nobody has asked anything yet. */
  run?: number;
}

export interface World {
  catalog: Catalog;
  router: Router;
  /** The router of another client. */
  session(key: string, issued?: number): Router;
  deps: ClientDeps;
  /** Every request that reached an upstream, lists excepted. */
  sent: { server: string; method: string; params: Params | undefined }[];
  logged: string[];
  changes: string[];
  stats: ReturnType<typeof createStats>;
  ledger: Ledger;
  observer: Observer;
}

export function specOf(name: string, more: Partial<ServerSpec> = {}): ServerSpec {
  const base = {
    name,
    type: 'builtin',
    builtin: name,
    disabled: false,
    ...SERVER_DEFAULTS,
    tools: {},
    resources: {},
    prompts: {},
    place: { file: 'test.json', path: ['mcpServers', name] },
  };
  return { ...base, ...more } as ServerSpec;
}

export interface WorldOptions {
  settings?: Settings;
  tools?: Filter;
  store?: CatalogStore;
  lockFile?: LockFile;
  shownDefinitions?: ShownDefinitions;
}

export function createWorld(
  scripts: Record<string, Script>,
  { settings = DEFAULTS, tools = {}, store, lockFile: file, shownDefinitions }: WorldOptions = {},
): World {
  const sent: World['sent'] = [];
  const logged: string[] = [];
  const changes: string[] = [];
  const specs = Object.entries(scripts).map(([name, script]) => specOf(name, script.spec));
  const connections = new Map(specs.map((spec) => [spec.name, connectionOf(spec, scripts[spec.name] ?? {}, sent)]));
  const pool = {
    get: (name: string) => connections.get(name),
    all: () => [...connections.values()],
  };
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const { lock: mode } = settings;
  const pins = mode === 'enforce' ? createGuard({ log, file }) : createPins({ mode, log, shownDefinitions });
  const catalog = new Catalog({
    servers: specs,
    pool,
    log,
    pins,
    changed: (server) => changes.push(server),
    ...(store && { store }),
  });
  const access = createAccess({
    profile: { servers: specs, tools, resources: {}, prompts: {} },
    policy: settings.policy,
  });
  const stats = createStats();
  const observer = createObserver();
  observer.subscribe((happening) => {
    if (happening.type === 'call_ended') stats.record(happening.call);
  });
  const calls = observer.calls({ profile: 'default' });
  const admission = createAdmission({ policy: settings.policy, calls: createShares(settings.limits.concurrentCalls) });
  const checker = createArgumentChecker();
  const verify: ClientDeps['verify'] = (server, wanted) => catalog.verify(server, undefined, wanted);
  const session = (key: string, issued?: number) => {
    const own = { pins: pins.session({ key, offered: () => undefined, issued }), pinned: () => pins.revision };
    return createRouter({ catalog, verify, pool, access, checker, calls, admission, ...own });
  };
  const router = session('k');
  const subscriptions = createSubscriptions({ pool, log });
  const logLevels = createSessionLogLevels({ pool, log });
  const ledger = createLedger();
  const deps = {
    router,
    identity: { key: 'k', capabilities: {} },
    settings,
    subscriptions,
    logLevels,
    rootsChanged: () => undefined,
    savings: createSavings(ledger),
    clientResults: createResultStore({ maxBytes: () => settings.limits.resultStore }).ofSession('k', undefined),
    search: createToolSearch(),
    listed: (wait = 1000, lists?: 'tools' | 'all') => catalog.settle(wait, undefined, lists),
    verify,
  };
  return { catalog, router, session, deps, sent, logged, changes, stats, observer, ledger };
}

/** Opens the session of a client on a front of its own. */
export function openFront(kind: FrontKind, deps: ClientDeps, downstream: Downstream): ClientSession {
  return openSession(createFront(kind, deps.settings), deps, downstream);
}

export const CALLER = { key: 'test', capabilities: {} };

function connectionOf(spec: ServerSpec, script: Script, sent: World['sent']): Connection {
  const greet = (): Handshake => ({
    conversation: randomUUID(),
    era: 'legacy',
    protocolVersion: '2025-11-25',
    capabilities: script.capabilities ?? { tools: {} },
    serverInfo: { name: spec.name, version: script.version ?? '1.0.0' },
    ...(script.instructions !== undefined && { instructions: script.instructions }),
  });
  let [handshake, run] = [greet(), script.run];
  const current = () => {
    if (run !== script.run) [handshake, run] = [greet(), script.run];
    return handshake;
  };
  const connect = async () => {
    await script.connect?.();
    handshake = greet();
    return handshake;
  };
  return {
    name: spec.name,
    spec,
    state: { kind: 'ready', since: 0 },
    owner: script.owner,
    offered: '',
    hasSubscribers: false,
    get handshake() {
      return current();
    },
    connect,
    listed: () => script.listed?.(),
    async request(method, params, options = {}) {
      await script.connect?.();
      if (method === 'tools/list' && script.tools !== undefined) return { tools: script.tools };
      const { precondition } = options;
      const asked = { params, options };
      const isMet = precondition?.isMet(current()) !== false;
      const ready = isMet ? asked : ((await precondition?.satisfy(current(), asked)) ?? asked);
      sent.push({ server: spec.name, method, params: ready.params });
      return script.answer?.(method, ready.params, ready.options) ?? { content: [{ type: 'text', text: 'ok' }] };
    },
    notify: (method, params) => void sent.push({ server: spec.name, method, params }),
    diagnostics: () => ({ stderr: [], noise: 0 }),
    close: async () => undefined,
    killNow: () => undefined,
    stopIdle: async () => undefined,
    drain: async () => undefined,
  };
}
