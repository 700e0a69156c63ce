/**
 * npm run bench:tokens: what a model reads with mcpx and would read without it, counted exactly (o200k), through the executable:
 * servers from npm, ten made-up servers of twenty tools, and with MCPX_CATALOGS=<folder> the catalogs in it. Prints a table for each
 * and every number beside its bar; exits with 1 when one is missed.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { at, isMain, readJson, runMain } from '../project.mjs';
import { ensureInstalled } from '../setup.mjs';
import { madeUpCatalogs, readCatalogs, serveCatalogs } from './token-catalogs.mjs';
import { measure, openClient, sum } from './token-measure.mjs';
import { invalidTypes } from './token-types.mjs';

const METHOD = `Counted with o200k (gpt-tokenizer), as JSON where it is JSON:
  raw       name, description and inputSchema of every tool, and the instructions of every server
  menu      the same of what mcpx shows: its own tools and its own instructions
  server    the answer of inspect for a whole server, beside all of its definitions (name, description, inputSchema, outputSchema) and its
            instructions, with which the answer begins
  tool      the answer of inspect for one tool, beside the definition of that tool
  task      menu, search, inspect of one tool, exec: what the model reads, and the arguments that it writes
`;

/** The least and the most that each number may be; shares are of what it stands for. */
const BARS = {
  npm: {
    'server, all': { most: 0.35 },
    'tool, median': { most: 0.75 },
    'tool, largest': { most: 1 },
    'task, median': { most: 1500 },
  },
  'made up': { 'task, median': { most: 1000 } },
  catalogs: {
    'menu of raw': { most: 0.03 },
    'server, all': { most: 0.35 },
    'tool, median': { most: 0.75 },
    'tool, largest': { most: 1 },
    'task, median': { most: 1500 },
  },
};

/** The value that this share of the values does not exceed. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

const median = (values) => quantile(values, 0.5);

/** Everything measured in one world as numbers with names. */
export function summaryOf({ raw, menu, servers, tools, tasks }) {
  const inspected = sum(servers.map((server) => server.inspected));
  const costs = tasks.map(({ cost }) => cost);
  return {
    'raw tokens': raw,
    'menu tokens': menu,
    'menu of raw': menu / raw,
    'server, all': inspected / sum(servers.map((server) => server.definitions)),
    'server, largest': Math.max(...servers.map((server) => server.inspected / server.definitions)),
    'tool, median': median(tools),
    'tool, largest': Math.max(...tools),
    'task, median': median(costs),
    'task, nine of ten': quantile(costs, 0.9),
    'task, largest': Math.max(...costs),
    'tasks found': sum(tasks.map(({ found }) => (found ? 1 : 0))) / tasks.length,
  };
}

/** One row per number: its value, its bar where it has one, and whether it is held. */
export function judge(summary, bars) {
  return Object.entries(summary).map(([name, value]) => {
    const most = bars[name]?.most;
    return { name, value, most, over: most !== undefined && value > most };
  });
}

/** Shares are below two, tokens above. */
function number(value) {
  if (value === undefined) return '';
  return value > 2 ? `${Math.round(value)}` : `${(100 * value).toFixed(1)} %`;
}

export function tableOf(title, rows) {
  const cells = rows.map(({ name, value, most, over }) => {
    const verdict = over ? 'over' : 'ok';
    return [name, number(value), number(most), most === undefined ? '' : verdict];
  });
  return inColumns([[title, '', 'at most', ''], ...cells]);
}

function serverTable(servers) {
  const rows = servers.map(({ name, count, raw, definitions, inspected }) => {
    const less = `${(100 * (1 - inspected / definitions)).toFixed(0)} %`;
    return [name, `${count}`, `${raw}`, `${inspected}`, less];
  });
  return inColumns([['server', 'tools', 'raw', 'inspect', 'less'], ...rows]);
}

function inColumns(rows) {
  return rows
    .map(([name, ...rest]) => `${name.padEnd(22)}${rest.map((cell) => cell.padStart(10)).join('')}`.trimEnd())
    .join('\n');
}

