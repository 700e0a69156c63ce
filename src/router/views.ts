/** The catalog as one client sees it: without the servers and objects that its access rules deny. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { Named } from '../catalog/exposed-names.ts';
import type { Item, ListedTool, Tool } from '../catalog/listing.ts';
import type { SessionPins } from '../catalog/pins/pins.ts';
import type { McpxError } from '../errors.ts';
import type { Access, Kind } from '../policy/access.ts';

export interface ServerView {
  name: string;
  entry: ServerEntry;
  tools: Tool[];
  resources: Item[];
  templates: Item[];
  prompts: Item[];
}

export interface Views {
  /** Servers with at least one permitted object, in lookup order: local modules first, then the config's order. */
  entries(): ServerEntry[];
  entry(name: string): ServerEntry | undefined;
  /** A string that changes whenever the view may have changed. */
  revision(): string;
  tool(server: string, name: string): ListedTool | undefined;
  /** Returns a tool of a server that is listed; undefined if the server has to be listed first. */
  ready(server: string, name: string): ListedTool | undefined;
  /** True if the client may use the server and the server is not listed yet. */
  awaits(server: string): boolean;
  /** The tool as this client sees it; undefined if its changed definition is blocked. */
  shown(server: string, listed: ListedTool): Tool | undefined;
  /** True if the server must be listed on the connection of a call before the call runs. */
  relies(server: string): boolean;
  /** The error if the tool must not run because its definition is new or has changed. */
  held(server: string, listed: ListedTool): McpxError | undefined;
  of(entry: ServerEntry): ServerView;
  /** True if the tool exists and the client may not use it. */
  denies(server: string, tool: string): boolean;
  /** Listed objects that the client may not use; resources include templates. */
  denied(kind: Kind): Named[];
}

export interface ViewsDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'revision'>;
  access: Access;
  /** The key of the set of capabilities that the client declares. */
  offered: () => string | undefined;
  pins: SessionPins;
  /** A number that changes whenever the result of `pins` may have changed. */
  pinned: () => number;
}

export function createViews({ catalog, access, offered, pins, pinned }: ViewsDeps): Views {
  let hidden: ({ revision: number } & Record<Kind, Named[]>) | undefined;
  const isDenied = (server: string, kind: Kind, name: string) => !access.allows({ server, kind, name });

  const deniedOf = (kind: Kind, names: (entry: ServerEntry) => string[]): Named[] =>
    catalog.servers(offered()).flatMap((entry) =>
      names(entry)
        .filter((name) => isDenied(entry.name, kind, name))
        .map((name) => ({ server: entry.name, label: entry.spec.label, name })),
    );

  // The text is cached: it is read for every call and rarely changes.
  let seen = { catalog: -1, pinned: -1, offered: '', text: '' };
  const revision = () => {
    const listed = catalog.revision;
    const held = pinned();
    const set = offered() ?? '';
    if (seen.catalog !== listed || seen.pinned !== held || seen.offered !== set)
      seen = { catalog: listed, pinned: held, offered: set, text: `${listed} ${held} ${set}` };
    return seen.text;
  };

  const entryOf = (name: string) => (access.allowsServer(name) ? catalog.server(name, offered()) : undefined);
  const tool: Views['tool'] = (server, name) =>
    isDenied(server, 'tool', name) ? undefined : catalog.find(server, name, offered());

  return {
    revision,
    entries: () => catalog.servers(offered()).filter(({ name }) => access.allowsServer(name)),
    entry: entryOf,
    tool,
    ready(server, name) {
      const set = offered();
      if (catalog.server(server, set)?.listing.kind !== 'listed' || isDenied(server, 'tool', name)) return undefined;
      return catalog.find(server, name, set);
    },
    awaits(server) {
      const entry = entryOf(server);
      return entry !== undefined && entry.listing.kind !== 'listed';
    },
    shown(server, listed) {
      const entry = catalog.server(server, offered());
      return entry && pins.shown(entry, [listed])[0]?.tool;
    },
    relies(server) {
      const entry = catalog.server(server, offered());
      return entry !== undefined && pins.relies(entry);
    },
    held(server, listed) {
      const entry = catalog.server(server, offered());
      return entry && pins.held(entry, listed);
    },
    // A server that has no tools yet has shown the client nothing, so it is not passed to `pins`.
    of: (entry) => view(entry, access, entry.offer.tools.length === 0 ? [] : pins.shown(entry, entry.offer.tools)),
    denies: (server, tool) => catalog.find(server, tool, offered()) !== undefined && isDenied(server, 'tool', tool),
    denied(kind) {
      const { revision } = catalog;
      if (hidden?.revision !== revision) {
        const tool = deniedOf('tool', ({ offer }) => offer.tools.map((listed) => listed.tool.name));
        const prompt = deniedOf('prompt', ({ offer }) => offer.prompts.map(({ name }) => String(name)));
        const resource = deniedOf('resource', ({ offer: { resources, templates } }) => [
          ...resources.map(({ uri }) => String(uri)),
          ...templates.map(({ uriTemplate }) => String(uriTemplate)),
        ]);
        hidden = { revision, tool, prompt, resource };
      }
      return hidden[kind];
    },
  };
}

function view(entry: ServerEntry, access: Access, tools: ListedTool[]): ServerView {
  const { name: server, offer } = entry;
  const isOpen = access.allowsAll(server);
  // Clients that may use all tools share one list, which caches are keyed by.
  const definitions = tools === offer.tools ? entry.definitions : tools.map(({ tool }) => tool);
  const seen = <T extends Item>(items: T[], kind: Kind, key: string): T[] =>
    isOpen ? items : items.filter((item) => access.allows({ server, kind, name: String(item[key]) }));
  return {
    name: server,
    entry,
    tools: seen(definitions, 'tool', 'name'),
    resources: seen(offer.resources, 'resource', 'uri'),
    templates: seen(offer.templates, 'resource', 'uriTemplate'),
    prompts: seen(offer.prompts, 'prompt', 'name'),
  };
}
