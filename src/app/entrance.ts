/** The way of a client into a profile: its router, its lists, its session on a front, and the end of all of them. */
import type { Config, FrontKind } from '../config/config.ts';
import { openSession } from '../front/client-session.ts';
import { compactTools } from '../front/compact/compact.ts';
import type { ResultStore } from '../front/compact/result-store.ts';
import { instructionsOf } from '../front/compact/tool-definitions.ts';
import { createFront } from '../front/front.ts';
import type { Downstream, Front } from '../front/front-interface.ts';
import type { Savings } from '../front/savings.ts';
import type { Entrance, OpenOptions, Session } from '../listen/app-api.ts';
import { offeredKey } from '../mcp/capabilities.ts';
import type { Observer } from '../observe/observer.ts';
import { accessOf } from '../policy/access.ts';
import { type Principal, payerOf } from '../policy/auth.ts';
import type { ArgumentChecker } from '../router/arguments.ts';
import { createRouter, type Router, type RouterDeps } from '../router/router.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';
import type { createConflictLog } from './name-conflicts.ts';
import type { ProfileRuntime } from './profile.ts';

/** The parts of the app that all profiles share. */
export interface EntranceDeps {
  config(): Config;
  observer: Pick<Observer, 'calls'>;
  checker: ArgumentChecker;
  savings: Savings;
  results: ResultStore;
  tellConflicts: ReturnType<typeof createConflictLog>;
}

/** A client that opens a session or sends a single request. */
export type Arriving = { downstream: Pick<Downstream, 'key' | 'stateless'> } & Pick<
  OpenOptions,
  'principal' | 'holder' | 'issued'
>;

/** Returns the router of the command line. */
export function commandRouter(found: ProfileRuntime, deps: EntranceDeps): Router {
  // A command has no session, so its pins last for one request.
  const pins = found.pins.session({ key: 'cli', offered: () => undefined, stateless: true });
  const tasks = found.tasks.of({ holder: 'cli', known: 'by session' });
  const verify: RouterDeps['verify'] = (server) => found.catalog.verify(server);
  return routerOf(found, undefined, { pins, tasks, verify, offered: () => undefined }, deps);
}

function routerOf(
  found: ProfileRuntime,
  principal: Principal | undefined,
  own: Required<Pick<RouterDeps, 'pins' | 'tasks' | 'verify' | 'offered'>>,
  { config, checker, observer }: EntranceDeps,
): Router {
  const { catalog, pool, profile, admission } = found;
  const calls = observer.calls({ profile: profile.name, principal: principal?.name });
  const pinned = () => found.pins.revision;
  const access = accessOf(found, principal);
  // A client with a token may be on another machine.
  const configFile = principal ? undefined : config().files.at(-1);
  // The sign-in is for all clients, and its last page is on this machine: other people's clients get the command instead.
  const offerSignIn = principal === undefined || principal.admin ? found.offerSignIn : undefined;
  const rules = { access, admission, pinned, configFile, offerSignIn };
  return createRouter({ ...own, ...rules, catalog, pool, checker, calls });
}

export function enterProfile(
  found: ProfileRuntime,
  { downstream, principal, holder, issued }: Arriving,
  deps: EntranceDeps,
): Entrance {
  const { key, stateless } = downstream;
  const { catalog, pool, search } = found;
  let left = false;
  let known = offerOf({});
  // This runs several times per call. The key is computed again only if the handshake has replaced the capabilities.
  const offered = () => {
    const { capabilities } = client.identity;
    if (known.capabilities !== capabilities) known = offerOf(capabilities);
    return known.key;
  };
  // A connection that is opened after the client has left would never be closed.
  const connectionTo = (server: string) => (left ? undefined : pool.get(server, client.identity));
  const verify: Entrance['verify'] = (server, wanted) => catalog.verify(server, connectionTo(server), wanted);
  const pins = found.pins.session({ key, offered, issued, stateless });
  const tasks = found.tasks.of(
    principal
      ? { holder: `token ${principal.name}`, known: 'by token' }
      : { holder: stateless ? '' : key, known: 'by session' },
  );
  const client: Entrance = {
    identity: { key, holder, principal: principal?.name, stateless, capabilities: {} },
    router: routerOf(found, principal, { pins, tasks, verify, offered }, deps),
    search,
    verify,
    async listed(wait = Number.POSITIVE_INFINITY, lists) {
      const { connect, naming } = deps.config().settings;
      // Lists for other capabilities differ little, so a caller with little time takes them.
      const takesOthers = wait < connect.firstListWait;
      const asked = { offered: offered(), connectionTo, stateless, takesOthers };
      await catalog.settle(Math.min(wait, connect.firstListWait), asked, lists);
      deps.tellConflicts(found, naming);
    },
    async reading() {
      const { settings } = deps.config();
      const servers = client.router.servers();
      const tools = compactTools(servers, settings);
      return deps.savings.reading(servers, { tools, instructions: instructionsOf(settings.front, servers) });
    },
    close() {
      left = true;
      pool.release(key);
      found.pins.release(key);
    },
  };
  return client;
}

/** Opens the session of a client on a front of the profile. */
export function enterFront(
  found: ProfileRuntime,
  { front: kind, downstream, ...who }: Omit<OpenOptions, 'profile'>,
  deps: EntranceDeps,
): Session {
  const { settings } = deps.config();
  const { savings, results } = deps;
  const entrance = enterProfile(found, { downstream, ...who }, deps);
  const clientResults = downstream.stateless
    ? results.ofRequest(found.profile.name, who.principal?.name, payerOf(who.principal))
    : results.ofSession(downstream.key, payerOf(who.principal));
  const isListing = () => found.catalog.isListing;
  const { subscriptions, logLevels, pool } = found;
  const rootsChanged = () => pool.rootsChanged(downstream.key);
  const own = { settings, subscriptions, logLevels, savings, clientResults, rootsChanged, isListing };
  const client = Object.assign(entrance, own);
  const front = openSession(
    frontOf(found, kind ?? found.profile.front ?? settings.front.kind, deps),
    client,
    downstream,
  );
  found.sessions.add(front);
  return {
    front,
    close() {
      found.sessions.delete(front);
      front.close();
      entrance.close();
    },
  };
}

/** Returns the front of the profile; a reload leads to a new one, and older sessions keep theirs. */
function frontOf({ fronts }: ProfileRuntime, kind: FrontKind, { config }: EntranceDeps): Front {
  const { settings } = config();
  const known = fronts.get(kind);
  const front = known?.settings === settings ? known : createFront(kind, settings);
  fronts.set(kind, front);
  return front;
}

function offerOf(capabilities: ClientIdentity['capabilities']) {
  return { capabilities, key: offeredKey({ capabilities }) };
}
