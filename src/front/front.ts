/** The MCP methods of a profile: those of both fronts, and the tools of the compact or the aggregate one. */
import type { EmptyResult } from '@modelcontextprotocol/sdk/types.js';
import { pageOf } from '../catalog/pagination.ts';
import type { FrontKind, Settings } from '../config/config.ts';
import { RpcError } from '../errors.ts';
import type { RequestContext, ToolResult } from '../router/router.ts';
import { INVALID_PARAMS, type Params } from '../wire/message.ts';
import { createAggregate } from './aggregate.ts';
import { createCompact } from './compact/compact.ts';
import { createSharedNames } from './exposed-tables.ts';
import type { Client, Face, Front, Method } from './front-interface.ts';
import { introduce } from './initialize.ts';
import { PROMPT_AND_RESOURCE_METHODS } from './prompts-resources.ts';

const FACES = {
  compact: createCompact,
  aggregate: createAggregate,
} as const satisfies Record<FrontKind, () => Face>;

export function createFront(kind: FrontKind, settings: Settings): Front {
  const face: Face = FACES[kind]();
  const methods = new Map<string, Method>([
    ...PROMPT_AND_RESOURCE_METHODS,
    ...face.methods,
    ['initialize', (params, _, client) => introduce(params, { kind, face, client })],
    ['ping', () => ({}) satisfies EmptyResult],
    [
      'tools/list',
      (params, _, client) => client.listed(face.listWait).then(() => pageOf(face.tools(client), 'tools', params)),
    ],
    ['tools/call', (params, way, client) => callTool(face, params, way, client)],
  ]);
  return {
    kind,
    settings,
    face,
    method: (name) => methods.get(name) ?? face.extension?.(name),
    sharedNames: createSharedNames(),
  };
}

function callTool(face: Face, params: Params, way: RequestContext, client: Client): Promise<ToolResult> {
  const { name, arguments: args } = params;
  if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, '"name" must be a string');
  const extra = extraOf(params, way);
  return face.call(name, args, extra === undefined ? way : { ...way, extra }, client);
}

/** Returns the params of a call other than `name` and `arguments`; undefined for most calls. */
function extraOf(params: Params, { inputs }: RequestContext): Params | undefined {
  let extra: Params | undefined;
  for (const key of Object.keys(params)) {
    if (key === 'name' || key === 'arguments') continue;
    // In the modern era the server, not the client, decides whether a call becomes a task.
    if (key === 'task' && inputs !== undefined) continue;
    extra = { ...extra, [key]: params[key] };
  }
  return extra;
}
