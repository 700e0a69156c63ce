/** The HTTP headers of modern requests: method, name and the tool arguments that tools declare as headers. */
import type { OutgoingHttpHeaders } from 'node:http';
import { isModern } from '../../mcp/envelope.ts';
import { NAMED } from '../../mcp/methods.ts';
import { encodeValue, headerOf, type ParamHeader, paramHeadersIn, valueAt } from '../../mcp/param-headers.ts';
import { MODERN_VERSION } from '../../mcp/protocol-versions.ts';
import { isRecord, isRequest, type Message, type Params } from '../../wire/message.ts';

export interface ModernHeaders {
  /** Returns the headers of a message; none in the legacy era. */
  of(message: Message): OutgoingHttpHeaders;
  /**
   * Stores which arguments the tools of a list need as headers; returns the list without tools whose declaration is
   * invalid.
   */
  learn(result: unknown): unknown;
}

export function createModernHeaders(rejected: (tool: string, why: string) => void): ModernHeaders {
  const tools = new Map<string, ParamHeader[]>();
  return {
    of(message) {
      if (!isRequest(message) || !isModern(message)) return {};
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
        const found = paramHeadersIn(tool.inputSchema);
        if (Array.isArray(found) && found.length > 0) tools.set(String(tool.name), found);
        else tools.delete(String(tool.name));
        if (!Array.isArray(found)) rejected(String(tool.name), found.wrong);
        return Array.isArray(found);
      });
      return kept.length === result.tools.length ? result : { ...result, tools: kept };
    },
  };
}

function mirror(wanted: ParamHeader[], { arguments: args }: Params): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const one of wanted) {
    const text = valueAt(one, args);
    if (text !== undefined) headers[headerOf(one)] = encodeValue(text);
  }
  return headers;
}
