/** `mcpx prompts [server]`: prints the prompts of every server, or of one, with their arguments. */
import type { Item } from '../catalog/listing.ts';
import { oneLine } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
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
      const lines = servers.flatMap(({ name, prompts }) => prompts.map((prompt) => row(name, prompt)));
      if (flags.has('json')) await printJson(servers.map(({ name, prompts }) => ({ server: name, prompts })));
      else if (lines.length > 0) await print(table(lines));
      else if (servers.length > 0) status.info('there are no prompts');
      return 0;
    },
    'live',
  );
}

function row(server: string, { name, title, description, arguments: given }: Item): string[] {
  const args = (Array.isArray(given) ? given : []).filter(isRecord);
  const names = args.map((arg) => `${arg.name}${arg.required === true ? '' : '?'}`).join(', ');
  return [`${server}.${name}(${names})`, oneLine(String(description ?? title ?? ''))];
}
