/** Who is told what happens: counts, the audit log, and listeners, each of which hears what it may know. */
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import type { LiveCall, LiveEvent, Status } from '../listen/gateway.ts';
import { type Audit, type AuditOptions, createAudit } from '../observe/audit.ts';
import type { Family } from '../observe/exposition.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, DENIED, type Metrics } from '../observe/metrics.ts';
import { type Call, createObserver, type Happening, type Observer } from '../observe/observer.ts';
import { processFamilies } from '../observe/process.ts';
import { createStats, type Stats } from '../observe/stats.ts';
import { mayUseProfile, type Principal } from '../policy/auth.ts';
import { VERSION } from '../version.ts';
import { accessOf, type Running } from './running.ts';

export interface Counts {
  stats: Stats;
  /** Calls under way, the oldest first. */
  live: Call[];
  metrics: Metrics;
}

export interface Observed {
  observer: Observer;
  /** Of everything that happened so far. */
  counts(): Counts;
  /** Opens the audit log that the settings name, in place of the one before; throws where it cannot be written. */
  audit(settings: Settings['audit'], redact?: AuditOptions['redact']): void;
  /** Problems that a person has to repair: the audit log cannot be written. */
  problems(): string[];
  /** Why nothing may be called: every call has to be written down, and cannot be. */
  refusal(): McpxError | undefined;
  close(): void;
}

export function createObserved(log: Log): Observed {
  const observer = createObserver();
  const stats = createStats();
  const metrics = createMetrics();
  let endAudit = (): void => undefined;
  let audit: Audit | undefined;
  let required = false;
  observer.tally((happening) => {
    if (happening.type === 'call_ended') stats.record(happening.call);
    metrics.hear(happening);
  });
  return {
    observer,
    counts() {
      observer.settle();
      return { stats, metrics, live: observer.underWay() };
    },
    audit(settings, redact) {
      const { file, values } = settings;
      const next = file === null ? undefined : createAudit({ file, values, redact, log });
      required = settings.required;
      audit = next;
      endAudit();
      endAudit = next === undefined ? () => undefined : heardBy(next, observer);
    },
    problems() {
      const problem = audit?.problem();
      return problem === undefined ? [] : [problem];
    },
    refusal: () => (required ? unaudited(audit?.problem()) : undefined),
    close() {
      observer.settle();
      endAudit();
    },
  };
}

function unaudited(problem: string | undefined): McpxError | undefined {
  if (problem === undefined) return undefined;
  return new McpxError('refused', `the call did not run: ${problem}`, {
    hint: 'make room or correct "audit.file"; "audit.required": false in the config lets calls run without it',
  });
}

/** Who relies on an audit log is told at once. Returns what ends it. */
function heardBy(audit: Audit, observer: Observer): () => void {
  const leave = observer.subscribe(audit.hear);
  return () => {
    leave();
    audit.close();
  };
}

/** A happening as a principal may see it; undefined for what is not for it. */
export function seenBy(
  principal: Principal | undefined,
  happening: Happening,
  running: ReadonlyMap<string, Running>,
): LiveEvent | undefined {
  if (happening.type === 'visit' || happening.type === 'admin') return undefined;
  const trusted = seesAll(principal);
  // Why a reload failed quotes the config.
  if (happening.type === 'reload') return trusted ? happening : { type: 'reload', ok: happening.ok };
  if (happening.type === 'state' || happening.type === 'lists') {
    return maySeeServer(principal, happening, running) ? happening : undefined;
  }
  if (!maySeeCall(principal, happening.call)) return undefined;
  if (happening.type === 'call_began') return { type: 'call_began', call: liveCall(happening.call) };
  const { outcome, reason, ms } = happening.call;
  if (outcome === 'denied' && !trusted) return undefined;
  return { type: 'call_ended', call: { ...liveCall(happening.call), outcome, reason, ms: Math.round(ms) } };
}

/** A server of which a token may use nothing is as good as missing. */
function maySeeServer(
  principal: Principal | undefined,
  { profile, server }: { profile: string; server: string },
  running: ReadonlyMap<string, Running>,
): boolean {
  if (principal === undefined) return true;
  const found = running.get(profile);
  return found !== undefined && mayUseProfile(principal, profile) && accessOf(found, principal).allowsServer(server);
}

/** A token sees its own calls; the admin, and everybody where there are no tokens, sees all. */
export function maySeeCall(principal: Principal | undefined, call: Call): boolean {
  return seesAll(principal) || call.principal === principal?.name;
}

/** Who is told what others do, and what nobody may use. */
export function seesAll(principal: Principal | undefined): boolean {
  return principal === undefined || principal.admin;
}

/** Without its values. */
export function liveCall({ id, at, profile, principal, kind, server, name, request }: Call): LiveCall {
  return { id: String(id), at: new Date(at).toISOString(), profile, token: principal, kind, server, name, request };
}

const STATES = ['idle', 'connecting', 'ready', 'backoff', 'closed', 'disabled'];

export interface Measured extends Pick<Counts, 'metrics' | 'live'> {
  running: ReadonlyMap<string, Running>;
  status: Status;
}

/** The numbers of what a principal may use. */
export function metricsFor(principal: Principal | undefined, measured: Measured): Family[] {
  const { metrics, live, running, status } = measured;
  const visible = ({ profile, server, tool }: { profile: string; server: string; tool: string }) => {
    const found = running.get(profile);
    if (principal === undefined) return true;
    if (found === undefined || !mayUseProfile(principal, profile)) return false;
    return accessOf(found, principal).allows({ server, kind: 'tool', name: tool });
  };
  return [
    {
      ...{ name: 'mcpx_build_info', type: 'gauge', help: 'The version that runs.' },
      samples: [{ labels: { version: VERSION }, value: 1 }],
    },
    // How often something was denied would tell a token that it is there.
    ...metrics.families(live.length, visible).filter(({ name }) => name !== DENIED || seesAll(principal)),
    {
      ...{ name: 'mcpx_upstream_state', type: 'gauge', help: '1 for the state that a server is in.' },
      samples: status.profiles.flatMap(({ name: profile, servers }) =>
        servers.flatMap(({ name: server, state }) =>
          STATES.map((one) => ({ labels: { profile, server, state: one }, value: one === state ? 1 : 0 })),
        ),
      ),
    },
    {
      ...{ name: 'mcpx_tokens_saved', type: 'gauge', help: `Tokens saved so far, ${status.savings.method}.` },
      samples: Object.entries(status.savings.tokens).map(([by, value]) => ({ labels: { by }, value })),
    },
    ...processFamilies(),
  ];
}
