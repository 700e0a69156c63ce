/** The compact front: every tool of the profile behind `inspect` and `exec`. */
import type { Tool } from '../catalog/list.ts';
import { RpcError } from '../errors.ts';
import type { ToolResult, Way } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import { createExec } from './exec.ts';
import { errorResult } from './explain.ts';
import type { Face, FrontDeps } from './front.ts';
import { createInspect } from './inspect.ts';
import { DESCRIPTION_LIMIT, renderMenu } from './menu.ts';

const INSPECT =
  'Look tools up before running them with exec. No arguments: the servers. server_name: its tools. server_name and tool_name: the full signature.';
const EXEC = 'Run a tool found with inspect.';
const INSTRUCTIONS =
  'Many MCP servers behind two tools. The description of inspect lists what there is; inspect a tool for its signature, then exec it.';

/** Clients that hide tools behind a search of their own keep these two in sight. */
const META = { 'anthropic/alwaysLoad': true };

const STRING = { type: 'string' };

const INSPECT_TOOL: Tool = {
  name: 'inspect',
  title: 'Look up tools',
  inputSchema: { type: 'object', properties: { server_name: STRING, tool_name: STRING } },
  annotations: { readOnlyHint: true, openWorldHint: false },
  _meta: META,
};

const EXEC_TOOL: Tool = {
  name: 'exec',
  title: 'Run a tool',
  description: EXEC,
  inputSchema: {
    type: 'object',
    properties: { server_name: STRING, tool_name: STRING, arguments: { type: 'object' } },
    required: ['server_name', 'tool_name'],
  },
  annotations: { readOnlyHint: false, openWorldHint: true },
  _meta: META,
};

export function createCompact(deps: FrontDeps): Face {
  const { router, settings } = deps;
  const handlers = new Map<string, (args: Params, way: Way) => Promise<ToolResult>>([
    ['inspect', createInspect(deps)],
    ['exec', createExec(deps)],
  ]);

  const describe = () => {
    const budget = Math.min(settings.front.menuBudget, DESCRIPTION_LIMIT) - INSPECT.length - 2;
    const { maxInstructions } = settings.compression;
    const menu = renderMenu(router.servers(), { budget, maxInstructions });
    return menu === '' ? INSPECT : `${INSPECT}\n\n${menu}`;
  };

  return {
    instructions: () => INSTRUCTIONS,
    tools: () => [{ ...INSPECT_TOOL, description: describe() }, EXEC_TOOL],
    async call(name, args, way) {
      const handler = handlers.get(name);
      if (handler === undefined) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
      try {
        return await handler(isRecord(args) ? args : {}, way);
      } catch (error) {
        return errorResult(error);
      }
    },
  };
}
