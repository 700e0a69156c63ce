/** Checks that a tool still has the definition that the client saw, on the connection that carries the call. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ListedTool } from '../catalog/listing.ts';
import type { McpxError } from '../errors.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { CallOptions, Precondition } from '../upstream/call-options.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Handshake } from '../upstream/handshake.ts';
import type { Params } from '../wire/message.ts';
import type { Views } from './views.ts';

export interface ShownDeps {
  catalog: Pick<Catalog, 'revision' | 'isCurrent' | 'renew'>;
  views: Pick<Views, 'relies' | 'tool' | 'held'>;
  /** Returns the error for a tool that no longer exists. */
  missing(server: string, tool: string): McpxError;
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
  readonly #params: Params;

  /** `params` are the params of the call, with the upstream's own name of the tool. */
  constructor(deps: ShownDeps, looked: Looked, connection: Connection, params: Params) {
    this.#deps = deps;
    this.#looked = looked;
    this.#connection = connection;
    this.#params = params;
  }

  isMet(handshake: Handshake): boolean {
    const { catalog, views } = this.#deps;
    if (catalog.revision === this.#looked.revision && catalog.isCurrent(this.#connection, handshake)) return true;
    return !views.relies(this.#connection.name);
  }

  async satisfy(handshake: Handshake, request: CallOptions): Promise<boolean> {
    const { catalog } = this.#deps;
    const isCurrent =
      catalog.isCurrent(this.#connection, handshake) || (await catalog.renew(this.#connection, handshake));
    if (!isCurrent) return false;
    const listed = this.#unchanged();
    Object.assign(this.#looked, { listed, revision: catalog.revision });
    this.#params.name = listed.upstreamName;
    request.repeatable = isRepeatable(listed.tool.annotations);
    return true;
  }

  /** Returns the current definition of the tool; throws if it must not run. */
  #unchanged(): ListedTool {
    const { views, missing } = this.#deps;
    const { name: server } = this.#connection;
    const { name } = this.#looked.listed.tool;
    const listed = views.tool(server, name);
    if (listed === undefined) throw missing(server, name);
    const held = views.held(server, listed);
    if (held !== undefined) throw held;
    return listed;
  }
}
