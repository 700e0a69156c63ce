/** The servers that a reading command is about: all, or one, listed now; what is missing is said, and why. */
import type { App } from '../app/app.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { Config } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { ServerView } from '../router/router.ts';
import { note, paint } from './output.ts';
import { whileStarting, whileWaiting } from './progress.ts';
import { longestOf } from './session.ts';

export interface Reached {
  config: Config;
  stop: AbortSignal;
  /** One server alone. */
  only: string | undefined;
  /** Whether the command is about more than tools (default: tools alone, which wait for no other list). */
  lists?: 'tools' | 'all' | undefined;
}

export async function reachServers(app: App, { config, stop, only, lists }: Reached): Promise<ServerView[]> {
  const servers =
    only === undefined
      ? await listAll(app, { config, stop, lists })
      : [await whileStarting(only, listOne(app, only, lists), stop)];
  const [alone] = servers;
  if (only !== undefined && alone?.entry.listing.kind === 'failed') throw alone.entry.listing.error;
  tellMissing(servers);
  return servers;
}

async function listOne(app: App, only: string, lists: Reached['lists']): Promise<ServerView> {
  const view = await app.router().server(only);
  if (lists !== 'all') return view;
  await app.catalog().answered(Number.POSITIVE_INFINITY, only);
  const servers = app.router().servers();
  return servers.find(({ name }) => name === only) ?? view;
}

/** All servers, when each has been listed or has failed. */
export async function listAll(app: App, { config, stop, lists }: Omit<Reached, 'only'>): Promise<ServerView[]> {
  const wait = longestOf(
    config.profiles.flatMap(({ servers }) => servers),
    config.settings.connect,
  );
  await whileWaiting('starting the servers', app.listed(undefined, wait, lists), stop);
  return app.router().servers();
}

/** Says which servers could not be listed; throws where none could. */
export function tellMissing(servers: ServerView[]): void {
  const failed = servers.filter(({ entry }) => entry.listing.kind !== 'listed');
  for (const server of failed) note(`${paint('yellow', 'warning:')} ${whyMissing(server)}`);
  for (const { name, entry } of servers) {
    for (const list of unansweredLists(entry.offer)) note(`${paint('yellow', 'warning:')} server "${name}": ${list}`);
  }
  if (servers.length > 0 && failed.length === servers.length) {
    throw new McpxError('unreachable', 'no server could be reached', { hint: 'mcpx list' });
  }
  if (servers.length === 0) noteNoServers();
}

export function noteNoServers(): void {
  note('no server is configured; add one to the file that `mcpx config path` names');
}

export function whyMissing({ name, entry: { listing } }: ServerView): string {
  return listing.kind === 'failed' ? messageOf(listing.error) : `server "${name}" is still starting`;
}
