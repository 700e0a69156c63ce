/** What a call relies on: that its tool, on the conversation that the call goes on, is the one that its client was shown. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ListedTool } from '../catalog/list.ts';
import type { McpxError } from '../errors.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { CallOptions, Connection, Hello, Reliance } from '../upstream/connection.ts';
import type { Params } from '../wire/message.ts';
import type { Views } from './views.ts';

export interface ShownDeps {
  catalog: Pick<Catalog, 'revision' | 'isCurrent' | 'renew'>;
  views: Pick<Views, 'relies' | 'tool' | 'held'>;
  /** What is said of a tool that is not there any more. */
  missing(server: string, tool: string): McpxError;
}

/** A tool that may run, as far as was known at that revision of the catalog. */
export interface Looked {
  listed: ListedTool;
  revision: number;
}

/** A class, for every call has one: its functions are not made anew. */
export class ShownTool implements Reliance {
  readonly #deps: ShownDeps;
  readonly #looked: Looked;
  readonly #connection: Connection;
  readonly #params: Params;

  /** The params are those of the call: there the tool has the name that its server gives it. */
  constructor(deps: ShownDeps, looked: Looked, connection: Connection, params: Params) {
    this.#deps = deps;
    this.#looked = looked;
    this.#connection = connection;
    this.#params = params;
  }

  holds(hello: Hello): boolean {
    const { catalog, views } = this.#deps;
    if (catalog.revision === this.#looked.revision && catalog.isCurrent(this.#connection, hello)) return true;
    return !views.relies(this.#connection.name);
  }

  async renew(hello: Hello, request: CallOptions): Promise<boolean> {
    const { catalog } = this.#deps;
    const isCurrent = catalog.isCurrent(this.#connection, hello) || (await catalog.renew(this.#connection, hello));
    if (!isCurrent) return false;
    const listed = this.#unchanged();
    Object.assign(this.#looked, { listed, revision: catalog.revision });
    this.#params.name = listed.upstreamName;
    request.repeatable = isRepeatable(listed.tool.annotations);
    return true;
  }

  /** The tool as it is now; throws where it must not run. */
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
