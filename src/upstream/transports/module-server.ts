/** The child process of a local module: an MCP server on two streams whose tools are the exports of one file. */

import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { InitializeResult } from '@modelcontextprotocol/sdk/types.js';
import { toAbortSignal } from '../../cancel-signal.ts';
import { McpxError, messageOf, RpcError } from '../../errors.ts';
import { plain } from '../../lossless-json.ts';
import { LEGACY_VERSIONS } from '../../mcp/protocol-versions.ts';
import { VERSION } from '../../version.ts';
import { INVALID_PARAMS, isRecord, METHOD_NOT_FOUND, type Params, type RpcRequest } from '../../wire/message.ts';
import { createPeer, type Incoming } from '../../wire/peer.ts';
import { createStreamChannel } from '../../wire/stream.ts';
import { definitionOf, type LocalModule, type ModuleContext, readModule, runTool } from './module-tools.ts';

export interface ModuleServerOptions {
  /** The absolute path of the module. */
  file: string;
  input: Readable;
  output: Writable;
  stop: AbortSignal;
}

/** Serves the module; resolves when the input has ended or `stop` aborts; rejects if the file cannot be used. */
export async function serveModule({ file, input, output, stop }: ModuleServerOptions): Promise<void> {
  const module = readModule(await load(file), file);
  const ended = new Promise<void>((resolve) => {
    const peer = createPeer(createStreamChannel({ input, output, answerInvalid: true, overflow: 'keep-answers' }), {
      subject: 'mcpx',
      request: async (request, incoming) => answer(module, basename(file), request, incoming),
      closed: () => resolve(),
    });
    stop.addEventListener('abort', () => void peer.close(), { once: true });
  });
  await ended;
}

async function load(file: string): Promise<unknown> {
  try {
    return { ...(await import(pathToFileURL(file).href)) };
  } catch (cause) {
    throw new McpxError('config', `module "${file}" cannot be loaded: ${messageOf(cause)}`, { cause });
  }
}

function answer(module: LocalModule, name: string, { method, params = {} }: RpcRequest, incoming: Incoming): unknown {
  if (method === 'initialize') return introduce(module, name, params);
  if (method === 'ping') return {};
  if (method === 'tools/list') return { tools: [...module.tools.values()].map(definitionOf) };
  if (method === 'tools/call') return callTool(module, params, incoming);
  throw new RpcError(METHOD_NOT_FOUND, `method not found: "${method}"`);
}

function introduce({ instructions }: LocalModule, name: string, { protocolVersion: asked }: Params): unknown {
  return {
    protocolVersion: LEGACY_VERSIONS.find((version) => version === asked) ?? LEGACY_VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name, version: VERSION },
    ...(instructions === undefined ? {} : { instructions }),
  } satisfies InitializeResult;
}

function callTool({ tools }: LocalModule, params: Params, incoming: Incoming): Promise<unknown> {
  const tool = tools.get(String(params.name));
  if (tool === undefined) throw new RpcError(INVALID_PARAMS, `unknown tool: "${String(params.name)}"`);
  const args = plain(params.arguments ?? {});
  if (!isRecord(args)) throw new RpcError(INVALID_PARAMS, '"arguments" must be an object');
  const context: ModuleContext = {
    signal: toAbortSignal(incoming.signal),
    progress: (progress, total, message) => incoming.progress?.({ progress, ...defined({ total, message }) }),
  };
  return runTool(tool, args, context);
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
