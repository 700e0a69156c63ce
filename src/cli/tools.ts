/** `mcpx tools`: every tool of every server, or of one, with its first sentence; with -s those that fit a question. */
import type { App } from '../app/app.ts';
import type { Hit } from '../catalog/search.ts';
import { McpxError, messageOf } from '../errors.ts';
import { firstSentence } from '../render/typescript.ts';
import type { ServerView } from '../router/router.ts';
import type { Invocation } from './command.ts';
import { note, paint, print, printJson, table } from './output.ts';
import { whileStarting, whileWaiting } from './progress.ts';
import { longestStart, withApp } from './session.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const question = readQuestion(invocation);
  return withApp(
    invocation,
    async (app, config) => {
      const [only] = args;
      const wait = longestStart(config.profiles.flatMap(({ servers }) => servers));
      const servers = await listServers(app, only, wait);
      if (question !== undefined) {
        const hits = await app.search().find(question, { servers, revision: app.router().revision(), only });
        if (hits.length === 0) note(`no tool matches "${question}"`);
        if (flags.has('json')) await printJson(hits);
        else if (hits.length > 0) await print(table(hits.map(row)));
      } else if (flags.has('json')) await printJson(servers.map(({ name, tools }) => ({ server: name, tools })));
      else if (servers.length > 0) await print(table(servers.flatMap(rows)));
      return 0;
    },
    'live',
  );
}

function readQuestion({ flags }: Invocation): string | undefined {
  if (!flags.has('search')) return undefined;
  const question = flags.value('search') ?? '';
  if (question.trim() !== '') return question;
  throw new McpxError('usage', 'say what to search for', { hint: 'mcpx tools -s "what time is it"' });
}

/** Says what is missing, and why. */
async function listServers(app: App, only: string | undefined, wait: number): Promise<ServerView[]> {
  const router = app.router();
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
  return servers;
}

function rows({ name, tools }: ServerView): string[][] {
  return tools.map((tool) => row({ server: name, tool }));
}

function row({ server, tool }: Pick<Hit, 'server' | 'tool'>): string[] {
  return [`${server}.${tool.name}`, firstSentence(tool.description ?? '')];
}

export function whyMissing({ name, entry: { listing } }: ServerView): string {
  return listing.kind === 'failed' ? messageOf(listing.error) : `server "${name}" is still starting`;
}
