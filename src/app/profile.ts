/** A running profile: its pool, catalog and access rules. */
import { Catalog } from '../catalog/catalog.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { FailureStore } from '../catalog/failure-store.ts';
import { createGuard } from '../catalog/pins/enforce.ts';
import type { LockFile } from '../catalog/pins/lock-file.ts';
import { createPins, type Pins } from '../catalog/pins/pins.ts';
import { createShownDefinitions } from '../catalog/pins/shown-definitions.ts';
import type { Prior } from '../catalog/search/ranking.ts';
import { createToolSearch, type ToolSearch } from '../catalog/search/search.ts';
import type { Config, FrontKind, Profile, Settings } from '../config/config.ts';
import { sameJson } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import type { ClientSession, Front } from '../front/front-interface.ts';
import type { Log } from '../observe/log.ts';
import type { Observer } from '../observe/observer.ts';
import type { Ledger } from '../observe/savings-totals.ts';
import type { Usage } from '../observe/usage.ts';
import { type Access, createAccess } from '../policy/access.ts';
import type { Admission } from '../router/admission.ts';
import { createSessionLogLevels, type SessionLogLevels } from '../router/session-log-levels.ts';
import { createSignInOffers, type OfferSignIn } from '../router/sign-in-page.ts';
import { createSubscriptions, type Subscriptions } from '../router/subscriptions.ts';
import { createTaskOwners, type TaskOwners } from '../router/task-owners.ts';
import type { OAuth } from '../upstream/oauth/oauth.ts';
import { createPool, type Pool } from '../upstream/pool.ts';
import type { ChildLimit } from '../upstream/process/child-limit.ts';
import type { ChildRecords } from '../upstream/process/orphans.ts';
import type { StderrFiles } from '../upstream/process/stderr-file.ts';
import type { PoolChange } from '../upstream/sharing/pool-entry.ts';
import { beginnerOf } from './begin-sign-in.ts';
import { createProfileEvents } from './profile-events.ts';

export interface ProfileRuntime {
  profile: Profile;
  pool: Pool;
  catalog: Catalog;
  subscriptions: Subscriptions;
  logLevels: SessionLogLevels;
  tasks: TaskOwners;
  access: Access;
  policy: Settings['policy'];
  admission: Admission;
  pins: Pins;
  search: ToolSearch;
  /** Offers a sign-in page to a client; undefined if mcpx signs in to no servers. */
  offerSignIn: OfferSignIn | undefined;
  /** The fronts by kind, and the sessions of the clients on them. */
  fronts: Map<FrontKind, Front>;
  sessions: Set<ClientSession>;
}

export interface AppOptions {
  log: Log;
  /** The store of catalogs on disk; undefined for the demo. */
  store?: CatalogStore;
  /** The last failures of servers on disk. */
  failures?: Pick<FailureStore, 'read' | 'record' | 'clear'>;
  /** The file of accepted definitions, for `lock: "enforce"`. */
  lockFile?: LockFile;
  /** The records of running child processes. `stderr` holds the files with their stderr output. */
  children?: ChildRecords;
  stderr?: StderrFiles;
  /** The totals of saved tokens; kept in memory if undefined. */
  ledger?: Ledger;
  /** The usage counts of tools over all runs; if undefined, nothing is counted. */
  usage?: Usage;
  /** Problems that the operator has to fix. */
  problems?: string[];
  /** The folder in which large results are stored until their sessions end; if undefined, they are stored in memory. */
  resultFolder?: string;
  /** The sign-ins to servers with a URL (default: their configured headers are the only credentials). */
  oauth?: Pick<OAuth, 'authorization' | 'onSignIn' | 'signInOf'> | undefined;
  /** Set if a user waits in a shell: it gets a line about each slow start, and calls wait for a download without a timeout. */
  attended?: (line: string) => void;
  /** The folder that records the definitions that each session was shown, so that sessions survive a restart. */
  shownFolder?: string | undefined;
}

