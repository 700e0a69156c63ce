/** `mcpx resources [server]`: prints the resources and templates of every server, or of one. */
import type { Item } from '../catalog/listing.ts';
import type { ServerView } from '../router/router.ts';
import type { Invocation } from './command.ts';
import { withApp } from './command-app.ts';
import { print, printJson, table } from './output.ts';
import { reachServers } from './reachable-servers.ts';
import { status } from './status-lines.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  return withApp(
    invocation,
    async (app, config) => {
      const servers = await reachServers(app, { config, stop, only: args[0], lists: 'all' });
      const offered = servers.map(({ name, resources, templates }) => ({ server: name, resources, templates }));
      const lines = servers.flatMap(rows);
      if (flags.has('json')) await printJson(offered);
      else if (lines.length > 0) await print(table(lines));
      else if (servers.length > 0) status.info('there are no resources');
      return 0;
    },
    'live',
  );
}

function rows({ name, resources, templates }: ServerView): string[][] {
  return [...resources.map((item) => [item, item.uri]), ...templates.map((item) => [item, item.uriTemplate])].map(
    ([item, uri]) => [name, String(uri), about(item as Item)],
  );
}

function about({ name, title, description }: Item): string {
  return [title ?? name, description].filter((part) => typeof part === 'string' && part !== '').join(': ');
}
