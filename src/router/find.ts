/** Finds the servers and tools that calls name: what nobody has listed is listed first, and asked again for a name that is not known. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { ListedTool } from '../catalog/list.ts';
import type { McpxError } from '../errors.ts';
import { unknownServer, unknownTool } from './missing.ts';
import type { Views } from './views.ts';

export interface FinderDeps {
  catalog: Pick<Catalog, 'ensure'>;
  /** Asks a server again, for a name that is not known. */
  verify: (server: string) => Promise<void>;
  views: Views;
}

export interface Finder {
  /** A server, listed first if it has not been; throws not_found with the nearest names. */
  known(name: string): Promise<ServerEntry>;
  /** A tool; throws not_found with the nearest names, and why its server cannot be reached where that is so. */
  find(server: string, tool: string): Promise<ListedTool>;
  missing(server: string, tool: string): McpxError;
  /** Whether a server that may be used has to be listed before it is known what it has. */
  awaits(server: string): boolean;
}

export function createFinder({ catalog, verify, views }: FinderDeps): Finder {
  async function known(name: string): Promise<ServerEntry> {
    const entry = views.entry(name);
    if (entry === undefined) throw unknownServer(name, views.entries());
    if (entry.listing.kind === 'listed') return entry;
    await catalog.ensure(name);
    return views.entry(name) ?? entry;
  }

  async function find(server: string, tool: string): Promise<ListedTool> {
    const entry = await known(server);
    const found = views.tool(server, tool);
    if (found !== undefined) return found;
    // What is known may be older than the tool.
    await verify(server);
    const listed = views.tool(server, tool);
    if (listed !== undefined) return listed;
    const now = views.entry(server) ?? entry;
    if (now.listing.kind === 'failed' && views.of(now).tools.length === 0) throw now.listing.error;
    throw missing(server, tool);
  }

  function missing(server: string, tool: string): McpxError {
    const entry = views.entry(server);
    return unknownTool(server, tool, entry === undefined ? [] : views.of(entry).tools);
  }

  const awaits = (server: string): boolean => {
    const entry = views.entry(server);
    return entry !== undefined && entry.listing.kind !== 'listed';
  };

  return { known, find, missing, awaits };
}
