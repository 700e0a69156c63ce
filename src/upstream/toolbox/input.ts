/** Reads and checks the arguments of built-in tools; invalid ones cause a clear error message. */
import { McpxError } from '../../errors.ts';

type Args = Record<string, unknown>;

/** The maximum length of a text argument in UTF-16 units. */
const MAX_TEXT = 1_000_000;

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
