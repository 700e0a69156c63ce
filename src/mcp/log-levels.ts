/** Log levels of MCP, ordered by severity. */

/** Log levels of MCP, from the least to the most severe. */
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export type LogLevel = (typeof LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LEVELS.some((level) => level === value);
}

/** Returns the severity of a level; an unknown level, such as `warn`, has the lowest. */
export function levelRank(level: unknown): number {
  return Math.max(0, LEVELS.indexOf(level as LogLevel));
}
