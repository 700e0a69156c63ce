/** The audit log: one JSON line for every call, refusal and change, in files that only their owner reads. No arguments, no results, unless asked. */
import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { codeOf, ensureFolder } from '../files.ts';
import type { Log } from './log.ts';
import type { CallRecord, Happening, Visit } from './observer.ts';
import { AppendError, appendBounded, type Bounds } from './rotate.ts';

export interface AuditOptions extends Bounds {
  file: string;
  /** Writes arguments and results too. */
  values: boolean;
  /** Takes the secrets of the server of a call out of JSON. */
  redact?: ((call: CallRecord, json: string) => string) | undefined;
  log: Pick<Log, 'error'>;
}

export interface Audit {
  hear(happening: Happening): void;
  /** Why the file cannot be written just now; tries once more before it says so. */
  problem(): string | undefined;
  /** Writes what is still waiting. */
  close(): void;
}

/** Characters of the arguments, and of the result. */
const MAX_VALUES = 64 * 1024;
/** ms between two complaints about a file that cannot be written. */
const COMPLAIN = 60_000;
/** ms between two tries to write what could not be written. */
const RETRY = 5000;
/** Bytes that wait for a file that cannot be written; lines beyond are counted. */
const MAX_WAITING = 1024 * 1024;

/** Throws McpxError('config') when the file cannot be written: who asks for an audit relies on it. */
export function createAudit({ file, values, redact = (_, json) => json, log, ...bounds }: AuditOptions): Audit {
  let waiting = '';
  /** Of earlier tries. */
  let unwritten = NOTHING;
  let dropped = 0;
  let scheduled = false;
  let failure: string | undefined;
  let complained = Number.NEGATIVE_INFINITY;
  let retry: NodeJS.Timeout | undefined;
  open(file);

  const complain = (why: string) => {
    if (performance.now() - complained < COMPLAIN) return;
    complained = performance.now();
    log.error(`the audit log "${file}" ${why}`);
  };
  const failed = (error: unknown) => {
    complain(messageOf(error));
    if (!(error instanceof AppendError)) return;
    unwritten = Buffer.from(error.unwritten);
    failure = `the audit log "${file}" ${error.message}`;
    retry ??= setTimeout(flush, RETRY).unref();
  };
  const flush = () => {
    scheduled = false;
    clearTimeout(retry);
    retry = undefined;
    const bytes = Buffer.concat([unwritten, Buffer.from(waiting)]);
    if (bytes.length === 0) return;
    waiting = '';
    unwritten = NOTHING;
    try {
      append(file, bytes, bounds);
    } catch (error) {
      failed(error);
      return;
    }
    if (failure !== undefined) log.error(`the audit log "${file}" is written again${lost(dropped)}`);
    failure = undefined;
    complained = Number.NEGATIVE_INFINITY;
    if (dropped === 0) return;
    waiting = lineOf({ type: 'lost', lines: dropped });
    dropped = 0;
    flush();
  };

  return {
    hear(happening) {
      const entry = entryOf(happening, values ? redact : undefined);
      if (entry === undefined) return;
      if (unwritten.length + waiting.length > MAX_WAITING) dropped += 1;
      else waiting += lineOf(entry);
      if (!scheduled) setImmediate(flush);
      scheduled = true;
    },
    problem() {
      if (failure !== undefined) flush();
      return failure;
    },
    close() {
      flush();
      clearTimeout(retry);
    },
  };
}

const NOTHING = Buffer.alloc(0);

function lineOf(entry: Record<string, unknown>): string {
  return `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`;
}

function lost(lines: number): string {
  return lines === 0 ? '' : `, ${lines} lines are lost`;
}

/** Somebody may have removed the folder: it is made again. */
function append(file: string, bytes: Buffer, bounds: Bounds): void {
  try {
    appendBounded(file, bytes, bounds);
  } catch (error) {
    if (!(error instanceof AppendError) || codeOf(error.cause) !== 'ENOENT') throw error;
    try {
      ensureFolder(dirname(file));
    } catch (cause) {
      throw new AppendError(bytes, cause);
    }
    appendBounded(file, bytes, bounds);
  }
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

function entryOf(happening: Happening, values: AuditOptions['redact']): Record<string, unknown> | undefined {
  if (happening.type === 'call_ended') return callEntry(happening.call, values);
  if (happening.type === 'visit') return visitEntry(happening.visit);
  if (happening.type === 'reload') return { type: 'reload', ok: happening.ok };
  if (happening.type === 'admin') {
    const { type, ...entry } = happening;
    return { type, ...entry };
  }
  return undefined;
}

function callEntry(call: CallRecord, values: AuditOptions['redact']): Record<string, unknown> {
  const shown = (value: unknown) => values && bounded(value, (json) => values(call, json));
  const { profile, principal, kind, server, name, method, request, outcome, reason } = call;
  return {
    type: 'call',
    ...{ request, profile, token: principal, kind, server, name, method },
    decision: outcome === 'denied' ? 'denied' : 'allowed',
    ...{ outcome, reason, ms: Math.round(call.ms * 10) / 10 },
    ...(values && { arguments: shown(call.values?.arguments), result: shown(call.values?.result) }),
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
function bounded(value: unknown, redact: (json: string) => string): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) return value;
  const safe = redact(text);
  if (safe.length > MAX_VALUES) return `${safe.slice(0, MAX_VALUES)}…`;
  return safe === text ? value : parsed(safe);
}

/** Where a secret was more than one text, no JSON may be left. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
