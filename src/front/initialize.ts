/** Builds the `initialize` result: protocol version, capabilities, server info and instructions. */
import type { InitializeResult, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import type { FrontKind } from '../config/config.ts';
import { agreedVersion } from '../mcp/protocol-versions.ts';
import type { Router, ServerView } from '../router/router.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { VERSION } from '../version.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Client, Face } from './front-interface.ts';
import { extrasOf } from './task-methods.ts';

interface Introduced {
  kind: FrontKind;
  face: Face;
  client: Client;
}

/** Capabilities of the compact front, which does not wait for upstreams: a client may list something that is empty. */
const EVERYTHING = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
} satisfies ServerCapabilities;

export async function introduce(params: Params, { kind, face, client }: Introduced): Promise<Params> {
  client.identity = {
    ...client.identity,
    ...(isRecord(params.capabilities) && { capabilities: params.capabilities }),
    ...(isClientInfo(params.clientInfo) && { clientInfo: params.clientInfo }),
  };
  const serverInfo = { name: 'mcpx', title: 'mcpx', version: VERSION };
  const protocolVersion = agreedVersion(params.protocolVersion);
  if (kind === 'compact') {
    // The servers are listed in the background; the response does not wait.
    setImmediate(() => void client.listed());
    return {
      protocolVersion,
      capabilities: EVERYTHING,
      serverInfo,
      ...instructionsOf(face, client),
    } satisfies InitializeResult;
  }
  await client.listed();
  const servers = client.router.servers();
  const own = { serverInfo, ...instructionsOf(face, client), ...transparent(servers, client.settings) };
  return { protocolVersion, capabilities: unionOf(servers, client.router), ...own } satisfies InitializeResult;
}

/**
 * Returns the server's own info and instructions if mcpx stands for a single server with plain names and unchanged
 * URIs.
 */
function transparent(servers: ServerView[], settings: Client['settings']): Params {
  const handshake = onlyServer(servers, settings);
  if (handshake === undefined) return {};
  const { serverInfo, instructions } = handshake;
  return { serverInfo, ...(instructions !== undefined && { instructions }) };
}

/**
 * The handshake of the only server behind the aggregate front; undefined if there are several, or if mcpx changes
 * names.
 */
export function onlyServer(servers: ServerView[], { naming }: Client['settings']): Handshake | undefined {
  const [only, ...others] = servers;
  const isPlain = naming.style === 'plain' && naming.resources === 'keep';
  return isPlain && others.length === 0 ? only?.entry.handshake : undefined;
}

/**
 * Returns the union of the upstreams' capabilities. Lists may always change, because upstreams come and go. A server
 * that has never connected counts as capable of everything, because clients read capabilities only once.
 */
function unionOf(servers: ServerView[], router: Pick<Router, 'seesAll'>): Params {
  const all = servers.map(({ entry }): Params => entry.handshake?.capabilities ?? EVERYTHING);
  const any = (capability: string) => all.some((one) => one[capability] !== undefined);
  const subscribe = all.some(({ resources }) => isRecord(resources) && resources.subscribe === true);
  return {
    // Without any server, `tools` is announced for the servers to come.
    ...((any('tools') || servers.length === 0) && { tools: { listChanged: true } }),
    ...(any('prompts') && { prompts: { listChanged: true } }),
    ...(any('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
    ...(any('completions') && { completions: {} }),
    ...(any('logging') && { logging: {} }),
    ...extrasOf(servers, router),
  };
}

function instructionsOf(face: Face, client: Client): { instructions?: string } {
  const instructions = face.instructions(client);
  return instructions === undefined ? {} : { instructions };
}

function isClientInfo(value: unknown): value is { name: string; version: string } {
  return isRecord(value) && typeof value.name === 'string' && typeof value.version === 'string';
}
