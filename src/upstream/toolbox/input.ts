/** Reads and checks the arguments of built-in tools; invalid ones cause a clear error message. */
import { McpxError } from '../../errors.ts';

type Args = Record<string, unknown>;

/** The maximum length of a text argument in UTF-16 units. */
export const MAX_TEXT = 1_000_000;
/** The maximum depth of a JSON argument. */
export const MAX_DEPTH = 200;

export function rejectInput(message: string, hint?: string): never {
  throw new McpxError('arguments', message, { hint });
}

export function readText(args: Args, key: string, max = MAX_TEXT): string {
  const value = args[key];
  if (typeof value !== 'string') rejectInput(`"${key}" must be a string`);
  if (value.length > max) rejectInput(`"${key}" has ${value.length} characters; the limit is ${max}`);
  return value;
}

export function optionalText(args: Args, key: string, max = MAX_TEXT): string | undefined {
  return args[key] === undefined ? undefined : readText(args, key, max);
}

export function readNumber(args: Args, key: string, fallback?: number): number {
  const value = args[key] ?? fallback;
  if (typeof value !== 'number' || !Number.isFinite(value)) rejectInput(`"${key}" must be a finite number`);
  return value;
}

export function readInteger(args: Args, key: string, range: { min: number; max: number; fallback: number }): number {
  const value = readNumber(args, key, range.fallback);
  if (!Number.isInteger(value) || value < range.min || value > range.max) {
    rejectInput(`"${key}" must be a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

export function readFlag(args: Args, key: string): boolean {
  const value = args[key];
  if (value !== undefined && typeof value !== 'boolean') rejectInput(`"${key}" must be true or false`);
  return value === true;
}

export function readChoice<T extends string>(args: Args, key: string, choices: readonly T[], fallback?: T): T {
  const value = args[key] ?? fallback;
  const found = choices.find((choice) => choice === value);
  if (found === undefined) rejectInput(`"${key}" must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`);
  return found;
}

/** Reads a JSON value of limited depth; a text that is JSON is parsed, any other text is a string value. */
export function readJson(args: Args, key: string): unknown {
  const given = args[key];
  if (given === undefined) rejectInput(`"${key}" is missing`);
  const value = typeof given === 'string' ? parseOrKeep(readText(args, key)) : given;
  if (deeperThan(value, MAX_DEPTH)) rejectInput(`"${key}" is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Text that begins like JSON causes a parse error; any other text is a plain string.
    if (/^\s*[[{]/.test(text)) rejectInput(`the text is not valid JSON: ${(error as Error).message}`);
    return text;
  }
}

function deeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((child) => deeperThan(child, limit - 1));
}