/** The servers from npm, as they are started. Versions are pinned in scripts/bench/token-servers. */
export async function npmServers(folder) {
  const root = at('.cache', 'token-servers');
  mkdirSync(root, { recursive: true });
  const lock = ['package.json', 'package-lock.json'];
  for (const file of lock) copyFileSync(at('scripts', 'bench', 'token-servers', file), join(root, file));
  await ensureInstalled(root);
  const started = (name, args = []) => {
    const packageFolder = join(root, 'node_modules', name);
    const { bin } = readJson(join(packageFolder, 'package.json'));
    const script = typeof bin === 'string' ? bin : Object.values(bin)[0];
    return { command: process.execPath, args: [join(packageFolder, script), ...args] };
  };
  const official = (name, args) => started(`@modelcontextprotocol/server-${name}`, args);
  return {
    filesystem: official('filesystem', [folder]),
    memory: { ...official('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    everything: official('everything'),
    'sequential-thinking': official('sequential-thinking'),
    github: official('github'),
    playwright: started('@playwright/mcp'),
    'chrome-devtools': started('chrome-devtools-mcp', ['--no-usage-statistics']),
  };
}

/** Tasks that the servers from npm can do without a network. */
const npmTasks = (folder) => [
  { server: 'filesystem', tool: 'list_directory', query: 'which files are in a folder', args: { path: folder } },
  { server: 'memory', tool: 'search_nodes', query: 'find something that was remembered', args: { query: 'Ada' } },
  { server: 'everything', tool: 'echo', query: 'echo a message', args: { message: 'hello' } },
  {
    server: 'sequential-thinking',
    tool: 'sequentialthinking',
    query: 'think step by step',
    args: { thought: 'First, count.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
  },
];

/** A task for each server: its middle tool, searched by the words of its name, called with the example that mcpx gives. */
export function tasksOf(catalogs) {
  return catalogs
    .filter(({ tools }) => tools.length > 0)
    .map(({ name: server, tools }) => {
      const { name: tool } = tools[Math.floor(tools.length / 2)];
      const words = tool.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/[_.-]+/g, ' ');
      return { server, tool, query: words.toLowerCase() };
    });
}

async function report(title, place, world) {
  log('measure', title);
  const measured = await measure(place, world);
  const rows = judge(summaryOf(measured), BARS[title]);
  const missed = measured.tasks.filter(({ found }) => !found).map(({ server, tool }) => `${server}.${tool}`);
  const notes = missed.length === 0 ? '' : `\nnot found by the search: ${missed.join(', ')}`;
  process.stdout.write(`\n${serverTable(measured.servers)}\n\n${tableOf(title, rows)}${notes}\n`);
  return rows.some(({ over }) => over);
}

/** Catalogs as servers behind one HTTP listener. */
async function reportCatalogs(title, place, catalogs) {
  const { url, close } = await serveCatalogs(catalogs);
  try {
    const mcpServers = Object.fromEntries(catalogs.map(({ name }) => [name, { type: 'http', url: `${url}/${name}` }]));
    return await report(title, place, { mcpServers, catalogs, tasks: tasksOf(catalogs) });
  } finally {
    await close();
  }
}

async function reportNpm(place) {
  const mcpServers = await npmServers(place.folder);
  const catalogs = [];
  for (const [name, { command, args, env }] of Object.entries(mcpServers)) {
    const client = await openClient(command, args, { cwd: place.folder, env: { ...place.env, ...env } });
    catalogs.push({ name, tools: client.tools, instructions: client.instructions });
    await client.close();
  }
  const over = await report('npm', place, { mcpServers, catalogs, tasks: npmTasks(place.folder) });
  return { over, catalogs };
}

async function main() {
  const program = await ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-tokens-'));
  const env = { HOME: folder, MCPX_HOME: join(folder, 'home'), NO_COLOR: '1', PATH: process.env.PATH };
  const place = { program, folder, env };
  try {
    process.stdout.write(METHOD);
    const npm = await reportNpm(place);
    const madeUp = madeUpCatalogs();
    const over = [npm.over, await reportCatalogs('made up', place, madeUp)];
    const stored = process.env.MCPX_CATALOGS ? readCatalogs(process.env.MCPX_CATALOGS) : [];
    if (stored.length > 0) over.push(await reportCatalogs('catalogs', place, stored));
    const { checked, said } = await invalidTypes([...npm.catalogs, ...madeUp, ...stored].flatMap(({ tools }) => tools));
    const verdict = said === '' ? 'all valid' : said;
    process.stdout.write(`\n${checked} signatures checked with the TypeScript compiler: ${verdict}\n`);
    return over.includes(true) || said !== '' ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await runMain(main);
