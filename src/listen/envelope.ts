/** Who sends a request of the modern era, and whether its headers say the same as its body. https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
import type { IncomingHttpHeaders } from 'node:http';
import { argumentAt, headerOf, mirroredIn, valueAt } from '../upstream/mirrored.ts';
import { META, MODERN_VERSION, NAMED, VERSION_META } from '../upstream/revisions.ts';
import { asksForInput, mayBeAsked } from '../upstream/rounds.ts';
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  isRecord,
  type Params,
  type RpcRequest,
  UNSUPPORTED_VERSION,
} from '../wire/message.ts';
import type { Session } from './gateway.ts';

const ENVELOPE: ReadonlySet<string> = new Set(
  ['protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel'].map((name) => `${META}${name}`),
);

/** What every modern request says about its client. */
export interface Envelope {
  capabilities: Params;
  clientInfo?: unknown;
  /** Absent: the client wants no log messages. */
  logLevel?: string;
}

export interface Refused {
  code: number;
  message: string;
  data?: unknown;
}

/** Results that must say how long they hold. */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Dates compare as text. */
export function isModernVersion(version: unknown): boolean {
  return typeof version === 'string' && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version);
}

/** By the body, by the header alone, or by what only this era asks; `initialize` belongs to the legacy era whatever comes with it. */
export function isModern({ method, params }: RpcRequest, headers: IncomingHttpHeaders = {}): boolean {
  const claim = metaOf(params)[VERSION_META];
  if (claim !== undefined || method === 'server/discover') return true;
  return method !== 'initialize' && isModernVersion(headers['mcp-protocol-version']);
}

/** Without headers, where the transport has none, the body speaks for itself. */
export function readEnvelope(request: RpcRequest, headers?: IncomingHttpHeaders): Envelope | Refused {
  const meta = metaOf(request.params);
  const version = meta[VERSION_META];
  const capabilities = meta[`${META}clientCapabilities`];
  const spoken = versionOf(version, headers);
  // Another version may want other things of a request.
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

/** What body and header agree on, where both say something. */
function versionOf(claim: unknown, headers: IncomingHttpHeaders = {}): string | undefined {
  const said = headers['mcp-protocol-version'] ?? claim;
  const version = claim ?? said;
  return typeof version === 'string' && version === said ? version : undefined;
}

export function unsupported(requested: string): Refused {
  const message = `Unsupported protocol version: ${requested}`;
  return { code: UNSUPPORTED_VERSION, message, data: { supported: [MODERN_VERSION], requested } };
}

/** Fronts learn from `initialize` who their client is. */
export async function introduce({ front }: Session, envelope: Envelope, signal: AbortSignal): Promise<Params> {
  const { capabilities, clientInfo, logLevel } = envelope;
  const hello = await front.request({ method: 'initialize', params: { capabilities, clientInfo } }, { signal });
  if (logLevel !== undefined && !signal.aborted)
    await front.request({ method: 'logging/setLevel', params: { level: logLevel } }, { signal }).catch(() => undefined);
  return isRecord(hello) ? hello : {};
}

/** A result as this era writes it; one that is no answer yet holds for no time at all. */
export function complete(method: string, result: Params, meta: Params): Params {
  return {
    resultType: 'complete',
    ...(CACHEABLE.has(method) && !asksForInput(result) && { ttlMs: 0, cacheScope: 'private' }),
    ...result,
    _meta: { ...(isRecord(result._meta) ? result._meta : {}), ...meta },
  };
}

/** The params without what was meant for this hop: the answers to earlier questions, and who is asking. What extensions say, there and in `_meta`, is not. */
export function withoutEnvelope({ method, params = {} }: Pick<RpcRequest, 'method' | 'params'>): Params {
  const { inputResponses: _, requestState: __, ...words } = params;
  const { _meta, ...own } = mayBeAsked(method) ? words : params;
  return withoutIntroduction(own, _meta);
}

function withoutIntroduction(params: Params, _meta: unknown): Params {
  if (!isRecord(_meta)) return params;
  const rest = Object.entries(_meta).filter(([key]) => !ENVELOPE.has(key));
  return rest.length === 0 ? params : { ...params, _meta: Object.fromEntries(rest) };
}

/** What is wrong with the headers that repeat arguments of a tool, see `x-mcp-header`. */
export function argumentMismatch(schema: unknown, args: unknown, headers: IncomingHttpHeaders): Refused | undefined {
  const wanted = mirroredIn(schema);
  // A tool that wants the impossible cannot be checked.
  for (const one of Array.isArray(wanted) ? wanted : []) {
    const value = valueAt(one, args);
    const header = headers[headerOf(one)];
    if (header === undefined && value === undefined) continue;
    const said = typeof header === 'string' && PRINTABLE.test(header) ? decodeValue(header) : undefined;
    const number = argumentAt(one, args);
    // `42.0` says the same as 42.
    if (said !== undefined && (said === value || (typeof number === 'number' && Number(said) === number))) continue;
    const name = `Mcp-Param-${one.header}`;
    return { code: HEADER_MISMATCH, message: `Header mismatch: ${name} does not repeat "${one.path.join('.')}"` };
  }
  return undefined;
}

const PRINTABLE = /^[\x20-\x7e\t]+$/;

function mismatch({ method, params = {} }: RpcRequest, headers: IncomingHttpHeaders, version: string) {
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

/** Plain, or base64 between marks where a header could not hold it; undefined for base64 that is none. */
function decodeValue(header: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}

function metaOf(params: Params | undefined): Params {
  return isRecord(params?._meta) ? params._meta : {};
}

function invalid(message: string): Refused {
  return { code: INVALID_PARAMS, message: `Invalid params: ${message}` };
}
