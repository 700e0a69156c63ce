/** `mcpx tokens`: prints the tokens that clients read before the first question, with and without mcpx, and what they truncate. */
import type { App } from '../app/app.ts';
import type { Tool } from '../catalog/listing.ts';
import type { Config, Settings } from '../config/config.ts';
import { menuParts } from '../front/compact/menu.ts';
import { CLIENTS, type KnownClient, menuLimit } from '../front/known-clients.ts';
import { type Offered, offeredBy, type Seen, seenBy } from '../front/shown-to-model.ts';
import { estimateTokens, toolTokens } from '../render/token-estimate.ts';
import type { ServerView } from '../router/router.ts';
import type { Invocation } from './command.ts';
import { longestOf, withApp } from './command-app.ts';
import { paintAnswer, print, printJson, table, wrapped } from './output.ts';
import { whileWaiting } from './progress.ts';
import { noteNoServers, whyUnreachable } from './reachable-servers.ts';
import { status } from './status-lines.ts';

const METHOD =
  'estimated with tokenx, within about 5 % of the o200k tokenizer; counted: name, description and inputSchema of every tool as compact JSON, and the instructions of every server';

const DEFERS =
  '* This client shows the model only tool names until its own search finds a tool. With it, mcpx gives shorter results, one search over all servers, one config and fewer processes.';

interface ServerCost {
  server: string;
  tools: number;
  without: number;
  with: number;
}

interface ClientCost {
  client: string;
  without: number;
  with: number;
  /** True if the client shows a model only tool names until its own search finds a tool. */
  defers: boolean;
  /** The parts that the client truncates without mcpx. With mcpx, nothing is truncated. */
  cut: Pick<Seen, 'cutTools' | 'cutInstructions' | 'lostCharacters' | 'leftOut'>;
}

interface Costs {
  servers: ServerCost[];
  /** The tokens of the two tools without any server. */
  fixed: number;
  total: { tools: number; without: number; with: number };
  clients: ClientCost[];
  method: string;
}

export function run(invocation: Invocation): Promise<number> {
  return withApp(invocation, async (app, config) => {
    const costs = await measure(app, config, invocation.stop);
    if (invocation.flags.has('json')) await printJson(costs);
    else await print(report(costs));
    return 0;
  });
}

/** Lists the servers and returns one sentence with the tokens of all clients without known limits. */
export function savingText(invocation: Invocation): Promise<string> {
  return withApp(invocation, async (app, config) => {
    const { total } = await measure(app, config, invocation.stop);
    const [without, now] = [total.without, total.with].map((count) => `≈ ${count.toLocaleString('en-US')}`);
    return `tokens that a model reads before the first question: ${without} without mcpx, ${now} with mcpx${compared(total)}`;
  });
}

/** Waits until every server is listed or has failed, reports the failed ones, and counts. */
async function measure(app: App, { settings, profiles }: Config, stop: AbortSignal): Promise<Costs> {
  const wait = longestOf(
    profiles.flatMap(({ servers }) => servers),
    settings.connect,
  );
  await whileWaiting('starting the servers', app.listed(undefined, wait), stop);
  const servers = app.router().servers();
  if (servers.length === 0) noteNoServers();
  for (const server of servers.filter(({ entry }) => entry.listing.kind !== 'listed')) {
    status.warn(whyUnreachable(server));
  }
  return costsOf(app, servers, { settings, stop });
}

interface Asking {
  settings: Settings;
  stop: AbortSignal;
}

async function costsOf(app: App, servers: ServerView[], { settings, stop }: Asking): Promise<Costs> {
  const offered = offeredBy(servers);
  const plain = await readMenu(app, { names: [] }, stop);
  const parts = partsOf(servers, plain, settings);
  const rows = offered.map(
    (one): ServerCost => ({
      server: one.server,
      tools: one.tools.length,
      without: costOf([one]),
      with: estimateTokens(parts.get(one.server) ?? ''),
    }),
  );
  const whole = costOf([plain]);
  const clients: ClientCost[] = [];
  for (const client of [...CLIENTS, { title: 'without known limits', names: [] }]) {
    clients.push(await clientCost(client, offered, await readMenu(app, client, stop)));
  }
  return {
    servers: rows,
    fixed: whole - rows.reduce((sum, row) => sum + row.with, 0),
    total: { tools: rows.reduce((sum, row) => sum + row.tools, 0), without: costOf(offered), with: whole },
    clients,
    method: METHOD,
  };
}

