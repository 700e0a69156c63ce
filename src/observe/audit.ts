/** The audit log: one JSON line for every call, refusal and change, in files that only their owner reads. No arguments, no results, unless asked. */
import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { ensureFolder } from '../files.ts';
import type { Log } from './log.ts';
import type { CallRecord, Happening, Visit } from './observer.ts';
import { appendBounded, type Bounds } from './rotate.ts';

export interface AuditOptions extends Bounds {
  file: string;
  /** Writes arguments and results too. */
  values: boolean;
  log: Pick<Log, 'error'>;
}

export interface Audit {
  hear(happening: Happening): void;
  /** Writes what is still waiting. */
  close(): void;
}

/** Characters of the arguments, and of the result. */
const MAX_VALUES = 64 * 1024;
/** ms between two complaints about a file that cannot be written. */
const COMPLAIN = 60_000;

/** Throws McpxError('config') when the file cannot be written: who asks for an audit relies on it. */
export function createAudit({ file, values, log, ...bounds }: AuditOptions): Audit {
  let waiting = '';
  let scheduled = false;
  let complained = Number.NEGATIVE_INFINITY;
  open(file);

  const flush = () => {
    scheduled = false;
    const text = waiting;
    waiting = '';
    if (text === '') return;
    try {
      appendBounded(file, text, bounds);
    } catch (error) {
      if (performance.now() - complained < COMPLAIN) return;
      complained = performance.now();
      log.error(`the audit log ${messageOf(error)}`);
    }
  };

  return {
    hear(happening) {
      const entry = entryOf(happening, values);
      if (entry === undefined) return;
      waiting += `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`;
      if (!scheduled) setImmediate(flush);
      scheduled = true;
    },
    close: flush,
  };
}

function open(file: string): void {
  try {
    ensureFolder(dirname(file));
    appendFileSync(file, '', { mode: 0o600 });
  } catch (cause) {
    throw new McpxError('config', `the audit log "${file}" cannot be written: ${messageOf(cause)}`, {
      hint: 'set "audit.file" to a file that you may write',
      cause,
    });
  }
}

function entryOf(happening: Happening, values: boolean): Record<string, unknown> | undefined {
  if (happening.type === 'call_ended') return callEntry(happening.call, values);
  if (happening.type === 'visit') return visitEntry(happening.visit);
  if (happening.type === 'reload') return { type: 'reload', ok: happening.ok };
  if (happening.type === 'admin') {
    const { type, ...entry } = happening;
    return { type, ...entry };
  }
  return undefined;
}

function callEntry(call: CallRecord, values: boolean): Record<string, unknown> {
  const { profile, principal, kind, server, name, method, request, outcome, reason } = call;
  return {
    type: 'call',
    ...{ request, profile, token: principal, kind, server, name, method },
    decision: outcome === 'denied' ? 'denied' : 'allowed',
    ...{ outcome, reason, ms: Math.round(call.ms * 10) / 10 },
    ...(values && { arguments: bounded(call.values?.arguments), result: bounded(call.values?.result) }),
  };
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Requests that never became a call because whoever sent them may not. */
function visitEntry(visit: Visit): Record<string, unknown> | undefined {
  if (!REFUSALS.has(visit.status) && !visit.hidden) return undefined;
  const { request, method, path, status, principal, from } = visit;
  return { type: 'request', request, token: principal, from, method, path, decision: 'denied', status };
}

/** What is too long is kept as the beginning of its text. */
function bounded(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text !== undefined && text.length > MAX_VALUES ? `${text.slice(0, MAX_VALUES)}…` : value;
}
