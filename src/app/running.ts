/** A profile at work: its pool, catalog and rules, and who is told what happens in them. */
import { Catalog } from '../catalog/catalog.ts';
import { createGuard } from '../catalog/enforce.ts';
import type { LockFile } from '../catalog/lock-file.ts';
import { createPins, type Pins } from '../catalog/pins.ts';
import type { Prior } from '../catalog/ranking.ts';
import { createToolSearch, type ToolSearch } from '../catalog/search.ts';
import { createShownDefinitions } from '../catalog/shown-definitions.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Config, Profile, Settings } from '../config/config.ts';
import { sameJson } from '../config/json.ts';
import type { Front } from '../front/front.ts';
import type { Ledger } from '../observe/ledger.ts';
import type { Log } from '../observe/log.ts';
import type { Observer } from '../observe/observer.ts';
import type { Usage } from '../observe/usage.ts';
import { type Access, createAccess, narrowAccess } from '../policy/access.ts';
import type { Principal } from '../policy/auth.ts';
import type { Admission } from '../router/admission.ts';
import { answerQuestion, mayHear, passToCall } from '../router/reverse.ts';
import { createTasks, type Tasks } from '../router/tasks.ts';
import { createWishes, type Wishes } from '../router/wishes.ts';
import type { ChildLimit } from '../upstream/child-limit.ts';
import type { PoolChange } from '../upstream/member.ts';
import type { ChildRecords } from '../upstream/owners.ts';
import { createPool, type Pool } from '../upstream/pool.ts';
import type { StderrFiles } from '../upstream/stderr-file.ts';

export interface Running {
  profile: Profile;
  pool: Pool;
  catalog: Catalog;
  wishes: Wishes;
  tasks: Tasks;
  access: Access;
  policy: Settings['policy'];
  admission: Admission;
  pins: Pins;
  search: ToolSearch;
  fronts: Set<Front>;
}

export interface AppOptions {
  log: Log;
  /** Where catalogs outlive the process; none for the demo. */
  store?: CatalogStore;
  /** Where accepted definitions are, for `lock: "enforce"`. */
  lockFile?: LockFile;
  /** Where children are written down while they run, and what they write to stderr. */
  children?: ChildRecords;
  stderr?: StderrFiles;
  /** Where what was saved is added up; in memory unless told. */
  ledger?: Ledger;
  /** Which tools are used, over runs; nothing is counted unless told. */
  usage?: Usage;
  /** Problems that a person has to repair before everything works. */
  problems?: string[];
  /** Where large results are kept until their sessions end; in memory unless told. */
  resultFolder?: string;
  /** Set where a person waits in a shell: told of slow starts; and calls wait for a download as long as it takes. */
  attended?: (line: string) => void;
  /** Where it is written down what sessions were shown, so that they survive a restart. */
  shownFolder?: string | undefined;
}

/** The parts that all profiles share, and the rules for calls to the servers of this one. */
export interface Common {
  observer: Pick<Observer, 'emit'>;
  prior: Prior;
  admission: Admission;
  childLimit: ChildLimit;
}

export function runProfile(
  profile: Profile,
  { settings }: Config,
  { log, store, lockFile: file, shownFolder: folder, ...more }: AppOptions & Common,
): Running {
  const { children, stderr, observer, prior, admission, childLimit, attended } = more;
  const { name: own } = profile;
  const fronts = new Set<Front>();
  const { lock: mode } = settings;
  const shownDefinitions =
    folder !== undefined && mode === 'session' ? createShownDefinitions({ folder, profile: own, log }) : undefined;
  const pins = mode === 'enforce' ? createGuard({ log, file }) : createPins({ mode, log, shownDefinitions });
  const pool = createPool({
    servers: profile.servers,
    settings,
    log,
    recall: (spec) => [...(store?.read(spec)?.bySet.values() ?? [])].at(-1)?.hello,
    children,
    childLimit,
    stderr,
    attended,
    events: {
      notification: (server, heard, connection) => {
        const { method, params } = heard;
        for (const one of pool.affected(connection)) catalog.noticed(server, method, one);
        const passed = passToCall(heard, connection);
        if (passed === 'dropped')
          log.debug(`${method} is dropped: it may be about calls of several tokens`, { server });
        if (passed !== undefined) return;
        for (const front of fronts)
          if (mayHear(method, front, connection) && pool.serves(connection, front.key))
            front.heard(server, method, params, connection);
      },
      request: (server, request, incoming, connection) => {
        const client = pool.clientOf(connection);
        const only = client === undefined ? undefined : [...fronts].find(({ key }) => key === client);
        return answerQuestion(server, request, incoming, only && ((...asked) => only.asked(server, ...asked)));
      },
      state: (server, state, connection) => {
        const reason = 'reason' in state ? state.reason : undefined;
        observer.emit({ type: 'state', profile: own, server, state: state.kind, reason });
        if (state.kind !== 'ready') return;
        for (const one of pool.affected(connection)) catalog.connected(server, one);
        wishes.connected(connection);
      },
    },
  });
  const catalog = new Catalog({
    servers: profile.servers,
    pool,
    log,
    pins,
    ...(store && { store }),
    changed: (server, kinds) => {
      observer.emit({ type: 'lists', profile: own, server, lists: kinds });
      for (const front of fronts) front.changed(kinds, server);
    },
    listed: () => {
      for (const front of fronts) front.changed([]);
    },
  });
  const wishes = createWishes({ pool, log });
  const { policy } = settings;
  const access = createAccess({ profile, policy });
  const search = createToolSearch(prior);
  const tasks = createTasks();
  return { profile, pool, catalog, wishes, tasks, access, policy, admission, pins, search, fronts };
}

/** Gives a profile at work other servers and rules; says what became of which server. Its clients are told that lists may differ. */
export function updateProfile(running: Running, profile: Profile, settings: Settings): PoolChange {
  const same = sameJson(rulesOf(running.profile), rulesOf(profile)) && sameJson(running.policy, settings.policy);
  const change = running.pool.update(profile.servers, settings);
  running.catalog.update(profile.servers, change.changed);
  running.wishes.replaced([...change.changed, ...change.removed]);
  Object.assign(running, {
    profile,
    policy: settings.policy,
    access: createAccess({ profile, policy: settings.policy }),
  });
  const news = !same || change.added.length + change.changed.length + change.removed.length > 0;
  if (news) for (const front of running.fronts) front.changed(['tools', 'resources', 'prompts']);
  return change;
}

/** What decides what clients see, beside what servers list. */
function rulesOf({ servers, tools, resources, prompts }: Profile): unknown {
  const own = servers.map(({ name, label, tools, resources, prompts, description }) => ({
    ...{ name, label, tools, resources, prompts, description },
  }));
  return { own, tools, resources, prompts };
}

/** The rules as they are at the time of each question: a session outlives a change of the config. */
export function accessOf(running: Running, principal: Principal | undefined): Access {
  const current: Access = {
    allows: (address) => running.access.allows(address),
    allowsServer: (server) => running.access.allowsServer(server),
    allowsAll: (server) => running.access.allowsAll(server),
  };
  return principal === undefined ? current : narrowAccess(current, principal);
}
