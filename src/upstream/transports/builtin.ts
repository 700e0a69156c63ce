/** The built-in servers: each toolbox runs inside mcpx and serves MCP over an in-memory channel. */
import type { CallToolResult, InitializeResult, ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import { McpxError, messageOf, RpcError, toRpcError } from '../../errors.ts';
import { plain } from '../../lossless-json.ts';
import { LEGACY_VERSIONS } from '../../mcp/protocol-versions.ts';
import { VERSION } from '../../version.ts';
import {
  INVALID_PARAMS,
  isRecord,
  isRequest,
  METHOD_NOT_FOUND,
  type Message,
  type Params,
  type RpcRequest,
} from '../../wire/message.ts';
import type { Channel, Receiver } from '../../wire/peer.ts';
import { createMath } from '../toolbox/math.ts';
import { createMemory } from '../toolbox/memory.ts';
import { createTime } from '../toolbox/time.ts';
import type { BuiltinTool, Toolbox } from '../toolbox/toolbox.ts';

export const TOOLBOXES = {
  time: () => createTime(),
  math: () => createMath(),
  memory: () => createMemory(),
} satisfies Record<string, () => Toolbox>;

/** Opens a channel to a new instance of the toolbox `name`: `memory` loses its data when it is closed. */
export function openBuiltin(name: string): Channel {
  const create = new Map<string, () => Toolbox>(Object.entries(TOOLBOXES)).get(name);
  if (!create) {
    throw new McpxError('config', `there is no built-in server "${name}"`, {
      hint: `use one of ${Object.keys(TOOLBOXES).join(', ')}`,
    });
  }
  return channelTo(create());
}

function channelTo(toolbox: Toolbox): Channel {
  let receiver: Receiver | undefined;
  let closed = false;
  return {
    start(given) {
      receiver = given;
    },
    send(message) {
      if (closed) throw new McpxError('unreachable', `the built-in server "${toolbox.name}" is closed`);
      if (!isRequest(message)) return;
      // The response comes on a later turn: a peer may not expect it before its send() has returned.
      setImmediate(async () => {
        const response = await respond(toolbox, message);
        if (!closed) receiver?.message(response);
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      receiver?.closed();
    },
  };
}

async function respond(toolbox: Toolbox, { id, method, params = {} }: RpcRequest): Promise<Message> {
  try {
    const answer = METHODS.get(method);
    if (!answer) throw new RpcError(METHOD_NOT_FOUND, `method not found: "${method}"`);
    return { jsonrpc: '2.0', id, result: await answer(toolbox, params) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: toRpcError(error) };
  }
}

const METHODS: ReadonlyMap<string, (toolbox: Toolbox, params: Params) => unknown> = new Map([
  ['initialize', initialize],
  ['ping', () => ({})],
  ['tools/list', listTools],
  ['tools/call', callTool],
]);

function initialize(toolbox: Toolbox, params: Params): unknown {
  const asked = params.protocolVersion;
  return {
    protocolVersion: LEGACY_VERSIONS.find((version) => version === asked) ?? LEGACY_VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: toolbox.name, title: toolbox.title, version: VERSION },
    instructions: toolbox.instructions,
  } satisfies InitializeResult;
}

function listTools(toolbox: Toolbox, params: Params): unknown {
  if (params.cursor !== undefined) throw new RpcError(INVALID_PARAMS, 'unknown cursor: the list has one page');
  return { tools: toolbox.tools.map(({ run: _run, ...definition }) => definition) } satisfies ListToolsResult;
}

async function callTool(toolbox: Toolbox, params: Params): Promise<unknown> {
  const tool = toolbox.tools.find((candidate) => candidate.name === params.name);
  if (!tool) throw new RpcError(INVALID_PARAMS, `unknown tool: "${String(params.name)}"`);
  const args = plain(params.arguments ?? {});
  if (!isRecord(args)) throw new RpcError(INVALID_PARAMS, '"arguments" must be an object');
  return runTool(tool, args);
}

async function runTool(tool: BuiltinTool, args: Record<string, unknown>): Promise<unknown> {
  try {
    const value = await tool.run(args);
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    const structured = isRecord(value) && { structuredContent: value };
    return { content: [{ type: 'text', text }], ...structured } satisfies CallToolResult;
  } catch (error) {
    const hint = error instanceof McpxError && error.hint !== undefined ? `\n${error.hint}` : '';
    const text = `${messageOf(error)}${hint}`;
    return { content: [{ type: 'text', text }], isError: true } satisfies CallToolResult;
  }
}
