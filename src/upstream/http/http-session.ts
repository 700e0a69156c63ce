/** The headers of MCP in each request of one HTTP session: session id and protocol version. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../../errors.ts';

export interface HttpSession {
  /** The session id; undefined before the response to `initialize`, or if the upstream has no sessions. */
  readonly id: string | undefined;
  /** Stores the session id from the response to `initialize`. */
  begin(response: IncomingMessage): void;
  /** Stores the negotiated protocol version. */
  agree(version: unknown): void;
  headers(more: OutgoingHttpHeaders): OutgoingHttpHeaders;
}

/** The specification allows visible ASCII; the limit of all headers bounds the length. */
const SESSION_ID = /^[\x21-\x7e]+$/;
const VERSION = /^[\w.-]{1,64}$/;

export function createHttpSession(name: string): HttpSession {
  // Compression is not requested, because decompressed bodies would need their own size limit.
  const base: OutgoingHttpHeaders = { accept: 'application/json, text/event-stream', 'accept-encoding': 'identity' };
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
