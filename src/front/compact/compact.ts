/** The compact front: gives access to every tool of the profile through `inspect` and `exec`. */
import type { Tool } from '../../catalog/listing.ts';
import type { Settings } from '../../config/config.ts';
import { RpcError } from '../../errors.ts';
import { asName } from '../../render/text.ts';
import type { RequestContext, ServerView, ToolResult } from '../../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../../wire/message.ts';
import type { Face, FrontDeps } from '../front-interface.ts';
import { descriptionLimit } from '../known-clients.ts';
import { isForClient } from '../url-elicitation.ts';
import { dialectOf } from './dialect.ts';
import { createExec } from './exec-tool.ts';
import { errorResult } from './explain.ts';
import { createInspect, MENU_WAIT } from './inspect-tool.ts';
import { renderMenu } from './menu.ts';
import { createResources } from './resources-tool.ts';
import { hasResources, instructionsOf, lookText, toolsOf } from './tool-definitions.ts';

/** Returns the tools that a client lists; the menu fits the client's limit for descriptions. */
export function compactTools(
  servers: ServerView[],
  { front, compression }: Pick<Settings, 'front' | 'compression'>,
  clientInfo?: { name: string; version?: string },
): Tool[] {
  const lookUp = lookText(front, servers);
  const most = Math.min(front.menuBudget, descriptionLimit(clientInfo));
  const { maxInstructions } = compression;
  const menu = renderMenu(servers, { budget: most - lookUp.length - 2, maxInstructions });
  return toolsOf(front, servers, menu === '' ? lookUp : `${lookUp}\n\n${menu}`);
}

export function createCompact(deps: FrontDeps): Face {
  const { router, caller, savings, search } = deps;
  let counted = false;
  /** True if the client's last list contained the `resources` tool. */
  let listed: boolean | undefined;
  const dialect = dialectOf(deps.settings.front);
  const instructions = () => instructionsOf(deps.settings.front, router.servers());
  const handlers = new Map<string, (args: Params, way: RequestContext) => Promise<ToolResult>>([
    [dialect.inspect, createInspect(deps)],
    [dialect.exec, createExec(deps, { runs: 'everything' })],
    [dialect.read, createExec(deps, { runs: 'read-only' })],
    ['resources', createResources(deps)],
  ]);
  const isOffered = (name: string) => name !== dialect.read || deps.settings.front.execSplit === true;

  const listTools = (): Tool[] => {
    const servers = router.servers();
    const tools = compactTools(servers, deps.settings, caller.clientInfo);
    listed = hasResources(servers);
    // Counts the menu once per client, after the response is sent.
    if (!counted) setImmediate(() => savings.menu(servers, { tools, instructions: instructions() }, caller));
    search.prepare(() => ({ servers: router.servers(), revision: router.revision() }));
    counted = true;
    return tools;
  };

  return {
    instructions,
    listWait: MENU_WAIT,
    tools: listTools,
    affected(kinds) {
      const appears = kinds.has('resources') && listed !== undefined && listed !== hasResources(router.servers());
      return appears ? [...kinds, 'tools'] : kinds;
    },
    async call(name, args, way) {
      const handler = isOffered(name) ? handlers.get(name) : undefined;
      if (handler === undefined) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${asName(name)}`);
      try {
        const answer = await handler(isRecord(args) ? args : {}, way);
        if (name === dialect.inspect) savings.lookup(answer);
        return answer;
      } catch (error) {
        if (isForClient(error, caller)) throw error;
        return errorResult(error, dialect);
      }
    },
  };
}
