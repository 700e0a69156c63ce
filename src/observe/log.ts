/** Logging: one line per event on stderr, as text or JSON, and into a file where one is set; stdout is never touched. */
import { appendFileSync } from 'node:fs';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';
export type LogFields = Record<string, unknown>;

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  level?: LogLevel;
  format?: 'text' | 'json';
  /** Lines are appended here as well. */
  file?: string | null;
  /** Where lines go; stderr unless a test says otherwise. */
  write?: (line: string) => void;
}

const RANK = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 } as const satisfies Record<LogLevel, number>;

export function createLog(options: LogOptions = {}): Log {
  const rank = RANK[options.level ?? 'info'];
  const format = options.format === 'json' ? jsonLine : textLine;
  const write = options.write ?? ((line: string) => process.stderr.write(line));
  const file = options.file ?? undefined;

  const emit = (level: keyof Log) => (message: string, fields?: LogFields) => {
    if (RANK[level] > rank) return;
    const line = format(level, message, fields);
    write(line);
    if (file !== undefined) appendTo(file, line);
  };
  return { error: emit('error'), warn: emit('warn'), info: emit('info'), debug: emit('debug') };
}

/** For callers that have nobody to tell. */
export const SILENT: Log = createLog({ level: 'silent' });

function textLine(level: string, message: string, fields: LogFields = {}): string {
  const tail = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${plain(value)}`);
  return `mcpx ${level}: ${message}${tail.join('')}\n`;
}

function jsonLine(level: string, message: string, fields: LogFields = {}): string {
  return `${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`;
}

function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /\s/.test(text) ? JSON.stringify(text) : text;
}

function appendTo(file: string, line: string): void {
  try {
    appendFileSync(file, line, { mode: 0o600 });
  } catch {
    // A full disk or a missing folder must not stop the proxy; stderr has the line.
  }
}
