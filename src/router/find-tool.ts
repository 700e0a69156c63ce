/** Finds the server and tool of a call; lists servers that were never listed, and again for an unknown name. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { ListedTool } from '../catalog/listing.ts';
import type { McpxError } from '../errors.ts';
import { unknownServer, unknownTool } from './not-found.ts';
import type { Views } from './views.ts';

export interface FinderDeps {
  catalog: Pick<Catalog, 'ensure'>;
  /** Lists a server again, for a name that the catalog does not have. */
  verify: (server: string) => Promise<void>;
  views: Views;
  configFile?: string | undefined;
}

export interface Finder {
  /** Returns a server and lists it first if necessary; throws not_found with the nearest names. */
  known(name: string): Promise<ServerEntry>;
  /** Returns a tool. Throws not_found with the nearest names, or the error that kept its server from being listed. */
  find(server: string, tool: string): Promise<ListedTool>;
  missing(server: string, tool: string): McpxError;
}

export function createFinder({ catalog, verify, views, configFile }: FinderDeps): Finder {
  async function known(name: string): Promise<ServerEntry> {
    const entry = views.entry(name);
    if (entry === undefined) throw unknownServer(name, views.entries(), configFile);
    if (entry.listing.kind === 'listed') return entry;
    await catalog.ensure(name);
    return views.entry(name) ?? entry;
  }

  async function find(server: string, tool: string): Promise<ListedTool> {
    const entry = await known(server);
    const found = views.tool(server, tool);
    if (found !== undefined) return found;
    // The server may have added the tool after it was listed.
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

  return { known, find, missing };
}
