/** What every request of one HTTP conversation carries: configured headers, session id, protocol version. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../errors.ts';

export interface HttpSession {
  /** Undefined before the answer to `initialize`, and where the upstream keeps no session. */
  readonly id: string | undefined;
  /** Takes the session id from the answer to `initialize`. */
  begin(response: IncomingMessage): void;
  /** Takes the protocol version that was agreed on. */
  agree(version: unknown): void;
  headers(more: OutgoingHttpHeaders): OutgoingHttpHeaders;
}

/** Visible ASCII by the specification; the length is bounded by that of all headers. */
const SESSION_ID = /^[\x21-\x7e]+$/;
const VERSION = /^[\w.-]{1,64}$/;

export function createHttpSession(configured: Record<string, string>, name: string): HttpSession {
  // Decompressed bodies would need bounds of their own, so compression is not asked for.
  const fixed = { accept: 'application/json, text/event-stream', 'accept-encoding': 'identity' };
  const base: OutgoingHttpHeaders = { ...lowerCased(configured), ...fixed };
  let id: string | undefined;
  return {
    get id() {
      return id;
    },
    begin(response) {
      const given = response.headers['mcp-session-id'];
      if (given === undefined) return;
      if (typeof given !== 'string' || !SESSION_ID.test(given)) {
        throw new McpxError('protocol', `server "${name}" sent a session id that cannot be used`);
      }
      id = given;
      base['mcp-session-id'] = given;
    },
    agree(version) {
      if (typeof version === 'string' && VERSION.test(version)) base['mcp-protocol-version'] = version;
    },
    headers: (more) => ({ ...base, ...more }),
  };
}

function lowerCased(headers: Record<string, string>): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
