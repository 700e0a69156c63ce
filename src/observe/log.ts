/** Logging: one line per event on stderr, as text or JSON, and in a file if one is configured; never writes to stdout. */
import { messageOf } from '../errors.ts';
import { escapeInvisible } from '../invisible-characters.ts';
import { createBatcher } from './batcher.ts';
import { appendBounded, type Bounds } from './log-rotation.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';
export type LogFields = Record<string, unknown>;

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export interface LogOptions extends Bounds {
  level?: LogLevel;
  format?: 'text' | 'json';
  /** A file to which lines are appended as well, within the bounds; null or absent for none. */
  file?: string | null;
  /** Receives each line at once, for tests; the default is stderr. */
  write?: (line: string) => void;
}

const RANK = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 } as const satisfies Record<LogLevel, number>;

export function createLog(options: LogOptions = {}): Log {
  const rank = RANK[options.level ?? 'info'];
  const format = options.format === 'json' ? jsonLine : textLine;
  const write = options.write ?? writeError;
  const keep = options.file ? keeper(options.file, options, (said) => write(format(said))) : () => undefined;
  // Several lines share one write, because a busy gateway logs thousands of lines per second.
  const lines = createBatcher<Said>((said) => {
    process.off('exit', lines.flush);
    const text = said.map(format).join('');
    write(text);
    keep(text);
  });

  const emit = (level: keyof Log) => (message: string, fields?: LogFields) => {
    if (RANK[level] > rank) return;
    // Pending lines are written when the process exits.
    if (lines.isEmpty) process.on('exit', lines.flush);
    lines.add({ at: Date.now(), level, message, fields });
    // Errors and warnings are written at once, because they may be the last lines before a crash.
    if (options.write !== undefined || RANK[level] < RANK.info) lines.flush();
  };
  return { error: emit('error'), warn: emit('warn'), info: emit('info'), debug: emit('debug') };
}

/** A log that drops every line. */
export const SILENT: Log = createLog({ level: 'silent' });

function writeError(lines: string): void {
  process.stderr.write(lines);
}

export interface Said {
  /** Epoch milliseconds. */
  at: number;
  level: keyof Log;
  message: string;
  fields: LogFields | undefined;
}

/**
 * Formats one line as text. If the whole line is printable ASCII, as nearly every line is, its parts need no escaping.
 */
function textLine(said: Said): string {
  const line = `mcpx ${said.level}: ${said.message}${tailOf(said.fields, quick)}`;
  return `${new Date(said.at).toISOString()} ${ORDINARY.test(line) ? line : carefulLine(said)}\n`;
}

/**
 * Escapes a line. A message of several lines is indented from the second line on, so that none of them looks like
 * another message.
 */
function carefulLine({ level, message, fields }: Said): string {
  return `mcpx ${level}: ${escapeInvisible(message).replaceAll('\n', '\n  ')}${tailOf(fields, plain)}`;
}

function tailOf(fields: LogFields = {}, write: (value: unknown) => string): string {
  let tail = '';
  for (const key of Object.keys(fields)) if (fields[key] !== undefined) tail += ` ${key}=${write(fields[key])}`;
  return tail;
}

function quick(value: unknown): string {
  return typeof value === 'string' && !value.includes(' ') ? value : plain(value);
}

/** Formats one line as JSON, also for text that does not come from the log. */
export function jsonLine({ at, level, message, fields }: Said): string {
  return `${JSON.stringify({ time: new Date(at).toISOString(), level, message, ...fields })}\n`;
}

const ORDINARY = /^[\x20-\x7e]*$/;
const WORD = /^[\x21-\x7e]+$/;

function plain(value: unknown): string {
  if (typeof value === 'number') return `${value}`;
  if (typeof value === 'string' && WORD.test(value)) return value;
  const text = escapeInvisible(typeof value === 'string' ? value : JSON.stringify(value));
  return /\s/.test(text) ? JSON.stringify(text) : text;
}

/**
 * Returns a function that appends lines to the log file. A full disk or a missing folder must not stop the proxy:
 * stderr gets every line, and one warning about the file.
 */
function keeper(file: string, { maxBytes, keep }: Bounds, complain: (said: Said) => void): (lines: string) => void {
  let complained = false;
  return (lines) => {
    try {
      appendBounded(file, lines, { maxBytes, keep });
    } catch (error) {
      if (complained) return;
      complained = true;
      const message = `the log file ${messageOf(error)}`;
      complain({ at: Date.now(), level: 'warn', message, fields: undefined });
    }
  };
}
