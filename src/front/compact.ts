/** The compact front: every tool of the profile behind `inspect` and `exec`. */
import type { Tool } from '../catalog/list.ts';
import { RpcError } from '../errors.ts';
import type { ServerView, ToolResult, Way } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import { execAnnotations } from './annotations.ts';
import { descriptionLimit } from './clients.ts';
import { dialectOf } from './dialect.ts';
import { createExec } from './exec.ts';
import { errorResult } from './explain.ts';
import type { Face, FrontDeps } from './front.ts';
import { createInspect } from './inspect.ts';
import { renderMenu } from './menu.ts';

const INSPECT =
  'Look up the tools of the MCP servers below, then run them with exec. No arguments: the servers. server_name: its tools. server_name and tool_name: the full signature.';
const EXEC = 'Run a tool found with inspect.';
const INSTRUCTIONS =
  'Many MCP servers behind two tools. The description of inspect lists what there is; inspect a tool for its signature, then exec it.';

/**
 * For Claude Code: tools that are not hidden behind its own search, what that search finds them by all the same, and
 * results of up to 500,000 characters, the most it allows: https://code.claude.com/docs/en/mcp
 */
const metaFor = (searchHint: string) => ({
  'anthropic/alwaysLoad': true,
  'anthropic/searchHint': searchHint,
  'anthropic/maxResultSizeChars': 500_000,
});

const STRING = { type: 'string' };
const INTEGER = { type: 'integer' };

const INSPECT_TOOL: Tool = {
  name: 'inspect',
  title: 'Look up tools',
  inputSchema: {
    type: 'object',
    properties: {
      server_name: STRING,
      tool_name: STRING,
      result: STRING,
      offset: INTEGER,
      limit: INTEGER,
      select: STRING,
      query: STRING,
    },
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  _meta: metaFor('find, list and describe the tools of every connected MCP server'),
};

const EXEC_TOOL: Tool = {
  name: 'exec',
  title: 'Run a tool',
  description: EXEC,
  inputSchema: {
    type: 'object',
    properties: {
      server_name: STRING,
      tool_name: STRING,
      arguments: { type: 'object' },
      select: { type: 'string', description: 'JMESPath' },
      calls: {
        type: 'array',
        items: { type: 'object' },
        description: 'batch; {"$from":"0.items[0].id"} in arguments is from result 0',
      },
    },
  },
  _meta: metaFor('run, call or execute a tool of any connected MCP server'),
};

export function createCompact(deps: FrontDeps): Face {
  const { router, caller, settings, meter } = deps;
  let counted = false;
  const dialect = dialectOf(settings.front);
  const handlers = new Map<string, (args: Params, way: Way) => Promise<ToolResult>>([
    ['inspect', createInspect(deps)],
    ['exec', createExec(deps, { runs: 'everything' })],
  ]);

  const describe = (servers: ServerView[]) => {
    const most = Math.min(settings.front.menuBudget, descriptionLimit(caller.clientInfo?.name));
    const { maxInstructions } = settings.compression;
    const menu = renderMenu(servers, { budget: most - INSPECT.length - 2, maxInstructions });
    return menu === '' ? INSPECT : `${INSPECT}\n\n${menu}`;
  };

  const listTools = (): Tool[] => {
    const servers = router.servers();
    const tools = [
      { ...INSPECT_TOOL, description: describe(servers) },
      { ...EXEC_TOOL, annotations: execAnnotations(servers) },
    ];
    // Once per client, however often it asks, and when it has its answer.
    if (!counted) setImmediate(() => meter.menu(servers, { tools, instructions: INSTRUCTIONS }));
    counted = true;
    return tools;
  };

  return {
    instructions: () => INSTRUCTIONS,
    tools: listTools,
    async call(name, args, way) {
      const handler = handlers.get(name);
      if (handler === undefined) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
      try {
        const answer = await handler(isRecord(args) ? args : {}, way);
        if (name === 'inspect') meter.lookup(answer);
        return answer;
      } catch (error) {
        return errorResult(error, dialect);
      }
    },
  };
}
