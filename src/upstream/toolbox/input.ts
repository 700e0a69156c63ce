/** Reads a built-in tool's arguments: a tool called without a check in front of it still answers with a clear sentence. */
import { McpxError } from '../../errors.ts';

type Args = Record<string, unknown>;

/** Longest text a built-in tool takes, in UTF-16 units. */
export const MAX_TEXT = 1_000_000;
/** Deepest JSON value a built-in tool walks. */
export const MAX_DEPTH = 200;

export function refuse(message: string, hint?: string): never {
  throw new McpxError('arguments', message, { hint });
}

export function readText(args: Args, key: string, max = MAX_TEXT): string {
  const value = args[key];
  if (typeof value !== 'string') refuse(`"${key}" must be a string`);
  if (value.length > max) refuse(`"${key}" has ${value.length} characters; the limit is ${max}`);
  return value;
}

export function optionalText(args: Args, key: string, max = MAX_TEXT): string | undefined {
  return args[key] === undefined ? undefined : readText(args, key, max);
}

export function readNumber(args: Args, key: string, fallback?: number): number {
  const value = args[key] ?? fallback;
  if (typeof value !== 'number' || !Number.isFinite(value)) refuse(`"${key}" must be a finite number`);
  return value;
}

export function readInteger(args: Args, key: string, range: { min: number; max: number; fallback: number }): number {
  const value = readNumber(args, key, range.fallback);
  if (!Number.isInteger(value) || value < range.min || value > range.max) {
    refuse(`"${key}" must be a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

export function readFlag(args: Args, key: string): boolean {
  const value = args[key];
  if (value !== undefined && typeof value !== 'boolean') refuse(`"${key}" must be true or false`);
  return value === true;
}

export function readChoice<T extends string>(args: Args, key: string, choices: readonly T[], fallback?: T): T {
  const value = args[key] ?? fallback;
  const found = choices.find((choice) => choice === value);
  if (found === undefined) refuse(`"${key}" must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`);
  return found;
}

/** A JSON value of bounded depth; text that is JSON is taken as the JSON it holds, other text is itself a value. */
export function readJson(args: Args, key: string): unknown {
  const given = args[key];
  if (given === undefined) refuse(`"${key}" is missing`);
  const value = typeof given === 'string' ? parseOrKeep(readText(args, key)) : given;
  if (deeperThan(value, MAX_DEPTH)) refuse(`"${key}" is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Text that begins like JSON was meant as JSON: say what is wrong with it. Anything else is a plain string.
    if (/^\s*[[{]/.test(text)) refuse(`the text is not valid JSON: ${(error as Error).message}`);
    return text;
  }
}

function deeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((child) => deeperThan(child, limit - 1));
}
