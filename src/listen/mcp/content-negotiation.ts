/** Negotiates the response format and the protocol version from the headers of an MCP request. */
import type { IncomingHttpHeaders } from 'node:http';
import { LEGACY_VERSIONS } from '../../mcp/protocol-versions.ts';
import type { Accepts } from './post-response.ts';

/** The version of a request without the header, as the specification defines it. */
const DEFAULT_VERSION = '2025-03-26';

const BOTH: Accepts = { json: true, events: true };
const JSON_ONLY: Accepts = { json: true, events: false };

/** Parses Accept. A wildcard or a missing header means plain JSON, which is readable with curl. */
export function readAccept(header: string | undefined): Accepts {
  if (header === undefined || header === '*/*') return JSON_ONLY;
  if (header === 'application/json, text/event-stream') return BOTH;
  const types = new Set(header.split(',').map(mediaType));
  return {
    json: types.has('application/json') || types.has('application/*') || types.has('*/*'),
    events: types.has('text/event-stream') || types.has('text/*'),
  };
}

/** Returns `application/json` for `application/json;q=0.9`, and an empty string for a type with `q=0`. */
function mediaType(entry: string): string {
  const [type = '', ...parameters] = entry.toLowerCase().split(';');
  return parameters.some((one) => /^\s*q\s*=\s*0(?:\.0*)?\s*$/.test(one)) ? '' : type.trim();
}

/** Returns true if a GET may be answered with an event stream. */
export function acceptsEvents(header: string | undefined): boolean {
  return header === undefined || header.includes('*/*') || readAccept(header).events;
}

/** Returns the protocol version of a request; undefined if it is not supported. */
export function readVersion(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['mcp-protocol-version'];
  if (header === undefined) return DEFAULT_VERSION;
  return LEGACY_VERSIONS.find((known) => known === header);
}

export const VERSIONS_TEXT: string = LEGACY_VERSIONS.join(', ');