function clientCost(client: KnownClient, offered: Offered[], menu: Offered): ClientCost {
  const { offered: seen, ...cut } = seenBy(client, offered);
  const costs = { without: costOf(seen), with: costOf(seenBy(client, [menu]).offered) };
  return { client: client.title, ...costs, defers: client.defers !== undefined, cut };
}

function costOf(offered: Offered[]): number {
  return offered.reduce(
    (sum, { tools, instructions = '' }) =>
      sum + tools.reduce((all, tool) => all + toolTokens(tool), 0) + estimateTokens(instructions),
    0,
  );
}

/** Returns the tools that the compact front shows to this client. */
async function readMenu(
  app: App,
  { names: [name], version = '0' }: Pick<KnownClient, 'names' | 'version'>,
  signal: AbortSignal,
): Promise<Offered> {
  const downstream = { key: `tokens ${name}`, notify: () => undefined };
  const { front, close } = app.open({ profile: app.mainProfile ?? '', front: 'compact', downstream });
  try {
    const clientInfo = { name: name ?? 'mcpx tokens', version };
    const hello = await front.request({ method: 'initialize', params: { clientInfo } }, { signal });
    const list = await front.request({ method: 'tools/list' }, { signal });
    const { instructions } = hello as { instructions?: string };
    return { server: 'mcpx', tools: (list as { tools: Tool[] }).tools, instructions };
  } finally {
    close();
  }
}

/** Returns the text about each server in the menu, which follows the first blank line of the description. */
function partsOf(servers: ServerView[], { tools: [inspect] }: Offered, settings: Settings): Map<string, string> {
  const fixed = (inspect?.description ?? '').indexOf('\n\n');
  if (fixed < 0) return new Map();
  const budget = menuLimit(settings.front, undefined) - fixed - 2;
  const { maxInstructions } = settings.compression;
  return new Map(
    menuParts(servers, { budget, maxInstructions }).flatMap(({ server, text }) =>
      server === undefined ? [] : [[server, text] as const],
    ),
  );
}

function report({ servers, fixed, total, clients, method }: Costs): string {
  const tokens = (count: number) => `≈ ${count.toLocaleString('en-US')}`;
  const bold = (text: string) => paintAnswer('bold', text);
  const rows = [
    ['server', 'tools', 'without mcpx', 'with mcpx'],
    ...servers.map((row) => [row.server, `${row.tools}`, tokens(row.without), tokens(row.with)]),
    ['inspect and exec', '', '', tokens(fixed)],
    ['total', `${total.tools}`, tokens(total.without), `${tokens(total.with)}${compared(total)}`],
  ];
  return [
    bold('Tokens that a model reads before the first question'),
    table(rows),
    '',
    bold('Per client'),
    table([
      ['client', 'without mcpx', 'with mcpx', 'truncated without mcpx'],
      ...clients.map((row) => [
        `${row.client}${row.defers ? ' *' : ''}`,
        ...[tokens(row.without), tokens(row.with), cutWords(row.cut)],
      ]),
    ]),
    wrapped(DEFERS),
    '',
    wrapped(method),
  ].join('\n');
}

function compared({ without, with: now }: Costs['total']): string {
  if (without === 0) return '';
  const share = 100 * (now / without - 1);
  return `, ${Math.abs(share).toFixed(1)} % ${share > 0 ? 'more' : 'less'}`;
}

/** The maximum number of truncated names that are shown. */
const SHOWN = 3;

function cutWords({ cutTools, cutInstructions, lostCharacters, leftOut }: ClientCost['cut']): string {
  const some = (names: string[]) => names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ', …' : '');
  const words = [
    cutTools.length > 0 &&
      `${cutTools.length} ${cutTools.length === 1 ? 'description' : 'descriptions'} (${some(cutTools)})`,
    cutInstructions.length > 0 && `instructions of ${some(cutInstructions)}`,
    lostCharacters > 0 && `${lostCharacters.toLocaleString('en-US')} characters`,
    leftOut > 0 && `${leftOut} tools omitted`,
  ].filter((word) => word !== false);
  return words.length === 0 ? 'nothing' : words.join('; ');
}
