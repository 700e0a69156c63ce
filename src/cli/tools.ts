/** `mcpx tools`: every tool of every server, or of one, with its first sentence. */
import { McpxError, messageOf } from '../errors.ts';
import { firstSentence } from '../render/typescript.ts';
import type { ServerView } from '../router/router.ts';
import type { Invocation } from './command.ts';
import { note, paint, print, printJson, table } from './output.ts';
import { whileStarting, whileWaiting } from './progress.ts';
import { longestStart, withApp } from './session.ts';

export function run(invocation: Invocation): Promise<number> {
  return withApp(
    invocation,
    async (app, config) => {
      const [only] = invocation.args;
      const router = app.router();
      const wait = longestStart(config.profiles.flatMap(({ servers }) => servers));
      if (only === undefined) await whileWaiting('starting the servers', app.listed(undefined, wait));
      const servers = only === undefined ? router.servers() : [await whileStarting(only, router.server(only))];
      const [alone] = servers;
      if (only !== undefined && alone?.entry.listing.kind === 'failed') throw alone.entry.listing.error;
      const failed = servers.filter(({ entry }) => entry.listing.kind !== 'listed');
      for (const server of failed) note(`${paint('yellow', 'warning:')} ${whyMissing(server)}`);
      if (servers.length > 0 && failed.length === servers.length) {
        throw new McpxError('unreachable', 'no server could be reached', { hint: 'mcpx list' });
      }
      if (servers.length === 0) note('no server is configured; add one to the file that `mcpx config path` names');
      if (invocation.flags.has('json')) await printJson(servers.map(({ name, tools }) => ({ server: name, tools })));
      else if (servers.length > 0) await print(table(servers.flatMap(rows)));
      return 0;
    },
    'live',
  );
}

function rows({ name, tools }: ServerView): string[][] {
  return tools.map((tool) => [`${name}.${tool.name}`, firstSentence(tool.description ?? '')]);
}

export function whyMissing({ name, entry: { listing } }: ServerView): string {
  return listing.kind === 'failed' ? messageOf(listing.error) : `server "${name}" is still starting`;
}
