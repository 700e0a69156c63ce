/** What happened to calls since the start: counts and times per server, in memory. */
import type { CallRecord } from './observer.ts';

export interface ServerStats {
  calls: number;
  errors: number;
  /** Sum over all calls. */
  ms: number;
}

export interface Stats {
  record(call: Pick<CallRecord, 'server' | 'ms' | 'outcome'>): void;
  snapshot(): { calls: number; errors: number; servers: Record<string, ServerStats> };
}

export function createStats(): Stats {
  const servers = new Map<string, ServerStats>();
  return {
    record({ server, ms, outcome }) {
      // What nobody may use does not exist, and is not counted either.
      if (outcome === 'denied') return;
      const entry = servers.get(server) ?? { calls: 0, errors: 0, ms: 0 };
      if (entry.calls === 0) servers.set(server, entry);
      entry.calls += 1;
      entry.ms += ms;
      if (outcome !== 'ok') entry.errors += 1;
    },
    snapshot() {
      const all = [...servers.values()];
      return {
        calls: sum(all, 'calls'),
        errors: sum(all, 'errors'),
        servers: Object.fromEntries(
          [...servers].map(([name, entry]) => [name, { ...entry, ms: Math.round(entry.ms) }]),
        ),
      };
    },
  };
}

function sum(entries: ServerStats[], field: 'calls' | 'errors'): number {
  return entries.reduce((total, entry) => total + entry[field], 0);
}
