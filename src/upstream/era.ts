/** How a conversation with an upstream begins: the `initialize` handshake of the legacy era. */
import { McpxError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { isRecord } from '../wire/message.ts';
import type { Peer, RequestOptions } from '../wire/peer.ts';
import type { Hello } from './connection.ts';

/** Newest first; the first one is asked for, each is accepted. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

/** Who we say we are. */
export interface Introduction {
  /** What a downstream really has, and nothing else. */
  capabilities: Record<string, unknown>;
  /** Default: mcpx itself. */
  clientInfo?: { name: string; version: string } | undefined;
}

export async function handshake(
  peer: Pick<Peer, 'request' | 'notify'>,
  introduction: Introduction & { name: string },
  options: RequestOptions,
): Promise<Hello> {
  const result = await peer.request(
    'initialize',
    {
      protocolVersion: LEGACY_VERSIONS[0],
      capabilities: introduction.capabilities,
      clientInfo: introduction.clientInfo ?? { name: 'mcpx', version: VERSION },
    },
    options,
  );
  const hello = readHello(introduction.name, result);
  peer.notify('notifications/initialized');
  return hello;
}

/** Lenient in what can be done without (some servers leave out their name or capabilities), strict in the version. */
function readHello(name: string, result: unknown): Hello {
  if (!isRecord(result)) throw new McpxError('protocol', `server "${name}" answered "initialize" with no object`);
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  if (!LEGACY_VERSIONS.some((version) => version === protocolVersion)) {
    throw new McpxError(
      'protocol',
      `server "${name}" speaks protocol version ${JSON.stringify(protocolVersion ?? null)}, which mcpx does not know`,
      { hint: `versions that mcpx knows: ${LEGACY_VERSIONS.join(', ')}` },
    );
  }
  const info = isRecord(serverInfo) ? serverInfo : {};
  return {
    era: 'legacy',
    protocolVersion: String(protocolVersion),
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: { ...info, name: String(info.name ?? name), version: String(info.version ?? '') },
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}
