/** `mcpx list`: prints the configured servers with their stored state. With --check it starts each of them once. */
import type { ServerEntry } from '../catalog/catalog.ts';
import type { Config, ServerSpec } from '../config/config.ts';
import { EXIT_CODES } from '../errors.ts';
import type { Invocation } from './command.ts';
import { readConfig, sourceFlags } from './command-app.ts';
import { inLanguage } from './language/language.ts';
import { hintText, paintAnswer, print, printJson, say, table, wrapped } from './output.ts';
import { noteNoServers } from './reachable-servers.ts';
import { type ServerRow, serverRows } from './server-rows.ts';
import { startOnce } from './start-once.ts';
import { status } from './status-lines.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const config = readConfig(flags);
  const isCheck = flags.has('check');
  const rows = serverRows(config, isCheck ? await startAll(config, invocation) : undefined);
  const code = isCheck ? exitCodeOf(rows) : 0;
  if (flags.has('json')) {
    await printJson(rows);
    return code;
  }
  if (rows.length === 0) {
    noteNoServers();
    if (isCheck) await say('0 servers');
    return code;
  }
  const lines = describeRows(rows);
  await print(isCheck ? [...lines, inLanguage(summaryOf(rows))].join('\n') : lines.join('\n'));
  const isOpen = rows.some(({ state }) => state !== 'disabled' && state !== 'worked');
  if (!isCheck && isOpen) status.info(`\nto start each server once: mcpx list ${sourceFlags(flags)}--check`);
  return code;
}

async function startAll(config: Config, invocation: Invocation): Promise<Map<ServerSpec, ServerEntry>> {
  const started = await startOnce(config, invocation, async ({ entry }) => entry());
  return new Map([...started].flatMap(([spec, entry]) => (entry === undefined ? [] : [[spec, entry] as const])));
}

/** Returns 0 if every enabled server is ready, else the code of the worst failure. */
function exitCodeOf(rows: readonly ServerRow[]): number {
  if (rows.some(({ state }) => state === 'failed' || state === 'incomplete')) return EXIT_CODES.unreachable;
  return rows.some(({ state }) => state === 'sign-in') ? EXIT_CODES.auth : 0;
}

/** Counts the servers by state, such as `10 servers: 8 ready, 1 needs sign-in, 1 failed`. */
export function summaryOf(rows: readonly ServerRow[]): string {
  const count = (...states: ServerRow['state'][]) => rows.filter(({ state }) => states.includes(state)).length;
  const signIn = count('sign-in');
  const parts: [number, string][] = [
    [count('ready'), 'ready'],
    [signIn, signIn === 1 ? 'needs sign-in' : 'need sign-in'],
    [count('failed', 'incomplete'), 'failed'],
    [count('disabled'), 'disabled'],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return `${rows.length} ${rows.length === 1 ? 'server' : 'servers'}: ${told.join(', ')}`;
}

/** Returns one line per server, followed by its error and hint, indented. */
function describeRows(rows: readonly ServerRow[]): string[] {
  const several = new Set(rows.map(({ profile }) => profile)).size > 1;
  const cells = rows.map((row) => [
    ...(several ? [row.profile] : []),
    row.name,
    row.type,
    inLanguage(stateWords(row)),
    inLanguage(toolWords(row)),
    row.target,
  ]);
  const lines = table(cells).split('\n');
  return rows.flatMap((row, index) => [lines[index] ?? '', ...remarksOf(row).map((text) => `    ${text}`)]);
}

function stateWords({ state, profileEnabled, missing, at }: ServerRow): string {
  switch (state) {
    case 'disabled':
      return profileEnabled ? 'disabled' : 'the profile is disabled';
    case 'incomplete':
      return `needs ${missing.join(', ')}`;
    case 'sign-in':
      return 'needs sign-in';
    case 'failed':
      return at === undefined ? 'failed' : `failed ${ago(at)}`;
    case 'worked':
      return at === undefined ? 'worked' : `worked ${ago(at)}`;
    case 'new':
      return 'never started';
    case 'ready':
      return 'ready';
  }
}

function toolWords({ tools }: ServerRow): string {
  if (tools === undefined) return '–';
  return tools === 1 ? '1 tool' : `${tools} tools`;
}

function remarksOf({ state, error, hint }: ServerRow): string[] {
  if (state === 'disabled') return [];
  const paintError = (text: string) => (state === 'ready' ? text : paintAnswer('red', text));
  const told = error === undefined ? [] : [wrapped(paintError(inLanguage(error)), { indent: 4 })];
  return [...told, ...(hint === undefined ? [] : [hintText(hint, { indent: 4 })])];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns how long ago an ISO date was, in its largest unit. */
function ago(date: string): string {
  const past = Math.max(0, Date.now() - Date.parse(date));
  if (past < MINUTE) return 'just now';
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  return past < 2 * DAY ? `${Math.floor(past / HOUR)} h ago` : `${Math.floor(past / DAY)} days ago`;
}
