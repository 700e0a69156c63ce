/** Logging: one line per event on stderr, as text or JSON, and into a file where one is set; stdout is never touched. */
import { messageOf } from '../errors.ts';
import { escapeInvisible } from '../invisible.ts';
import { gather } from './gather.ts';
import { appendBounded, type Bounds } from './rotate.ts';

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
  /** Lines are appended here as well, within the bounds. */
  file?: string | null;
  /** Where lines go, each at once; stderr unless a test says otherwise. */
  write?: (line: string) => void;
}

const RANK = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 } as const satisfies Record<LogLevel, number>;

export function createLog(options: LogOptions = {}): Log {
  const rank = RANK[options.level ?? 'info'];
  const format = options.format === 'json' ? jsonLine : textLine;
  const write = options.write ?? writeError;
  const keep = options.file ? keeper(options.file, options, (said) => write(format(said))) : () => undefined;
  // Several lines in one write: a busy gateway has thousands a second.
  const lines = gather<Said>((said) => {
    process.off('exit', lines.flush);
    const text = said.map(format).join('');
    write(text);
    keep(text);
  });

  const emit = (level: keyof Log) => (message: string, fields?: LogFields) => {
    if (RANK[level] > rank) return;
    // What is left is written at the end of the process.
    if (lines.isEmpty) process.on('exit', lines.flush);
    lines.add({ at: Date.now(), level, message, fields });
    // What went wrong may be the last thing that is said.
    if (options.write !== undefined || RANK[level] < RANK.info) lines.flush();
  };
  return { error: emit('error'), warn: emit('warn'), info: emit('info'), debug: emit('debug') };
}

/** For callers that have nobody to tell. */
export const SILENT: Log = createLog({ level: 'silent' });

function writeError(lines: string): void {
  process.stderr.write(lines);
}

export interface Said {
  /** Epoch ms. */
  at: number;
  level: keyof Log;
  message: string;
  fields: LogFields | undefined;
}

/** What is ordinary as a whole is so in all its parts, and nearly every line is. */
function textLine(said: Said): string {
  const line = `mcpx ${said.level}: ${said.message}${tailOf(said.fields, quick)}`;
  return `${new Date(said.at).toISOString()} ${ORDINARY.test(line) ? line : carefulLine(said)}\n`;
}

/** A message of several lines is indented from the second on, so that none of them looks like another message. */
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

/** A line of the JSON format, also for text that does not come from the log. */
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

/** A full disk or a missing folder must not stop the proxy: stderr has the lines, and is told once what is wrong with the file. */
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
