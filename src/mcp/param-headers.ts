/** Arguments of tools that are repeated in HTTP headers (`x-mcp-header`). */

import type { IncomingHttpHeaders } from 'node:http';
import { isLosslessNumber } from '../lossless-json.ts';
import { isRecord } from '../wire/message.ts';
import { HEADER_MISMATCH } from './error-codes.ts';

/**
 * A property of a tool's arguments, as a path of names, and the header that repeats it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export interface ParamHeader {
  path: string[];
  header: string;
}

const MARK = 'x-mcp-header';
/** A token of RFC 9110, with a maximum length. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
/** Types whose values have exactly one text form. */
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** The maximum depth of a schema that is searched. */
const MAX_DEPTH = 64;

/** Returns all header parameters of a schema, or the fault of one; a tool with a fault must not be called over HTTP. */
export function paramHeadersIn(schema: unknown): ParamHeader[] | { wrong: string } {
  const found: ParamHeader[] = [];
  const seen = new Set<string>();
  for (const { path, place } of marked(schema, [])) {
    const header = place[MARK];
    const wrong = problemOf(path, place);
    if (wrong !== undefined) return { wrong };
    const name = String(header).toLowerCase();
    if (seen.has(name)) return { wrong: `two arguments want the header ${JSON.stringify(header)}` };
    seen.add(name);
    found.push({ path: path ?? [], header: String(header) });
  }
  return found;
}

function problemOf(path: string[] | undefined, place: Record<string, unknown>): string | undefined {
  const header = place[MARK];
  if (path === undefined) return `"${MARK}" stands where no argument is certain to be`;
  if (typeof header !== 'string' || !TOKEN.test(header))
    return `${JSON.stringify(header)} cannot be part of a header name`;
  if (!isPlain(place.type)) return `a header cannot repeat an argument of type ${JSON.stringify(place.type ?? null)}`;
  return undefined;
}

/** Returns true if the type, apart from null, can be a header, or if the schema does not state it. */
function isPlain(type: unknown): boolean {
  if (type === undefined) return true;
  const types = Array.isArray(type) ? type.filter((one) => one !== 'null') : [type];
  return types.length > 0 && types.every((one) => TYPES.has(one));
}

interface Marked {
  /** The path of properties; undefined if the place is reached in another way. */
  path: string[] | undefined;
  place: Record<string, unknown>;
}

/** Returns the places of the keyword in a schema. A property with the keyword's name is not the keyword. */
function* marked(schema: unknown, path: string[] | undefined, depth = 0): Generator<Marked> {
  if (depth > MAX_DEPTH || typeof schema !== 'object' || schema === null) return;
  // The root is no argument.
  if (isRecord(schema) && MARK in schema) yield { path: path?.length === 0 ? undefined : path, place: schema };
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.has(keyword)) continue;
    if (!NAMED.has(keyword) || !isRecord(value)) {
      yield* marked(value, undefined, depth + 1);
      continue;
    }
    const reached = keyword === 'properties' ? path : undefined;
    for (const [name, one] of Object.entries(value)) yield* marked(one, reached && [...reached, name], depth + 1);
  }
}

/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(['default', 'examples', 'example', 'enum', 'const']);
/** Keywords whose value is a table of schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

export function headerOf({ header }: ParamHeader): string {
  return `mcp-param-${header.toLowerCase()}`;
}

export function argumentAt({ path }: ParamHeader, args: unknown): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), args);
}

/** Returns the argument in the form of a header value; undefined if the call has none. */
export function valueAt(mirrored: ParamHeader, args: unknown): string | undefined {
  const value = argumentAt(mirrored, args);
  if (isLosslessNumber(value)) return value.rawJSON;
  const can = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  return can ? String(value) : undefined;
}

export interface Refused {
  code: number;
  message: string;
  data?: unknown;
}

/** Returns the error of the headers that repeat arguments of a tool; undefined if they match. */
export function argumentMismatch(schema: unknown, args: unknown, headers: IncomingHttpHeaders): Refused | undefined {
  const wanted = paramHeadersIn(schema);
  // A tool that wants the impossible cannot be checked.
  for (const one of Array.isArray(wanted) ? wanted : []) {
    const value = valueAt(one, args);
    const header = headers[headerOf(one)];
    if (header === undefined && value === undefined) continue;
    const said = typeof header === 'string' && PRINTABLE.test(header) ? decodeValue(header) : undefined;
    const number = argumentAt(one, args);
    // `42.0` and 42 are the same number.
    if (said !== undefined && (said === value || (typeof number === 'number' && Number(said) === number))) continue;
    const name = `Mcp-Param-${one.header}`;
    return { code: HEADER_MISMATCH, message: `Header mismatch: ${name} does not repeat "${one.path.join('.')}"` };
  }
  return undefined;
}

export const PRINTABLE = /^[\x20-\x7e\t]+$/;

/** Decodes a header value, which is plain text or marked base64; returns undefined for invalid base64. */
export function decodeValue(header: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}

/** Encodes a header value: plain text if a header can hold it, otherwise marked base64. */
export function encodeValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
