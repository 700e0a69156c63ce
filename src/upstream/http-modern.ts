/** What a request of the modern era says in HTTP headers beside its body, and what tools want to have said there. */
import type { OutgoingHttpHeaders } from 'node:http';
import { isRecord, type Message, type Params } from '../wire/message.ts';
import { headerOf, type Mirrored, mirroredIn, valueAt } from './mirrored.ts';
import { isModern } from './modern.ts';
import { MODERN_VERSION, NAMED } from './revisions.ts';

export interface ModernHeaders {
  /** None for a message of the legacy era. */
  of(message: Message): OutgoingHttpHeaders;
  /** Takes note of what the tools of a list want in headers; returns the list without those whose wish cannot be fulfilled. */
  learn(result: unknown): unknown;
}

export function createModernHeaders(rejected: (tool: string, why: string) => void): ModernHeaders {
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
      if (!isRecord(result) || !Array.isArray(result.tools)) return result;
      const kept = result.tools.filter((tool) => {
        if (!isRecord(tool)) return true;
        const found = mirroredIn(tool.inputSchema);
        if (Array.isArray(found) && found.length > 0) tools.set(String(tool.name), found);
        else tools.delete(String(tool.name));
        if (!Array.isArray(found)) rejected(String(tool.name), found.wrong);
        return Array.isArray(found);
      });
      return kept.length === result.tools.length ? result : { ...result, tools: kept };
    },
  };
}

function mirror(wanted: Mirrored[], { arguments: args }: Params): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const one of wanted) {
    const text = valueAt(one, args);
    if (text !== undefined) headers[headerOf(one)] = encodeValue(text);
  }
  return headers;
}

/** Plain where a header can hold it, else in base64 with the marks that say so. */
function encodeValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