/** The parts that all profiles share, and the admission of calls to the servers of this profile. */
export interface Common {
  observer: Pick<Observer, 'emit'>;
  prior: Prior;
  admission: Admission;
  childLimit: ChildLimit;
}

export function runProfile(
  profile: Profile,
  { settings }: Config,
  { log, store, failures, lockFile: file, shownFolder: folder, ...more }: AppOptions & Common,
): ProfileRuntime {
  const { children, stderr, observer, prior, admission, childLimit, attended, oauth } = more;
  const { name: own } = profile;
  const sessions = new Set<ClientSession>();
  const { lock: mode } = settings;
  const shownDefinitions =
    folder !== undefined && mode === 'session' ? createShownDefinitions({ folder, profile: own, log }) : undefined;
  const pins = mode === 'enforce' ? createGuard({ log, file }) : createPins({ mode, log, shownDefinitions });
  const pool = createPool({
    servers: profile.servers,
    settings,
    log,
    recall: (spec) => store?.handshake(spec),
    children,
    childLimit,
    stderr,
    authorize: oauth?.authorization,
    attended,
    isSubscribed: (connection) => running.subscriptions.isOn(connection),
    events: createProfileEvents({ running: () => running, observer, failures, log }),
  });
  const catalog = new Catalog({
    servers: profile.servers,
    pool,
    log,
    pins,
    ...(store && { store }),
    slowStarts: {
      has: (spec) => failures?.read(spec)?.slow === true,
      add: (spec) => failures?.record(spec, lateStart(spec.name, settings.connect.firstListWait)),
    },
    outcome: (spec, error) => (error === undefined ? failures?.clear(spec) : failures?.record(spec, error)),
    changed: (server, kinds) => {
      observer.emit({ type: 'lists', profile: own, server, lists: kinds });
      for (const session of sessions) session.changed(kinds, server);
    },
    listed: () => {
      for (const session of sessions) session.changed([]);
    },
  });
  const subscriptions = createSubscriptions({ pool, log });
  const logLevels = createSessionLogLevels({ pool, log });
  const { policy } = settings;
  const access = createAccess({ profile, policy });
  const search = createToolSearch(prior);
  const tasks = createTaskOwners();
  const rules = { access, policy, admission, pins };
  const running: ProfileRuntime = {
    ...{ ...rules, search, profile, pool, catalog, subscriptions, logLevels, tasks, fronts: new Map(), sessions },
    offerSignIn: oauth && createSignInOffers(beginnerOf(oauth, () => running.profile.servers, settings)),
  };
  return running;
}

/** The failure that is stored until the server answers or its start fails. */
function lateStart(server: string, wait: number): McpxError {
  return new McpxError('timeout', `server "${server}" had not answered ${wait / 1000} s after it was needed`);
}

/** Applies new servers and rules to a running profile and returns the changes. Its clients get list_changed notifications. */
export function updateProfile(running: ProfileRuntime, profile: Profile, settings: Settings): PoolChange {
  const same = sameJson(rulesOf(running.profile), rulesOf(profile)) && sameJson(running.policy, settings.policy);
  const change = running.pool.update(profile.servers, settings);
  running.catalog.update(profile.servers, change.changed);
  running.subscriptions.replaced([...change.changed, ...change.removed]);
  Object.assign(running, {
    profile,
    policy: settings.policy,
    access: createAccess({ profile, policy: settings.policy }),
  });
  const news = !same || change.added.length + change.changed.length + change.removed.length > 0;
  if (news) for (const session of running.sessions) session.changed(['tools', 'resources', 'prompts']);
  return change;
}

/** Returns the fields of a profile that affect the lists that clients see. */
function rulesOf({ servers, tools, resources, prompts }: Profile): unknown {
  const own = servers.map(({ name, label, tools, resources, prompts, description }) => ({
    ...{ name, label, tools, resources, prompts, description },
  }));
  return { own, tools, resources, prompts };
}
