/** How a conversation with an upstream begins: `initialize` (legacy era) or `server/discover` (modern era), by the order of its transport. */
import type { ServerSpec } from '../config/config.ts';
import { McpxError, RpcError } from '../errors.ts';
import { clean, cut } from '../render/text.ts';
import { VERSION } from '../version.ts';
import { isRecord, UNSUPPORTED_VERSION } from '../wire/message.ts';
import type { Peer, RequestOptions } from '../wire/peer.ts';
import type { Hello } from './connection.ts';
import { type EraChannel, envelopeOf } from './modern.ts';
import { LEGACY_VERSIONS, MODERN_VERSION, SERVER_META } from './revisions.ts';

/** Who we say we are. */
export interface Introduction {
  /** What a downstream really has, and nothing else. */
  capabilities: Record<string, unknown>;
  /** Default: mcpx itself. */
  clientInfo?: { name: string; version: string } | undefined;
}

export interface Opening extends Introduction {
  /** The server's name, for messages. */
  name: string;
  /** The era that is tried first; the other one follows in the same conversation. */
  first: Hello['era'];
  channel: Pick<EraChannel, 'speak' | 'listen'>;
  /** For all of it together, in ms. */
  timeout: number;
  signal?: AbortSignal;
}

/** What need not be found out again: the era, what a URL without a type turned out to be, and the framing that a program understands. */
export type Remembered = Pick<Hello, 'era' | 'transport' | 'framing'>;

type Recall = (spec: ServerSpec) => Remembered | undefined;

/** The last conversation of this process, else what was stored; each only once, so that where it no longer helps the usual order follows. */
export function createMemory(stored: Recall | undefined, latest: () => Hello | undefined): Recall {
  let offered: Hello | undefined;
  let asked = false;
  return (spec) => {
    const hello = latest();
    if (hello === undefined) {
      const first = !asked;
      asked = true;
      return first ? stored?.(spec) : undefined;
    }
    if (hello === offered) return undefined;
    offered = hello;
    return hello;
  };
}

/** How long `server/discover` may be left unanswered before that means no, in ms. */
const SILENCE = 5000;

type Asker = Pick<Peer, 'request' | 'notify'>;

export async function handshake(peer: Asker, opening: Opening): Promise<Hello> {
  const deadline = performance.now() + opening.timeout;
  const within = (most: number): RequestOptions => {
    const timeout = Math.max(1, Math.min(most, deadline - performance.now()));
    return { timeout, totalTimeout: timeout, ...(opening.signal && { signal: opening.signal }) };
  };
  const discovered = () => discover(peer, opening, within(Math.min(SILENCE, opening.timeout / 2)));
  if (opening.first === 'modern') return (await discovered()) ?? initialize(peer, opening, within(opening.timeout));
  try {
    return await initialize(peer, opening, within(opening.timeout));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const hello = await discovered().catch(() => undefined);
    if (hello) return hello;
    throw error;
  }
}

async function initialize(peer: Asker, opening: Opening, options: RequestOptions): Promise<Hello> {
  const { capabilities, clientInfo = { name: 'mcpx', version: VERSION }, name } = opening;
  const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities, clientInfo };
  const hello = readHello(name, await peer.request('initialize', params, options));
  peer.notify('notifications/initialized');
  return hello;
}

/** Undefined when the upstream does not speak the modern era; rejects when there is no use in asking on. */
async function discover(peer: Asker, opening: Opening, options: RequestOptions): Promise<Hello | undefined> {
  const { channel, name } = opening;
  channel.speak(envelopeOf(opening));
  const asked = () => peer.request('server/discover', {}, options);
  try {
    // A server that names our version among those it speaks did not mean the refusal; it is asked once more.
    const result = await asked().catch((error) => (speaksOurs(error) ? asked() : Promise.reject(error)));
    const hello = readDiscovery(name, result);
    if (hello) channel.listen(hello.capabilities);
    else channel.speak(undefined);
    return hello;
  } catch (error) {
    channel.speak(undefined);
    if (isRefusal(error) || isSilence(error)) return undefined;
    throw error;
  }
}

/** The upstream is there and said no, in words or with a status; a refusal to know us is none, for it is the same in both eras. */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return true;
  return error instanceof McpxError && error.code !== 'auth' && isRecord(error.data) && 'status' in error.data;
}

/** Of an upstream whose list of versions has ours. */
function speaksOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== UNSUPPORTED_VERSION || !isRecord(error.data)) return false;
  const { supported } = error.data;
  return Array.isArray(supported) && supported.includes(MODERN_VERSION);
}

function isSilence(error: unknown): boolean {
  return error instanceof McpxError && (error.code === 'timeout' || error.code === 'protocol');
}

function readDiscovery(name: string, result: unknown): Hello | undefined {
  if (!isRecord(result) || !Array.isArray(result.supportedVersions)) return undefined;
  if (!result.supportedVersions.includes(MODERN_VERSION)) return undefined;
  const meta = isRecord(result._meta) ? result._meta : {};
  const info = meta[SERVER_META] ?? result.serverInfo;
  return { era: 'modern', protocolVersion: MODERN_VERSION, ...about(name, { ...result, serverInfo: info }) };
}

/** Lenient in what can be done without (some servers leave out their name or capabilities), strict in the version. */
function readHello(name: string, result: unknown): Hello {
  if (!isRecord(result)) throw new McpxError('protocol', `server "${name}" answered "initialize" with no object`);
  const { protocolVersion } = result;
  if (!LEGACY_VERSIONS.some((version) => version === protocolVersion)) {
    throw new McpxError(
      'protocol',
      `server "${name}" speaks protocol version ${JSON.stringify(protocolVersion ?? null)}, which mcpx does not know`,
      { hint: `versions that mcpx knows: ${LEGACY_VERSIONS.join(', ')}` },
    );
  }
  return { era: 'legacy', protocolVersion: String(protocolVersion), ...about(name, result) };
}

/** Characters; models read it. */
const MAX_INSTRUCTIONS = 16 * 1024;

function about(name: string, { capabilities, serverInfo, instructions }: Record<string, unknown>) {
  const info = isRecord(serverInfo) ? serverInfo : {};
  return {
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: { ...info, name: String(info.name ?? name), version: String(info.version ?? '') },
    ...(typeof instructions === 'string' ? { instructions: cut(clean(instructions), MAX_INSTRUCTIONS) } : {}),
  };
}
