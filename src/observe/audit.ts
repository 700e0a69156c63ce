/** The audit log: one JSON line per call, refusal and change, in files that only the owner can read. Arguments and results are written only if configured. */
import { accessSync, appendFileSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from '../errors.ts';
import { codeOf, ensureFolder } from '../files.ts';
import type { Log } from './log.ts';
import { AppendError, appendBounded, type Bounds } from './log-rotation.ts';
import type { CallRecord, Happening, HttpExchange } from './observer.ts';

export interface AuditOptions extends Bounds {
  file: string;
  /** True if arguments and results are written too. */
  values: boolean;
  /** Removes the secrets of a call's server from JSON. */
  redact?: ((call: CallRecord, json: string) => string) | undefined;
  log: Pick<Log, 'error'>;
}

export interface Audit {
  hear(happening: Happening): void;
  /** Returns why the file cannot be written at the moment, after one more attempt; undefined if it can. */
  problem(): string | undefined;
  /** Writes the pending lines. */
  close(): void;
}

/** Maximum characters of the arguments, and of the result. */
const MAX_VALUES = 64 * 1024;
/** Milliseconds between two log lines about a file that cannot be written. */
const COMPLAIN = 60_000;
/** Milliseconds between two attempts to write pending lines. */
const RETRY = 5000;
/** Bytes that are kept pending while the file cannot be written; lines beyond that are dropped and counted. */
const MAX_WAITING = 1024 * 1024;

/**
 * Throws McpxError('config') if the file cannot be written, because an operator who configures an audit relies on it.
 */
export function createAudit({ file, values, redact = (_, json) => json, log, ...bounds }: AuditOptions): Audit {
  let waiting = '';
  /** The bytes of earlier attempts. */
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

/** Appends bytes to the file; creates the folder again if it was removed. */
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
    throw unwritable(file, cause);
  }
}

function unwritable(file: string, cause: unknown): McpxError {
  return new McpxError('config', `the audit log "${file}" cannot be written: ${messageOf(cause)}`, {
    hint: 'set "audit.file" to a file that you may write',
    cause,
  });
}

/** Throws the error that `createAudit` would throw for this file, and creates nothing. */
export function checkAuditFile(file: string): void {
  try {
    if (existsSync(file)) closeSync(openSync(file, 'a'));
    else checkFolder(dirname(file));
  } catch (cause) {
    throw unwritable(file, cause);
  }
}

/** Throws if the folder cannot be written, or cannot be created. */
function checkFolder(folder: string): void {
  let existing = folder;
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing);
  accessSync(existing, constants.W_OK);
  if (!statSync(existing).isDirectory()) throw new Error(`"${existing}" is not a folder`);
}

function entryOf(happening: Happening, values: AuditOptions['redact']): Record<string, unknown> | undefined {
  if (happening.type === 'call_ended') return callEntry(happening.call, values);
  if (happening.type === 'exchange') return exchangeEntry(happening.exchange);
  if (happening.type === 'reload') return { type: 'reload', ok: happening.ok };
  if (happening.type === 'admin') {
    const { type, ...entry } = happening;
    return { type, ...entry };
  }
  return undefined;
}

function callEntry(call: CallRecord, values: AuditOptions['redact']): Record<string, unknown> {
  const shown = (value: unknown) => values && bounded(value, (json) => values(call, json));
  const { profile, principal, kind, server, name, method, request, reason } = call;
  const outcome = call.denied ? 'denied' : call.outcome;
  return {
    type: 'call',
    ...{ request, profile, token: principal, kind, server, name, method },
    decision: outcome === 'denied' ? 'denied' : 'allowed',
    ...{ outcome, reason, ms: Math.round(call.ms * 10) / 10 },
    ...(values && { arguments: shown(call.values?.arguments), result: shown(call.values?.result) }),
  };
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Returns the entry of a request that was refused before it became a call; undefined for any other request. */
function exchangeEntry(exchange: HttpExchange): Record<string, unknown> | undefined {
  if (!REFUSALS.has(exchange.status) && !exchange.hidden) return undefined;
  const { request, method, path, status, principal, from } = exchange;
  return { type: 'request', request, token: principal, from, method, path, decision: 'denied', status };
}

/** Returns the redacted value, or the beginning of its JSON if that is too long. */
function bounded(value: unknown, redact: (json: string) => string): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) return value;
  const safe = redact(text);
  if (safe.length > MAX_VALUES) return `${safe.slice(0, MAX_VALUES)}…`;
  return safe === text ? value : parsed(safe);
}

/**
 * Parses redacted JSON; returns the text if a redacted secret spanned several strings, so that no valid JSON is left.
 */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
