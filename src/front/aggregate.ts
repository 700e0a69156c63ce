/** The transparent front: every tool of the profile under its exposed name; nothing but names is changed. */
import type { Item, Tool } from '../catalog/list.ts';
import { exposeNames, mayBeOf, type Named, type NameTable } from '../catalog/names.ts';
import { McpxError, RpcError } from '../errors.ts';
import type { ServerView, ToolResult, Way } from '../router/router.ts';
import { INVALID_PARAMS } from '../wire/message.ts';
import { dialectOf } from './dialect.ts';
import { errorResult } from './explain.ts';
import type { Face, FrontDeps } from './front.ts';
import { joinInstructions } from './instructions.ts';
import { exposeLinks, exposePage } from './links.ts';
import { provenance } from './natives.ts';
import { seek } from './seek.ts';

interface Target extends Named {
  tool: Tool;
}

export function createAggregate(deps: FrontDeps): Face {
  const { router, settings } = deps;
  let known: { revision: string; table: NameTable<Target> } | undefined;
  const table = () => {
    const revision = router.revision();
    if (known?.revision === revision) return known.table;
    const items = router
      .servers()
      .flatMap(({ name: server, entry, tools }) =>
        tools.map((tool) => ({ server, label: entry.spec.label, name: tool.name, tool })),
      );
    known = { revision, table: exposeNames(items, settings.naming).table };
    return known.table;
  };
  return {
    instructions: () => joinInstructions(router.servers()),
    tool: (name) => table().get(name)?.tool,
    tools: () => [...table()].map(([name, target]) => exposed(name, target)),
    call(name, args, way) {
      const target = table().get(name);
      if (target !== undefined) return callTarget(target, args, way);
      const sought = {
        find: () => table().get(name),
        mayHave: ({ name: server, entry }: ServerView) => mayBeOf(entry.spec.label ?? server, name, settings.naming),
      };
      return seek(sought, deps).then((found) => callTarget(found ?? missing(name, way), args, way));
    },
  };

  function callTarget({ server, name: tool }: Named, args: unknown, way: Way): Promise<ToolResult> {
    return router.call({ ...way, server, tool, arguments: args, mode: 'verbatim', questions: 'pass' }).then(
      (result) => exposeLinks(result, server, settings.naming.resources),
      (error) => {
        // Held back by mcpx and not by the server: the model is told, and can tell its user.
        if (error instanceof McpxError && error.code === 'refused')
          return errorResult(error, dialectOf(settings.front));
        throw error;
      },
    );
  }

  function missing(name: string, way: Way): never {
    router.missed('tool', (denied) => exposeNames(denied, settings.naming).table.get(name), way);
    throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
  }

  function exposed(name: string, { server, tool }: Target): Tool {
    const item = provenance(tool, server, { name });
    return { ...item, name, _meta: exposePage(item._meta as Item, server, settings.naming.resources) };
  }
}
