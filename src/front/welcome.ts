/** The answer to `initialize`: the version, what can be asked for, and who is speaking. */
import type { FrontKind } from '../config/config.ts';
import type { Router, ServerView } from '../router/router.ts';
import type { Hello } from '../upstream/connection.ts';
import { agreedVersion } from '../upstream/revisions.ts';
import { VERSION } from '../version.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Face, FrontDeps } from './front.ts';
import { extrasOf } from './tasks.ts';

interface Session {
  kind: FrontKind;
  face: Face;
  deps: Pick<FrontDeps, 'router' | 'caller' | 'settings' | 'listed'>;
}

/** What can be answered whatever the upstreams have: an empty list is no harm, and nobody has to be waited for. */
const EVERYTHING: Params = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

export async function introduce(params: Params, { kind, face, deps }: Session): Promise<Params> {
  const { caller } = deps;
  if (isRecord(params.capabilities)) caller.capabilities = params.capabilities;
  if (isClientInfo(params.clientInfo)) caller.clientInfo = params.clientInfo;
  const serverInfo = { name: 'mcpx', title: 'mcpx', version: VERSION };
  const protocolVersion = agreedVersion(params.protocolVersion);
  if (kind === 'compact') {
    // Everything becomes known meanwhile, and the answer does not wait for it.
    setImmediate(() => void deps.listed());
    return { protocolVersion, capabilities: EVERYTHING, serverInfo, ...instructionsOf(face) };
  }
  await deps.listed();
  const servers = deps.router.servers();
  const own = { serverInfo, ...instructionsOf(face), ...transparent(servers, deps.settings) };
  return { protocolVersion, capabilities: unionOf(servers, deps.router), ...own };
}

/** In front of a single server, with plain names and kept URIs, mcpx is that server. */
function transparent(servers: ServerView[], settings: FrontDeps['settings']): Params {
  const hello = onlyServer(servers, settings);
  if (hello === undefined) return {};
  const { serverInfo, instructions } = hello;
  return { serverInfo, ...(instructions !== undefined && { instructions }) };
}

/** How the server introduced itself that the aggregate front stands for, where it stands for one. */
export function onlyServer(servers: ServerView[], { naming }: FrontDeps['settings']): Hello | undefined {
  const [only, ...others] = servers;
  const isPlain = naming.style === 'plain' && naming.resources === 'keep';
  return isPlain && others.length === 0 ? only?.entry.hello : undefined;
}

/** What any upstream can do, mcpx can do; lists may change by themselves when upstreams come and go. What one that nobody has met yet can do is not ruled out: no client asks a second time. */
function unionOf(servers: ServerView[], router: Pick<Router, 'seesAll'>): Params {
  const all = servers.map(({ entry }) => entry.hello?.capabilities ?? EVERYTHING);
  const any = (capability: string) => all.some((one) => one[capability] !== undefined);
  const subscribe = all.some(({ resources }) => isRecord(resources) && resources.subscribe === true);
  return {
    // Where there is no server yet, tools are what is waited for.
    ...((any('tools') || servers.length === 0) && { tools: { listChanged: true } }),
    ...(any('prompts') && { prompts: { listChanged: true } }),
    ...(any('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
    ...(any('completions') && { completions: {} }),
    ...(any('logging') && { logging: {} }),
    ...extrasOf(servers, router),
  };
}

function instructionsOf(face: Face): { instructions?: string } {
  const instructions = face.instructions();
  return instructions === undefined ? {} : { instructions };
}

function isClientInfo(value: unknown): value is { name: string; version: string } {
  return isRecord(value) && typeof value.name === 'string' && typeof value.version === 'string';
}
