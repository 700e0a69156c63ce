/** What a downstream may see of a profile: the catalog without what is denied. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { Item, ListedTool, Tool } from '../catalog/list.ts';
import type { Named } from '../catalog/names.ts';
import type { SessionPins } from '../catalog/pins.ts';
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
  /** Servers of which anything may be used, in the order of look-up. */
  entries(): ServerEntry[];
  entry(name: string): ServerEntry | undefined;
  /** Another one whenever what is seen may have changed. */
  revision(): string;
  tool(server: string, name: string): ListedTool | undefined;
  /** A tool as this client is to see it; undefined where it is held back. */
  shown(server: string, listed: ListedTool): Tool | undefined;
  /** Whether a call must not run before its server was listed on the connection that it goes on. */
  relies(server: string): boolean;
  /** Why a tool must not run, if so. */
  held(server: string, listed: ListedTool): McpxError | undefined;
  of(entry: ServerEntry): ServerView;
  /** Whether a tool is there and may not be used. */
  denies(server: string, tool: string): boolean;
  /** What is listed and may not be used; templates are among the resources. */
  denied(kind: Kind): Named[];
}

export interface ViewsDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'revision'>;
  access: Access;
  /** The set of capabilities that the client offers. */
  offered: () => string | undefined;
  pins: SessionPins;
  /** Another number whenever what `pins` shows changed by itself. */
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

  // Asked at every call, and nearly always the same: written only when a part of it is another.
  let seen = { catalog: -1, pinned: -1, offered: '', text: '' };
  const revision = () => {
    const [listed, held, set] = [catalog.revision, pinned(), offered() ?? ''];
    if (seen.catalog !== listed || seen.pinned !== held || seen.offered !== set)
      seen = { catalog: listed, pinned: held, offered: set, text: `${listed} ${held} ${set}` };
    return seen.text;
  };

  return {
    revision,
    entries: () => catalog.servers(offered()).filter(({ name }) => access.allowsServer(name)),
    entry: (name) => (access.allowsServer(name) ? catalog.server(name, offered()) : undefined),
    tool: (server, name) => (isDenied(server, 'tool', name) ? undefined : catalog.find(server, name, offered())),
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
    // What offers nothing yet has not been seen.
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
  const seen = (items: Item[], kind: Kind, key: string) =>
    items.filter((item) => access.allows({ server, kind, name: String(item[key]) }));
  return {
    name: server,
    entry,
    tools: tools.map(({ tool }) => tool).filter(({ name }) => access.allows({ server, kind: 'tool', name })),
    resources: seen(offer.resources, 'resource', 'uri'),
    templates: seen(offer.templates, 'resource', 'uriTemplate'),
    prompts: seen(offer.prompts, 'prompt', 'name'),
  };
}
