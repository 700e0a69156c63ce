/** What a request of the modern era says in HTTP headers beside its body, and what tools want to have said there. */
import type { OutgoingHttpHeaders } from 'node:http';
import { isRecord, type Message, type Params } from '../wire/message.ts';
import { isModern, MODERN_VERSION } from './modern.ts';

export interface ModernHeaders {
  /** None for a message of the legacy era. */
  of(message: Message): OutgoingHttpHeaders;
  /** Takes note of what the tools of a list want in headers. */
  learn(result: unknown): void;
}

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** A property of a tool's arguments, as a path of names, and the header that repeats it. */
interface Mirrored {
  path: string[];
  header: string;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
/** Deeper properties are not looked at. */
const MAX_DEPTH = 16;

export function createModernHeaders(): ModernHeaders {
  const tools = new Map<string, Mirrored[]>();
  return {
    of(message) {
      if (!('method' in message) || !isModern(message)) return {};
      const { method, params = {} } = message;
      const name = params[NAMED.get(method) ?? ''];
      const headers: OutgoingHttpHeaders = { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method };
      if (typeof name === 'string') headers['mcp-name'] = encodeValue(name);
      if (method === 'tools/call') Object.assign(headers, mirror(tools.get(String(name)) ?? [], params));
      return headers;
    },
    learn(result) {
      if (!isRecord(result) || !Array.isArray(result.tools)) return;
      for (const tool of result.tools.filter(isRecord)) {
        const found = [...mirrored(tool.inputSchema, [])];
        if (found.length > 0) tools.set(String(tool.name), found);
        else tools.delete(String(tool.name));
      }
    },
  };
}

/** Only properties of properties can be meant: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
function* mirrored(schema: unknown, path: string[]): Generator<Mirrored> {
  if (!isRecord(schema) || path.length > MAX_DEPTH) return;
  const header = schema['x-mcp-header'];
  if (path.length > 0 && typeof header === 'string' && TOKEN.test(header)) yield { path, header };
  if (!isRecord(schema.properties)) return;
  for (const [name, property] of Object.entries(schema.properties)) yield* mirrored(property, [...path, name]);
}

function mirror(wanted: Mirrored[], { arguments: args }: Params): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const { path, header } of wanted) {
    const value = path.reduce<unknown>(
      (at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      args,
    );
    const text =
      typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) ? String(value) : undefined;
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = encodeValue(text);
  }
  return headers;
}

/** Plain where a header can hold it, else in base64 with the marks that say so. */
function encodeValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
