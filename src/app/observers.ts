/** Sends events to counters, the audit log and subscribers; each subscriber gets only the events that its token may see. */
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import type { LiveCall, LiveEvent, Status } from '../listen/app-api.ts';
import { type Audit, type AuditOptions, createAudit } from '../observe/audit.ts';
import { createStats, type Stats } from '../observe/call-counts.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, type Metrics, UNREACHED } from '../observe/metrics.ts';
import { type Call, createObserver, type Happening, isUnreached, type Observer } from '../observe/observer.ts';
import { processFamilies } from '../observe/process-metrics.ts';
import type { Family } from '../observe/prometheus.ts';
import { accessOf } from '../policy/access.ts';
import { mayUseProfile, type Principal } from '../policy/auth.ts';
import { VERSION } from '../version.ts';
import type { ProfileRuntime } from './profile.ts';

export interface Counts {
  stats: Stats;
  /** Running calls, the oldest first. */
  live: Call[];
  metrics: Metrics;
}

export interface Observers {
  observer: Observer;
  /** Returns the counts of all events so far. */
  counts(): Counts;
  /** Opens the audit log that the settings name and closes the previous one. Throws if the file cannot be written. */
  audit(settings: Settings['audit'], redact?: AuditOptions['redact']): void;
  /** Returns problems that the operator has to fix, such as an audit log that cannot be written. */
  problems(): string[];
  /** Returns the error for every call while a required audit log cannot be written; undefined otherwise. */
  refusal(): McpxError | undefined;
  close(): void;
}

export function createObservers(log: Log): Observers {
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
      return { stats, metrics, live: observer.inFlight() };
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
    hint: 'free disk space or correct "audit.file"; with "audit.required": false in the config, calls run without an audit log',
  });
}

/** Subscribes the audit log to events. Returns a function that unsubscribes and closes it. */
function heardBy(audit: Audit, observer: Observer): () => void {
  const leave = observer.subscribe(audit.hear);
  return () => {
    leave();
    audit.close();
  };
}

/** Returns the event as a principal may see it; undefined if it may not see it. */
export function seenBy(
  principal: Principal | undefined,
  happening: Happening,
  running: ReadonlyMap<string, ProfileRuntime>,
): LiveEvent | undefined {
  if (happening.type === 'exchange' || happening.type === 'admin') return undefined;
  const trusted = seesAll(principal);
  // The message of a failed reload quotes the config.
  if (happening.type === 'reload') return trusted ? happening : { type: 'reload', ok: happening.ok };
  if (happening.type === 'state' || happening.type === 'lists') {
    return maySeeServer(principal, happening, running) ? happening : undefined;
  }
  if (!maySeeCall(principal, happening.call)) return undefined;
  if (happening.type === 'call_began') return { type: 'call_began', call: liveCall(happening.call) };
  const { outcome, reason, ms } = happening.call;
  if (isUnreached(outcome) && !trusted) return undefined;
  const shown = { outcome: trusted && happening.call.denied ? 'denied' : outcome, reason };
  return { type: 'call_ended', call: { ...liveCall(happening.call), ...shown, ms: Math.round(ms) } };
}

/** True if a principal may see a server. A token that may use nothing of a server does not see it. */
function maySeeServer(
  principal: Principal | undefined,
  { profile, server }: { profile: string; server: string },
  running: ReadonlyMap<string, ProfileRuntime>,
): boolean {
  if (principal === undefined) return true;
  const found = running.get(profile);
  return found !== undefined && mayUseProfile(principal, profile) && accessOf(found, principal).allowsServer(server);
}

/** True if a principal may see a call. A token sees its own calls; admins see all, and so does every client without tokens. */
export function maySeeCall(principal: Principal | undefined, call: Call): boolean {
  return seesAll(principal) || call.principal === principal?.name;
}

/** True if a principal may see the calls of others, denied calls, and those of missing targets. */
export function seesAll(principal: Principal | undefined): boolean {
  return principal === undefined || principal.admin;
}

/** Returns a call without its argument values. */
export function liveCall({ id, at, profile, principal, kind, server, name, request }: Call): LiveCall {
  return { id: String(id), at: new Date(at).toISOString(), profile, token: principal, kind, server, name, request };
}

const STATES = ['idle', 'connecting', 'ready', 'backoff', 'closed', 'disabled'];

export interface Measured extends Pick<Counts, 'metrics' | 'live'> {
  running: ReadonlyMap<string, ProfileRuntime>;
  status: Status;
}

/** Returns the metrics of the tools that a principal may use. */
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
      ...{ name: 'mcpx_build_info', type: 'gauge', help: 'The running version.' },
      samples: [{ labels: { version: VERSION }, value: 1 }],
    },
    // These counts would reveal to a token if a tool exists.
    ...metrics.families(live.length, visible).filter(({ name }) => !UNREACHED.has(name) || seesAll(principal)),
    {
      ...{ name: 'mcpx_upstream_state', type: 'gauge', help: '1 for the current state of a server, 0 for the others.' },
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
