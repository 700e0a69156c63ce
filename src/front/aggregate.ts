/** The aggregate front: lists every tool of the profile under its exposed name; changes only names and URIs. */

import { exposeNames, mayBeOf, type Named, type NameTable } from '../catalog/exposed-names.ts';
import type { Item, Tool } from '../catalog/listing.ts';
import { McpxError, RpcError } from '../errors.ts';
import type { RequestContext, ServerView, ToolResult } from '../router/router.ts';
import { INVALID_PARAMS } from '../wire/message.ts';
import { dialectOf } from './compact/dialect.ts';
import { errorResult } from './compact/explain.ts';
import type { Face, FrontDeps } from './front-interface.ts';
import { joinInstructions } from './instructions.ts';
import { provenance } from './prompts-resources.ts';
import { refreshAndFind } from './refresh-and-find.ts';
import { exposePage, rewriteUris } from './rewrite-uris.ts';

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
      return refreshAndFind(sought, deps).then((found) =>
        callTarget(found ?? unlisted(name) ?? missing(name, way), args, way),
      );
    },
  };

  function callTarget({ server, name: tool }: Named, args: unknown, way: RequestContext): Promise<ToolResult> {
    return router.call({ ...way, server, tool, arguments: args, mode: 'verbatim', questions: 'pass' }).then(
      (result) => rewriteUris(result, server, settings.naming.resources),
      (error) => {
        // mcpx refused the call, not the server: the model gets the reason as a tool error.
        if (error instanceof McpxError && error.code === 'refused')
          return errorResult(error, dialectOf(settings.front));
        throw error;
      },
    );
  }

  /**
   * Returns the tool that the name means on the first server that could not be listed and may have it. The call is
   * recorded, and its error is the server's failure.
   */
  function unlisted(name: string): Named | undefined {
    const { style, separator } = settings.naming;
    const down = router.servers().filter(({ name: server }) => router.awaits(server));
    const prefixes = down.map(({ name: server, entry }) => ({
      server,
      prefix: `${entry.spec.label ?? server}${separator}`,
    }));
    const named = prefixes.find(({ prefix }) => name.startsWith(prefix));
    if (named !== undefined) return { server: named.server, name: name.slice(named.prefix.length) };
    return style === 'prefix' || down[0] === undefined ? undefined : { server: down[0].name, name };
  }

  function missing(name: string, way: RequestContext): never {
    router.missed('tool', (denied) => exposeNames(denied, settings.naming).table.get(name), way);
    throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
  }

  function exposed(name: string, { server, tool }: Target): Tool {
    const item = provenance(tool, server, { name });
    return { ...item, name, _meta: exposePage(item._meta as Item, server, settings.naming.resources) };
  }
}
