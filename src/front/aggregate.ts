/** The transparent front: every tool of the profile under its exposed name; nothing but names is changed. */
import type { Tool } from '../catalog/list.ts';
import { exposeNames, type Named, type NameTable } from '../catalog/names.ts';
import { RpcError } from '../errors.ts';
import { INVALID_PARAMS, isRecord } from '../wire/message.ts';
import type { Face, FrontDeps } from './front.ts';

interface Target extends Named {
  tool: Tool;
}

export function createAggregate({ router, settings, listed }: FrontDeps): Face {
  let known: { revision: number; table: NameTable<Target> } | undefined;
  const table = () => {
    if (known?.revision === router.revision()) return known.table;
    const items = router
      .servers()
      .flatMap(({ name: server, tools }) => tools.map((tool) => ({ server, name: tool.name, tool })));
    known = { revision: router.revision(), table: exposeNames(items, settings.naming).table };
    return known.table;
  };
  return {
    instructions: () => undefined,
    tools: () => [...table()].map(([name, { server, tool }]) => exposed(name, server, tool)),
    async call(name, args, { caller, signal, progress, meta }) {
      if (!table().has(name)) await listed();
      const target = table().get(name);
      if (target === undefined) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
      return router.call({
        server: target.server,
        tool: target.name,
        arguments: args,
        caller,
        signal,
        mode: 'verbatim',
        ...(progress && { progress }),
        ...(meta && { meta }),
      });
    },
  };
}

function exposed(name: string, server: string, tool: Tool): Tool {
  const meta = isRecord(tool._meta) ? tool._meta : {};
  return { ...tool, name, _meta: { ...meta, 'dev.mcpx/server': server, 'dev.mcpx/name': tool.name } };
}
