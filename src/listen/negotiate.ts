/** What the headers of an MCP request agree on: the form of the answer and the revision of the protocol. */
import type { IncomingHttpHeaders } from 'node:http';
import { LEGACY_VERSIONS } from '../upstream/revisions.ts';
import type { Accepts } from './answer.ts';

/** Meant by a client that does not say which revision it speaks. */
const DEFAULT_VERSION = '2025-03-26';

const BOTH: Accepts = { json: true, events: true };
const JSON_ONLY: Accepts = { json: true, events: false };

/** A wildcard, or no word at all, means plain JSON: that is what people with curl want to see. */
export function readAccept(header: string | undefined): Accepts {
  if (header === undefined || header === '*/*') return JSON_ONLY;
  if (header === 'application/json, text/event-stream') return BOTH;
  const types = new Set(header.split(',').map(mediaType));
  return {
    json: types.has('application/json') || types.has('application/*') || types.has('*/*'),
    events: types.has('text/event-stream') || types.has('text/*'),
  };
}

/** `application/json;q=0.9` → `application/json`; nothing for what is refused by `q=0`. */
function mediaType(entry: string): string {
  const [type = '', ...parameters] = entry.toLowerCase().split(';');
  return parameters.some((one) => /^\s*q\s*=\s*0(?:\.0*)?\s*$/.test(one)) ? '' : type.trim();
}

/** Whether a GET may be answered with an event stream. */
export function acceptsEvents(header: string | undefined): boolean {
  return header === undefined || header.includes('*/*') || readAccept(header).events;
}

/** The revision of a request, or undefined when it is none that is spoken here. */
export function readVersion(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['mcp-protocol-version'];
  if (header === undefined) return DEFAULT_VERSION;
  return LEGACY_VERSIONS.find((known) => known === header);
}

export const VERSIONS_TEXT: string = LEGACY_VERSIONS.join(', ');
