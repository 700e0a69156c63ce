/** Builds the report of `GET /api/status` and `mcpx status`, which contains no secrets. */
import type { ServerEntry } from '../catalog/catalog.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import { type Config, mainProfile, type Profile, type Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import type { ServerStatus, Status } from '../listen/app-api.ts';
import { describeSavings, type Ledger } from '../observe/savings-totals.ts';
import { type Access, accessOf, createAccess, narrowAccess } from '../policy/access.ts';
import { mayUseProfile, type Principal } from '../policy/auth.ts';
import type { ConnectionState } from '../upstream/connection-interface.ts';
import { VERSION } from '../version.ts';
import { configOptions } from './config-options.ts';
import { conflictsOf } from './name-conflicts.ts';
import { type Counts, liveCall, maySeeCall, seesAll } from './observers.ts';
import type { ProfileRuntime } from './profile.ts';
import { stateText } from './state-text.ts';

export interface Described {
  config: Config;
  running: ReadonlyMap<string, ProfileRuntime>;
  counts: Pick<Counts, 'stats' | 'live'>;
  ledger: Pick<Ledger, 'totals'>;
  started: number;
  problems: string[];
}

export function describeStatus(described: Described, principal?: Principal): Status {
  const { config, running, counts, ledger, started, problems } = described;
  return {
    name: 'mcpx',
    version: VERSION,
    uptime: Math.round((Date.now() - started) / 1000),
    profiles: config.profiles
      .filter(({ name }) => principal === undefined || mayUseProfile(principal, name))
      .map((profile) => ({
        name: profile.name,
        enabled: profile.enabled,
        servers: visibleServers(profile, running.get(profile.name), principal).map((spec) =>
          serverStatus(spec, running.get(profile.name), { principal, check: checkOf(config, profile, principal) }),
        ),
        ...conflictsIn(running.get(profile.name), config.settings, principal),
      })),
    calls: callCounts(counts, principal),
    savings: describeSavings(ledger.totals()),
    ...(problems.length > 0 && seesAll(principal) && { problems }),
  };
}

function conflictsIn(running: ProfileRuntime | undefined, { naming }: Settings, principal: Principal | undefined) {
  if (running === undefined) return {};
  const conflicts = conflictsOf(running.catalog.servers(), accessOf(running, principal), naming);
  return conflicts.length === 0 ? {} : { conflicts };
}

/** Returns the servers that a principal may see: all of them if no tokens are configured. */
function visibleServers(
  profile: Profile,
  running: ProfileRuntime | undefined,
  principal: Principal | undefined,
): Profile['servers'] {
  if (principal === undefined) return profile.servers;
  const access = running?.access ?? createAccess({ profile, policy: { deny: [] } });
  const own = narrowAccess(access, principal);
  return profile.servers.filter(({ name }) => own.allowsServer(name));
}

/** Returns the shell command that checks a server. Only admins see the paths of config files. */
function checkOf(config: Config, { name }: Profile, principal: Principal | undefined): string {
  const files = principal?.admin === false ? [] : configOptions(config);
  const options = [...files, ...profileOption(config, name)];
  return ['mcpx tools', ...options].join(' ');
}

function profileOption(config: Config, name: string): string[] {
  return mainProfile({ profiles: config.profiles })?.name === name ? [] : [`--profile ${name}`];
}

function serverStatus(
  spec: Profile['servers'][number],
  running: ProfileRuntime | undefined,
  { principal, check }: { principal: Principal | undefined; check: string },
): ServerStatus {
  const entry = running?.catalog.server(spec.name);
  const state = running?.pool.get(spec.name)?.state ?? { kind: 'idle' };
  const tools = running === undefined ? 0 : visibleTools(entry, accessOf(running, principal));
  return {
    name: spec.name,
    ...(spec.title && { title: spec.title }),
    type: spec.type,
    ...(spec.disabled ? { state: 'disabled' } : describeState(state, entry)),
    ...stateText({ spec, state, entry, running: running !== undefined, tools, check: `${check} ${spec.name}` }),
    tools,
  };
}

function describeState(
  state: ConnectionState,
  entry: ServerEntry | undefined,
): Pick<ServerStatus, 'state' | 'since' | 'nextTry' | 'reason'> {
  const failure = entry?.listing.kind === 'failed' ? messageOf(entry.listing.error) : undefined;
  const unanswered = entry === undefined ? [] : unansweredLists(entry.offer);
  const lists = [...(failure === undefined ? [] : [failure]), ...unanswered].join('; ');
  const reason = 'reason' in state ? state.reason : lists;
  return {
    state: state.kind,
    ...('since' in state && { since: new Date(state.since).toISOString() }),
    ...(state.kind === 'backoff' && !state.resting && { nextTry: new Date(state.until).toISOString() }),
    ...(reason && { reason }),
  };
}

function visibleTools(entry: ServerEntry | undefined, access: Access): number {
  const seen = (entry?.offer.tools ?? []).filter(({ tool }) =>
    access.allows({ server: entry?.name ?? '', kind: 'tool', name: tool.name }),
  );
  return seen.length;
}

/** The maximum number of running calls in the report. */
const MAX_LIVE = 100;

function callCounts({ stats, live }: Described['counts'], principal: Principal | undefined): Status['calls'] {
  const { calls, errors } = stats.snapshot();
  const seen = live.filter((call) => maySeeCall(principal, call));
  return { calls, errors, live: seen.slice(0, MAX_LIVE).map(liveCall) };
}
