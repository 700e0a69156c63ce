/** `mcpx tools`: prints every tool of every server, or of one, with its first sentence; with -s those that match a query. */
import type { Tool } from '../catalog/listing.ts';
import type { Hit } from '../catalog/search/search.ts';
import { McpxError, toMcpxError } from '../errors.ts';
import { firstSentence } from '../render/typescript.ts';
import type { ServerView } from '../router/router.ts';
import type { Invocation } from './command.ts';
import { withApp } from './command-app.ts';
import { print, printJson, table } from './output.ts';
import { reachServers, whyUnreachable } from './reachable-servers.ts';
import { status } from './status-lines.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  const question = readQuestion(invocation);
  return withApp(
    invocation,
    async (app, config) => {
      const [only] = args;
      const servers = await reachServers(app, { config, stop, only });
      const lines = servers.flatMap(rows);
      if (question !== undefined) {
        const hits = await app.search().find(question, { servers, revision: app.router().revision(), only });
        if (hits[0]?.fits !== true)
          status.info(`no tool for "${question}"${hits.length > 0 ? '; the nearest are:' : ''}`);
        if (flags.has('json')) await printJson(hits);
        else if (hits.length > 0) await print(table(hits.map(row)));
      } else if (flags.has('json')) await printJson(servers.map(described));
      else if (lines.length > 0) await print(table(lines));
      else if (servers.length > 0) status.info('there are no tools');
      return 0;
    },
    'live',
  );
}

function readQuestion({ flags }: Invocation): string | undefined {
  if (!flags.has('search')) return undefined;
  const question = flags.value('search') ?? '';
  if (question.trim() !== '') return question;
  throw new McpxError('usage', '--search needs a query', { hint: 'mcpx tools -s "what time is it"' });
}

/** Describes a server. If it could not be listed, `error` holds the reason and `tools` the stored tools. */
function described(view: ServerView): { server: string; tools: Tool[]; error?: string; hint?: string | undefined } {
  const { name, tools, entry } = view;
  if (entry.listing.kind === 'listed') return { server: name, tools };
  const hint = entry.listing.kind === 'failed' ? toMcpxError(entry.listing.error).hint : undefined;
  return { server: name, tools, error: whyUnreachable(view), ...(hint !== undefined && { hint }) };
}

function rows({ name, tools }: ServerView): string[][] {
  return tools.map((tool) => row({ server: name, tool }));
}

function row({ server, tool }: Pick<Hit, 'server' | 'tool'>): string[] {
  return [`${server}.${tool.name}`, firstSentence(tool.description ?? '')];
}
