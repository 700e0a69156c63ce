/** The handshake with an upstream: `initialize` (legacy era) or `server/discover` (modern era); the caller decides which is first. */

import type { InitializedNotification, InitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { ServerSpec } from '../../config/config.ts';
import { McpxError, RpcError } from '../../errors.ts';
import type { Introduction } from '../../mcp/envelope.ts';
import { envelopeOf } from '../../mcp/envelope.ts';
import { UNSUPPORTED_VERSION } from '../../mcp/error-codes.ts';
import { LEGACY_VERSIONS, MODERN_VERSION, SERVER_META } from '../../mcp/protocol-versions.ts';
import { clean, cut } from '../../render/text.ts';
import { VERSION } from '../../version.ts';
import { isRecord } from '../../wire/message.ts';
import type { Peer, RequestOptions } from '../../wire/peer.ts';
import type { Handshake, Remembered } from '../handshake.ts';
import type { EraChannel } from './era-channel.ts';

export interface Opening extends Introduction {
  /** The server's name for messages. */
  name: string;
  /** The era that is tried first; the other one follows on the same connection. */
  first: Handshake['era'];
  channel: Pick<EraChannel, 'speak' | 'listen'>;
  /** The timeout of the whole handshake in ms. */
  timeout: number;
  signal?: AbortSignal;
}

type Recall = (spec: ServerSpec) => Remembered | undefined;

/**
 * Returns the results of the last connection in this process, else the stored ones; each only once, so that the default
 * order applies if they are outdated.
 */
export function createMemory(stored: Recall | undefined, latest: () => Handshake | undefined): Recall {
  let offered: Handshake | undefined;
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

/** Milliseconds after which an unanswered `server/discover` counts as a refusal. */
const SILENCE = 5000;

type Asker = Pick<Peer, 'request' | 'notify'>;

export async function handshake(peer: Asker, opening: Opening): Promise<Handshake> {
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

async function initialize(peer: Asker, opening: Opening, options: RequestOptions): Promise<Handshake> {
  const { capabilities, clientInfo = { name: 'mcpx', version: VERSION }, name } = opening;
  const params = {
    protocolVersion: LEGACY_VERSIONS[0],
    capabilities,
    clientInfo,
  } satisfies InitializeRequest['params'];
  const hello = readHello(name, await peer.request('initialize', params, options));
  peer.notify('notifications/initialized' satisfies InitializedNotification['method']);
  return hello;
}

/** Returns undefined if the upstream does not support the modern era; rejects if the legacy era would fail as well. */
async function discover(peer: Asker, opening: Opening, options: RequestOptions): Promise<Handshake | undefined> {
  const { channel, name } = opening;
  channel.speak(envelopeOf(opening));
  const asked = () => peer.request('server/discover', {}, options);
  try {
    // A server that refuses our version but lists it as supported is asked once more.
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

/**
 * Returns true if the upstream refused with an RPC error or an HTTP status. An auth error is not such a refusal: it
 * occurs in both eras.
 */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return true;
  return error instanceof McpxError && error.code !== 'auth' && isRecord(error.data) && 'status' in error.data;
}

/** Returns true if the error lists our version as supported. */
function speaksOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== UNSUPPORTED_VERSION || !isRecord(error.data)) return false;
  const { supported } = error.data;
  return Array.isArray(supported) && supported.includes(MODERN_VERSION);
}

function isSilence(error: unknown): boolean {
  return error instanceof McpxError && (error.code === 'timeout' || error.code === 'protocol');
}

function readDiscovery(name: string, result: unknown): Handshake | undefined {
  if (!isRecord(result) || !Array.isArray(result.supportedVersions)) return undefined;
  if (!result.supportedVersions.includes(MODERN_VERSION)) return undefined;
  const meta = isRecord(result._meta) ? result._meta : {};
  const info = meta[SERVER_META] ?? result.serverInfo;
  return { era: 'modern', protocolVersion: MODERN_VERSION, ...about(name, { ...result, serverInfo: info }) };
}

/**
 * Reads the result of `initialize`: name and capabilities may be missing, as in some servers, but the version must be
 * known.
 */
function readHello(name: string, result: unknown): Handshake {
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

/** The maximum length in characters; instructions go into the context of a model. */
const MAX_INSTRUCTIONS = 16 * 1024;

function about(name: string, { capabilities, serverInfo, instructions }: Record<string, unknown>) {
  const info = isRecord(serverInfo) ? serverInfo : {};
  return {
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: { ...info, name: String(info.name ?? name), version: String(info.version ?? '') },
    ...(typeof instructions === 'string' ? { instructions: cut(clean(instructions), MAX_INSTRUCTIONS) } : {}),
  };
}
