/** Lists the servers for a read-only command, all or one, and reports those that could not be listed. */
import type { App } from '../app/app.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { Config } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { ServerView } from '../router/router.ts';
import { longestOf } from './command-app.ts';
import { whileStarting, whileWaiting } from './progress.ts';
import { status } from './status-lines.ts';

export interface Reached {
  config: Config;
  stop: AbortSignal;
  /** The only server to list; undefined for all. */
  only: string | undefined;
  /** The lists that the command needs (default `tools`, which does not wait for the others). */
  lists?: 'tools' | 'all' | undefined;
}

export async function reachServers(app: App, { config, stop, only, lists }: Reached): Promise<ServerView[]> {
  const servers =
    only === undefined
      ? await listAll(app, { config, stop, lists })
      : [await whileStarting(only, listOne(app, only, lists), stop)];
  const [alone] = servers;
  if (only !== undefined && alone?.entry.listing.kind === 'failed') throw alone.entry.listing.error;
  reportUnreachable(servers);
  return servers;
}

async function listOne(app: App, only: string, lists: Reached['lists']): Promise<ServerView> {
  const view = await app.router().server(only);
  if (lists !== 'all') return view;
  await app.catalog().answered(Number.POSITIVE_INFINITY, only);
  const servers = app.router().servers();
  return servers.find(({ name }) => name === only) ?? view;
}

/** Resolves with all servers when each has been listed or has failed. */
export async function listAll(app: App, { config, stop, lists }: Omit<Reached, 'only'>): Promise<ServerView[]> {
  const wait = longestOf(
    config.profiles.flatMap(({ servers }) => servers),
    config.settings.connect,
  );
  await whileWaiting('starting the servers', app.listed(undefined, wait, lists), stop);
  return app.router().servers();
}

/** Prints the servers that could not be listed. Throws if none could. */
export function reportUnreachable(servers: ServerView[]): void {
  const failed = servers.filter(({ entry }) => entry.listing.kind !== 'listed');
  for (const server of failed) status.warn(whyUnreachable(server));
  for (const { name, entry } of servers) {
    for (const list of unansweredLists(entry.offer)) status.warn(`server "${name}": ${list}`);
  }
  if (servers.length > 0 && failed.length === servers.length) {
    throw new McpxError('unreachable', 'no server could be reached', { hint: 'mcpx doctor' });
  }
  if (servers.length === 0) noteNoServers();
}

const NO_SERVERS =
  'no server is configured; `mcpx init` imports those of your clients, `mcpx add <name> -- <command>` adds one';

export function noteNoServers(): void {
  status.info(NO_SERVERS);
}

export function whyUnreachable({ name, entry: { listing } }: ServerView): string {
  if (listing.kind !== 'failed') return `server "${name}" is still starting`;
  const { error } = listing;
  return error instanceof McpxError && error.code === 'auth' && error.hint !== undefined
    ? `${error.message}: ${error.hint}`
    : messageOf(error);
}
