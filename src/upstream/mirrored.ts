/** Arguments of tools that are repeated in HTTP headers (`x-mcp-header`). https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http */
import { isExact } from '../exact.ts';
import { isRecord } from '../wire/message.ts';

/** A property of a tool's arguments, as a path of names, and the header that repeats it. */
export interface Mirrored {
  path: string[];
  header: string;
}

const MARK = 'x-mcp-header';
/** RFC 9110; bounded, since a header has to fit. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
/** What a header can say in one way only. */
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** Deeper parts of a schema are not looked at. */
const MAX_DEPTH = 64;

/** All of a schema, or what is wrong with one of them: then the tool must not be used over HTTP. */
export function mirroredIn(schema: unknown): Mirrored[] | { wrong: string } {
  const found: Mirrored[] = [];
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

/** One of these types, or nothing instead; a schema that does not say is believed. */
function isPlain(type: unknown): boolean {
  if (type === undefined) return true;
  const types = Array.isArray(type) ? type.filter((one) => one !== 'null') : [type];
  return types.length > 0 && types.every((one) => TYPES.has(one));
}

interface Marked {
  /** Undefined where it is not reached by properties of properties alone. */
  path: string[] | undefined;
  place: Record<string, unknown>;
}

/** Where in a schema the mark stands. A name of a property is no keyword, whatever it is. */
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

/** What is only shown or compared is no schema. */
const DATA: ReadonlySet<string> = new Set(['default', 'examples', 'example', 'enum', 'const']);
/** Keywords whose value is a table of schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

export function headerOf({ header }: Mirrored): string {
  return `mcp-param-${header.toLowerCase()}`;
}

export function argumentAt({ path }: Mirrored, args: unknown): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), args);
}

/** The argument as a header says it; undefined where there is none. */
export function valueAt(mirrored: Mirrored, args: unknown): string | undefined {
  const value = argumentAt(mirrored, args);
  if (isExact(value)) return value.rawJSON;
  const can = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  return can ? String(value) : undefined;
}
