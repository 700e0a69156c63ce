/** The compact front: every tool of the profile behind `inspect` and `exec`. */
import type { Tool } from '../catalog/list.ts';
import type { Settings } from '../config/config.ts';
import { RpcError } from '../errors.ts';
import { asName } from '../render/text.ts';
import type { ServerView, ToolResult, Way } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import { descriptionLimit } from './clients.ts';
import { dialectOf } from './dialect.ts';
import { createExec } from './exec.ts';
import { errorResult } from './explain.ts';
import type { Face, FrontDeps } from './front.ts';
import { createInspect, MENU_WAIT } from './inspect.ts';
import { renderMenu } from './menu.ts';
import { isForClient } from './pages.ts';
import { createResources } from './resources.ts';
import { hasResources, instructionsOf, lookText, toolsOf } from './tools.ts';

/** What a client is shown of these servers; one that cuts descriptions gets them in time. */
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
  const { router, caller, meter, search } = deps;
  let counted = false;
  /** Whether the client was last shown the tool for resources. */
  let listed: boolean | undefined;
  const dialect = dialectOf(deps.settings.front);
  const instructions = () => instructionsOf(deps.settings.front, router.servers());
  const handlers = new Map<string, (args: Params, way: Way) => Promise<ToolResult>>([
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
    // Once per client, however often it asks, and when it has its answer.
    if (!counted) setImmediate(() => meter.menu(servers, { tools, instructions: instructions() }, caller));
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
        if (name === dialect.inspect) meter.lookup(answer);
        return answer;
      } catch (error) {
        if (isForClient(error, caller)) throw error;
        return errorResult(error, dialect);
      }
    },
  };
}
