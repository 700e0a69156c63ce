/** The syntax of references: `{"$from": "0.items[0].id"}` or `"see {{0.url}}"` in the arguments of a call. */
import { McpxError } from '../../errors.ts';
import { isRecord } from '../../wire/message.ts';

/** A reference to earlier results: a path, or any JMESPath expression over them. */
export interface Reference {
  text: string;
  /** The results that it reads: a call by its number, a stored result by its id, `item` or `index` of an `each`. */
  roots: string[];
  /** The steps of a path, if the expression is no more than that. */
  path?: (string | number)[];
  /** A JMESPath expression over an object whose keys are the roots. */
  expression: string;
}

/** Maximum nesting depth of references in the arguments of a call, and characters of one inside a string. */
const MAX_DEPTH = 32;
const INSIDE = /(\\?)\{\{\s*([^{}\s][^{}]{0,300}?)\s*\}\}/g;

/** A step of a path: `.name`, `[0]` or `["any name"]`. */
const STEP = /^(?:\.([\p{L}\p{N}_$-]+)|\[(-?\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])/u;
/** The root at the beginning of an expression: a number, `item`, `index`, or the id of a stored result. */
const HEAD = /^(?:\d{1,3}(?![\w-])|[\w-]{1,40})(?=\s*(?:[.[|=!<>&+*/-]|$))/;
/** Strings, quoted names and literals, which hold no roots, or a number that begins an operand. */
const OPERAND =
  /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<![\w.\]"'`$@-])\d{1,3}(?![\w\]:-])(?!\s*[\]:])/g;

/** Reads a reference; returns undefined for text that cannot be one. */
export function readReference(text: string): Reference | undefined {
  const trimmed = text.trim();
  const head = HEAD.exec(trimmed)?.[0];
  const path = head === undefined ? undefined : readPath(trimmed.slice(head.length));
  const roots = new Set(head === undefined ? [] : [head]);
  const rest = trimmed.slice(head?.length ?? 0);
  const expression = rest.replace(OPERAND, (found) => {
    if (!/^\d/.test(found)) return found;
    roots.add(found);
    return rooted(found);
  });
  if (roots.size === 0) return undefined;
  const whole = head === undefined ? expression : rooted(head) + expression;
  return { text: trimmed, roots: [...roots], ...(path && { path }), expression: whole };
}

const rooted = (root: string) => `$.${JSON.stringify(root)}`;

function readPath(text: string): Reference['path'] {
  const path: (string | number)[] = [];
  let rest = text;
  for (let step = STEP.exec(rest); step !== null; step = STEP.exec(rest)) {
    const [whole, name, at, quoted] = step;
    path.push(at !== undefined ? Number(at) : (name ?? String(JSON.parse(quoted ?? '""'))));
    rest = rest.slice(whole.length);
  }
  return rest === '' ? path : undefined;
}

/** Returns the text of a reference, which is an object whose only key is `$from`. */
function textOf(value: unknown): string | undefined {
  if (!isRecord(value) || !Object.hasOwn(value, '$from') || Object.keys(value).length !== 1) return undefined;
  return typeof value.$from === 'string' ? value.$from : JSON.stringify(value.$from);
}

/** Reads the reference that a value must be; throws if it is none. */
export function requireReference(text: string): Reference {
  const reference = readReference(text);
  if (reference !== undefined) return reference;
  throw new McpxError('arguments', `${JSON.stringify(text)} is no reference`, {
    hint: 'begin with the number of an earlier call or the id of a kept result, such as {"$from": "0.items[0].id"}',
  });
}

/** False if a value certainly holds no reference; a fast check, because every call passes it. */
export function mayRefer(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return value.includes('{{') || value.includes('"$from"');
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.some((inner) => mayRefer(inner, depth + 1));
  return Object.hasOwn(value, '$from') || Object.values(value).some((inner) => mayRefer(inner, depth + 1));
}

/** Returns the references in a value. `isRoot` tells whether a string may refer to this root; other text is data. */
export function referencesIn(value: unknown, isRoot: (root: string) => boolean, depth = 0): Reference[] {
  if (typeof value === 'string') {
    return value.includes('{{') ? [...value.matchAll(INSIDE)].flatMap((found) => inside(found, isRoot) ?? []) : [];
  }
  const text = textOf(value);
  if (text !== undefined) return [requireReference(text)];
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((inner) => referencesIn(inner, isRoot, depth + 1));
}

function inside([, , text = '']: RegExpMatchArray, isRoot: (root: string) => boolean): Reference | undefined {
  const reference = readReference(text);
  return reference?.roots.every(isRoot) === true && HEAD.test(reference.text) ? reference : undefined;
}

/** The schema of an argument, as far as it is known. */
type Schema = unknown;

export interface Filling {
  /** Returns the value of a reference; with `asText`, as the server wrote it. */
  valueOf(reference: Reference, asText: boolean): unknown;
  isRoot(root: string): boolean;
}

/**
 * Returns a copy with each reference replaced by its value. Where the schema wants a string, a result is taken as
 * text, and `\{{0}}` is the text `{{0}}`.
 */
export function filledIn(value: unknown, filling: Filling, schema: Schema, depth = 0): unknown {
  if (typeof value === 'string') return interpolated(value, filling);
  const text = textOf(value);
  if (text !== undefined) {
    const asText = isRecord(schema) && schema.type === 'string';
    const found = filling.valueOf(requireReference(text), asText);
    return asText && typeof found === 'object' && found !== null ? JSON.stringify(found) : found;
  }
  if (depth > MAX_DEPTH) return value;
  const of = isRecord(schema) ? schema : {};
  if (Array.isArray(value)) return value.map((inner) => filledIn(inner, filling, of.items, depth + 1));
  if (!isRecord(value)) return value;
  const properties = isRecord(of.properties) ? of.properties : {};
  const entries = Object.entries(value).map(([key, inner]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return [key, filledIn(inner, filling, own, depth + 1)];
  });
  return Object.fromEntries(entries);
}

function interpolated(text: string, filling: Filling): string {
  if (!text.includes('{{')) return text;
  return text.replace(INSIDE, (...found) => {
    const [whole, slash, inner] = found as string[];
    const reference = readReference(inner ?? '');
    const isOurs = reference?.roots.every(filling.isRoot) === true && HEAD.test(reference.text);
    if (reference === undefined || !isOurs) return whole ?? '';
    if (slash !== '') return (whole ?? '').slice(1);
    const value = filling.valueOf(reference, true);
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
