/** Checks that a tool still has the definition that the client saw, on the connection that carries the call. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ListedTool } from '../catalog/listing.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { CallOptions, Outgoing, Precondition } from '../upstream/call-options.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Handshake } from '../upstream/handshake.ts';
import type { Finder } from './find-tool.ts';
import type { Views } from './views.ts';

export interface ShownDeps {
  catalog: Pick<Catalog, 'revision' | 'isCurrent' | 'renew'>;
  views: Pick<Views, 'relies' | 'tool' | 'held'>;
  /** Makes the error for a tool that no longer exists. */
  finder: Pick<Finder, 'missing'>;
}

/** A tool that was permitted at this revision of the catalog. */
export interface Looked {
  listed: ListedTool;
  revision: number;
}

/** One instance is created per call; a class avoids new closures each time. */
export class ShownTool implements Precondition {
  readonly #deps: ShownDeps;
  readonly #looked: Looked;
  readonly #connection: Connection;

  constructor(deps: ShownDeps, looked: Looked, connection: Connection) {
    this.#deps = deps;
    this.#looked = looked;
    this.#connection = connection;
  }

  isMet(handshake: Handshake): boolean {
    const { catalog, views } = this.#deps;
    if (catalog.revision === this.#looked.revision && catalog.isCurrent(this.#connection, handshake)) return true;
    return !views.relies(this.#connection.name);
  }

  /** Returns the request with the name and the hints that the server gives the tool now. */
  async satisfy<Options extends CallOptions>(handshake: Handshake, { params, options }: Outgoing<Options>) {
    const { catalog } = this.#deps;
    const isCurrent =
      catalog.isCurrent(this.#connection, handshake) || (await catalog.renew(this.#connection, handshake));
    if (!isCurrent) return undefined;
    const listed = this.#unchanged();
    const precondition = new ShownTool(this.#deps, { listed, revision: catalog.revision }, this.#connection);
    const repeatable = isRepeatable(listed.tool.annotations);
    return { params: { ...params, name: listed.upstreamName }, options: { ...options, repeatable, precondition } };
  }

  /** Returns the current definition of the tool; throws if it must not run. */
  #unchanged(): ListedTool {
    const { views, finder } = this.#deps;
    const { name: server } = this.#connection;
    const { name } = this.#looked.listed.tool;
    const listed = views.tool(server, name);
    if (listed === undefined) throw finder.missing(server, name);
    const held = views.held(server, listed);
    if (held !== undefined) throw held;
    return listed;
  }
}
