/** The tools and prompts that a client sees, by their exposed names; clients without a session share them. */
import { BoundedMap } from '../bounded-map.ts';
import { exposeNames, type Named, type NameTable } from '../catalog/exposed-names.ts';
import type { Item, Tool } from '../catalog/listing.ts';
import type { Settings } from '../config/config.ts';
import { offeredKey } from '../mcp/capabilities.ts';
import type { Router } from '../router/router.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';

export interface ExposedTool extends Named {
  tool: Tool;
}

export interface ExposedPrompt extends Named {
  item: Item;
}

export interface ExposedTables {
  tools(): NameTable<ExposedTool>;
  prompts(): NameTable<ExposedPrompt>;
}

/** The tables of one revision of the catalog; each is made when it is first needed. */
export interface KnownNames {
  revision: string;
  tools?: NameTable<ExposedTool>;
  prompts?: NameTable<ExposedPrompt>;
}

/** Returns the tables of clients without a session, which see the same if they have one token and one set of capabilities. */
export type SharedNames = (client: ClientIdentity) => KnownNames;

/** Maximum number of tokens and sets whose tables are kept; the oldest are dropped first. */
const MAX_SHARED = 64;

export function createSharedNames(): SharedNames {
  const shared = new BoundedMap<string, KnownNames>(MAX_SHARED);
  return (client) => {
    const key = JSON.stringify([client.principal ?? null, offeredKey(client)]);
    const names = shared.get(key) ?? { revision: '' };
    shared.set(key, names);
    return names;
  };
}

/** Creates the tables of a client; `known` returns those that are made already. */
export function createExposedTables(
  router: Pick<Router, 'servers' | 'revision'>,
  naming: Settings['naming'],
  known: () => KnownNames,
): ExposedTables {
  const current = (): KnownNames => {
    const names = known();
    const revision = router.revision();
    if (names.revision !== revision) Object.assign(names, { revision, tools: undefined, prompts: undefined });
    return names;
  };
  return {
    tools() {
      const names = current();
      names.tools ??= exposeNames(
        router
          .servers()
          .flatMap(({ name: server, entry: { spec }, tools }) =>
            tools.map((tool) => ({ server, label: spec.label, name: tool.name, tool })),
          ),
        naming,
      ).table;
      return names.tools;
    },
    prompts() {
      const names = current();
      names.prompts ??= exposeNames(
        router
          .servers()
          .flatMap(({ name: server, entry: { spec }, prompts }) =>
            prompts.map((item) => ({ server, label: spec.label, name: String(item.name), item })),
          ),
        naming,
      ).table;
      return names.prompts;
    },
  };
}
