/** The audit log: one JSON line for every call, refusal and change, in files that only their owner reads. No arguments, no results, unless asked. */
import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { ensureFolder } from '../files.ts';
import type { Log } from './log.ts';
import type { CallRecord, Happening, Visit } from './observer.ts';

export interface AuditOptions {
  file: string;
  /** Writes arguments and results too. */
  values: boolean;
  log: Pick<Log, 'error'>;
  /** Bytes of one file (default 16 MiB), and how many older ones are kept (default 5). */
  maxBytes?: number;
  keep?: number;
}

export interface Audit {
  hear(happening: Happening): void;
  /** Writes what is still waiting. */
  close(): void;
}

const MAX_BYTES = 16 * 1024 * 1024;
const KEEP = 5;
/** Characters of the arguments, and of the result. */
const MAX_VALUES = 64 * 1024;
/** ms between two complaints about a file that cannot be written. */
const COMPLAIN = 60_000;

/** Throws McpxError('config') when the file cannot be written: who asks for an audit relies on it. */
export function createAudit({ file, values, log, maxBytes = MAX_BYTES, keep = KEEP }: AuditOptions): Audit {
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
      rotate(file, Buffer.byteLength(text), { maxBytes, keep });
      appendFileSync(file, text, { mode: 0o600 });
    } catch (error) {
      if (performance.now() - complained < COMPLAIN) return;
      complained = performance.now();
      log.error(`the audit log cannot be written: ${messageOf(error)}`);
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

/** Full files get names of their own, so that two processes with one log overwrite nothing. */
function rotate(file: string, more: number, { maxBytes, keep }: { maxBytes: number; keep: number }): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size + more <= maxBytes) return;
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
  renameSync(file, `${file}.${stamp}-${process.pid}`);
  const older = readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.`) && /\.\d{8}T\d+Z-\d+$/.test(name))
    .sort();
  for (const name of older.slice(0, Math.max(0, older.length - keep))) rmSync(join(dirname(file), name));
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
