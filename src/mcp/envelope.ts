/** The envelope of modern requests: the `_meta` fields that every request carries, and the HTTP headers that repeat them. */
import type { IncomingHttpHeaders } from 'node:http';
import { VERSION } from '../version.ts';
import { INVALID_PARAMS, isRecord, type Params, type RpcRequest } from '../wire/message.ts';
import { HEADER_MISMATCH, UNSUPPORTED_VERSION } from './error-codes.ts';
import { CACHEABLE, mayBeAsked, NAMED } from './methods.ts';
import { asksForInput } from './multi-round-trip.ts';
import { decodeValue, type Refused } from './param-headers.ts';
import { META, MODERN_VERSION, VERSION_META } from './protocol-versions.ts';

export const ENVELOPE: ReadonlySet<string> = new Set(
  ['protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel'].map((name) => `${META}${name}`),
);

/**
 * The client's description of itself in every modern request.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export interface Envelope {
  capabilities: Params;
  clientInfo?: unknown;
  /** Absent: the client wants no log messages. */
  logLevel?: string;
}

/** Returns true for a version of the modern era. Versions are dates and compare as text. */
export function isModernVersion(version: unknown): boolean {
  return typeof version === 'string' && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version);
}

/**
 * Returns true for a request of the modern era. The body, the header or the method can show it; `initialize` is always a
 * request of the legacy era.
 */
export function isModern({ method, params }: RpcRequest, headers: IncomingHttpHeaders = {}): boolean {
  const claim = metaOf(params)[VERSION_META];
  if (claim !== undefined || method === 'server/discover') return true;
  return method !== 'initialize' && isModernVersion(headers['mcp-protocol-version']);
}

/** Reads the envelope of a request. A transport without headers passes none, and only the body is checked. */
export function readEnvelope(request: RpcRequest, headers?: IncomingHttpHeaders): Envelope | Refused {
  const meta = metaOf(request.params);
  const version = meta[VERSION_META];
  const capabilities = meta[`${META}clientCapabilities`];
  const spoken = versionOf(version, headers);
  // Another version may require other fields.
  if (spoken !== undefined && spoken !== MODERN_VERSION) return unsupported(spoken);
  if (typeof version !== 'string') return invalid(`"_meta" must have "${VERSION_META}"`);
  if (!isRecord(capabilities)) return invalid(`"_meta" must have "${META}clientCapabilities"`);
  const wrong = headers && mismatch(request, headers, version);
  if (wrong !== undefined) return { code: HEADER_MISMATCH, message: `Header mismatch: ${wrong}` };
  const logLevel = meta[`${META}logLevel`];
  return {
    capabilities,
    clientInfo: meta[`${META}clientInfo`],
    ...(typeof logLevel === 'string' && { logLevel }),
  };
}

/** Returns the version that the body and the header name; undefined if they differ. */
export function versionOf(claim: unknown, headers: IncomingHttpHeaders = {}): string | undefined {
  const said = headers['mcp-protocol-version'] ?? claim;
  const version = claim ?? said;
  return typeof version === 'string' && version === said ? version : undefined;
}

export function unsupported(requested: string): Refused {
  const message = `Unsupported protocol version: ${requested}`;
  return { code: UNSUPPORTED_VERSION, message, data: { supported: [MODERN_VERSION], requested } };
}

/** Adds the fields that a result of the modern era requires. A result that asks for input has no cache lifetime. */
export function complete(method: string, result: Params, meta: Params): Params {
  return {
    resultType: 'complete',
    ...(CACHEABLE.has(method) && !asksForInput(result) && { ttlMs: 0, cacheScope: 'private' }),
    ...result,
    _meta: { ...(isRecord(result._meta) ? result._meta : {}), ...meta },
  };
}

/**
 * Returns the params without the fields for this hop: the input responses, and the envelope in `_meta`. Fields of
 * extensions stay.
 */
export function withoutEnvelope({ method, params = {} }: Pick<RpcRequest, 'method' | 'params'>): Params {
  const { inputResponses: _, requestState: __, ...words } = params;
  const { _meta, ...own } = mayBeAsked(method) ? words : params;
  return withoutIntroduction(own, _meta);
}

export function withoutIntroduction(params: Params, _meta: unknown): Params {
  if (!isRecord(_meta)) return params;
  const rest = Object.entries(_meta).filter(([key]) => !ENVELOPE.has(key));
  return rest.length === 0 ? params : { ...params, _meta: Object.fromEntries(rest) };
}

export function mismatch({ method, params = {} }: RpcRequest, headers: IncomingHttpHeaders, version: string) {
  const said = (header: string) => (headers[header] === undefined ? 'is missing' : `says "${headers[header]}"`);
  if (headers['mcp-protocol-version'] !== version)
    return `MCP-Protocol-Version ${said('mcp-protocol-version')}, the body "${version}"`;
  if (headers['mcp-method'] !== method) return `Mcp-Method ${said('mcp-method')}, the body "${method}"`;
  const name = params[NAMED.get(method) ?? ''];
  if (typeof name !== 'string') return undefined;
  const header = headers['mcp-name'];
  if (typeof header !== 'string' || decodeValue(header) !== name)
    return `Mcp-Name ${said('mcp-name')}, the body "${name}"`;
  return undefined;
}

export function metaOf(params: Params | undefined): Params {
  return isRecord(params?._meta) ? params._meta : {};
}

export function invalid(message: string): Refused {
  return { code: INVALID_PARAMS, message: `Invalid params: ${message}` };
}

/** The capabilities and client info that mcpx sends in the handshake. */
export interface Introduction {
  /** Capabilities that a client has really declared. */
  capabilities: Record<string, unknown>;
  /** Client info (default: mcpx itself). */
  clientInfo?: { name: string; version: string } | undefined;
}

/** The `_meta` fields with version, client info and capabilities; a modern server requires them. */
export type EnvelopeMeta = Record<string, unknown>;

export function envelopeOf({ capabilities, clientInfo, logLevel }: Introduction & { logLevel?: string }): EnvelopeMeta {
  return {
    [VERSION_META]: MODERN_VERSION,
    [`${META}clientCapabilities`]: capabilities,
    [`${META}clientInfo`]: clientInfo ?? { name: 'mcpx', version: VERSION },
    ...(logLevel !== undefined && { [`${META}logLevel`]: logLevel }),
  };
}
