/**
 * npm run bench:lookup: how long a look-up holds up everything else, with 10,000 tools of one server and of 200. The number is
 * the most processor time that the event loop spends without running anything else, so it means something on a busy machine.
 * Fails over its limit.
 *   --runs <n>   processes per case, 3 unless told; the median is printed
 *   --json       prints numbers
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { at, BuildError, hostTarget, isMain, readJson, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';
import { freePort } from './free-port.mjs';
import { serveMany } from './lookup-upstream.mjs';
import { median } from './start.mjs';

const TOOLS = 10_000;
const SERVERS = 200;
/** The most ms of processor time that anything may hold up the rest. */
const LIMIT = 20;
/** The same for kinds in which a server sends all of its tools in one message of 7 MB, which is parsed at once. */
const ARRIVAL = { limit: 80, kinds: ['start, lists from servers', 'tools/list, compact', 'list_changed'] };
/** ms for one process. */
const PATIENCE = 120_000;

const WORLDS = ['1 server', `${SERVERS} servers`];

/** The config of a world, in a folder that is the home of mcpx too. */
function writeConfig(folder, world, url) {
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const names = Array.from({ length: SERVERS }, (_, index) => `s${index}`);
  const mcpServers =
    world === WORLDS[0]
      ? { large: { command: process.execPath, args: [at('scripts', 'bench', 'lookup-upstream.mjs'), String(TOOLS)] } }
      : Object.fromEntries(names.map((name) => [name, { url: `${url}/${name}` }]));
  const config = join(home, 'config.json');
  writeFileSync(config, JSON.stringify({ mcpServers, connect: { firstListWait: '60s' }, log: { level: 'error' } }));
  return { config, env: { HOME: folder, MCPX_HOME: home, NO_COLOR: '1', PATH: process.env.PATH } };
}

/** Starts mcpx on a port, with the probe inside. */
async function start({ node, config, env }) {
  const port = await freePort();
  // The flags of the executable end with `--`.
  const own = readJson(at('sea-config.json')).execArgv.filter((flag) => flag !== '--');
  const flags = [...own, '--import', at('scripts', 'bench', 'lookup-probe.mjs')];
  const args = [...flags, at('dist', 'mcpx.cjs'), 'serve', config, '--http', `127.0.0.1:${port}`];
  const child = spawn(node, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  const base = `http://127.0.0.1:${port}`;
  while (
    !(await fetch(`${base}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new BuildError(`mcpx ended with ${child.exitCode}`);
    await delay(20);
  }
  // The modules are loaded, and everything from here on is measured.
  child.send('reset');
  const look = () => {
    const answer = new Promise((resolve) => child.once('message', resolve));
    child.send('look');
    return answer;
  };
  return {
    base,
    reset: () => child.send('reset'),
    look,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
    },
  };
}

async function checked(answer) {
  const body = await answer.text();
  if (!answer.ok) throw new BuildError(`${answer.url} answered ${answer.status}: ${body.slice(0, 300)}`);
  return body;
}

let lastId = 0;
/** Sends one request without a session; returns its result. */
async function rpc(base, front, method, params = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params });
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const answer = await checked(await fetch(`${base}/mcp?front=${front}`, { method: 'POST', headers, body }));
  const { result, error } = JSON.parse(answer.startsWith('{') ? answer : answer.slice(answer.indexOf('{')));
  if (error !== undefined || result.isError)
    throw new BuildError(`${method} failed: ${JSON.stringify(error ?? result).slice(0, 300)}`);
  return result;
}

/** Follows the cursors of a list. */
async function allPages(base, front, method) {
  let cursor;
  do ({ nextCursor: cursor } = await rpc(base, front, method, cursor && { cursor }));
  while (cursor !== undefined);
}

const tool = (name, args) => (base) => rpc(base, 'compact', 'tools/call', { name, arguments: args });
const rest = (path) => async (base) => checked(await fetch(`${base}${path}`));

/**
 * The kinds of look-ups in the order in which they are made. A look-up that is `apart` is measured without the work that it
 * leaves for later.
 */
function steps(world) {
  const server = world === WORLDS[0] ? 'large' : 's7';
  return [
    ['tools/list, compact', (base) => rpc(base, 'compact', 'tools/list'), { apart: true }],
    ['search index', () => delay(1500)],
    ['inspect a query', tool('inspect', { query: 'archive the meeting of a customer' })],
    ['inspect it again', tool('inspect', { query: 'archive the meeting of a customer' })],
    ['inspect another query', tool('inspect', { query: 'export invoices, then share a dashbord' })],
    ['inspect a server', tool('inspect', { server_name: server })],
    ['inspect it again', tool('inspect', { server_name: server })],
    ['inspect a tool', tool('inspect', { server_name: server, tool_name: 'archive_order_38' })],
    ['inspect nothing', tool('inspect', {})],
    ['tools/list, compact again', (base) => rpc(base, 'compact', 'tools/list')],
    ['tools/list, aggregate', (base) => allPages(base, 'aggregate', 'tools/list')],
    ['resources/list', (base) => allPages(base, 'aggregate', 'resources/list')],
    ['resources tool', tool('resources', {})],
    ['REST tools', rest('/api/default/tools')],
    ['REST search', rest('/api/default/tools?q=archive%20meeting&signatures=true&limit=50')],
    ['REST signatures', rest('/api/default/tools?signatures=true')],
    ['REST resources', rest('/api/default/resources')],
    ['REST tokens', rest('/api/default/tokens')],
    ['status', rest('/api/status')],
    ...(world === WORLDS[0]
      ? [
          [
            'list_changed',
            async (base) => {
              await tool('exec', { server_name: 'large', tool_name: 'change' })(base);
              await delay(1500);
            },
          ],
        ]
      : []),
  ];
}

/** Waits until the process has nothing to do, at most some seconds. */
async function idle({ look }) {
  let before = await look();
  for (let quiet = 0; quiet < 2; ) {
    await delay(80);
    const now = await look();
    quiet = now.total - before.total < 15 ? quiet + 1 : 0;
    before = now;
  }
  return before;
}

/** The numbers of one process: a row per kind. */
async function measureStart(setup, world, from) {
  const program = await start(setup);
  try {
    const began = await idle(program);
    const rows = [{ ...began, name: `start, lists from ${from}`, wall: Number.NaN }];
    for (const [index, [name, work, { apart } = {}]] of steps(world).entries()) {
      if (from === 'disk' && index > 1) break;
      program.reset();
      const begin = performance.now();
      await work(program.base);
      const wall = performance.now() - begin;
      const { longest, total, resident } = apart ? await program.look() : await idle(program);
      rows.push({ name: from === 'disk' ? `${name}, lists from disk` : name, longest, total, wall, resident });
    }
    return rows;
  } finally {
    await program.stop();
  }
}

async function measureWorld(world, node, runs) {
  const many = await serveMany(TOOLS / SERVERS);
  const samples = new Map();
  try {
    for (let run = 0; run < runs; run++) {
      const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
      try {
        const setup = { node, ...writeConfig(folder, world, many.url) };
        const rows = [...(await measureStart(setup, world, 'servers')), ...(await measureStart(setup, world, 'disk'))];
        for (const [place, row] of rows.entries()) samples.set(place, [...(samples.get(place) ?? []), row]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  } finally {
    many.close();
  }
  return [...samples.values()].map((rows) => {
    const of = (field) => median(rows.map((row) => row[field]));
    return {
      name: rows[0].name,
      longest: of('longest'),
      total: of('total'),
      wall: of('wall'),
      resident: of('resident'),
    };
  });
}

const limitOf = ({ name }) => (ARRIVAL.kinds.includes(name) ? ARRIVAL.limit : LIMIT);

/** The rows as text, one line each. */
export function table(title, rows) {
  const line = ([name, ...cells]) => `${name.padEnd(38)}${cells.map((cell) => cell.padStart(11)).join('')}`.trimEnd();
  const cells = rows.map((row) => [
    row.name,
    ...[row.longest, row.total, row.wall, row.resident].map((value) => (Number.isNaN(value) ? '-' : value.toFixed(1))),
    `≤ ${limitOf(row)}`,
    row.longest > limitOf(row) ? 'over' : 'ok',
  ]);
  return [[title, 'longest ms', 'cpu ms', 'wall ms', 'RSS MB', 'limit', ''], ...cells].map(line).join('\n');
}

async function main(args) {
  const options = { runs: { type: 'string', default: '3' }, json: { type: 'boolean' } };
  const { values } = parseArgs({ args, options });
  await ensureBuilt();
  const { file: node } = await pinnedNode(hostTarget());
  const results = {};
  for (const world of WORLDS) {
    log('measure', `${TOOLS} tools, ${world}`);
    results[world] = await measureWorld(world, node, Number(values.runs));
  }
  const text = Object.entries(results).map(([world, rows]) => table(`${TOOLS} tools, ${world}`, rows));
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : `${text.join('\n\n')}\n`);
  return Object.values(results)
    .flat()
    .some(({ longest }) => longest > LIMIT)
    ? 1
    : 0;
}

if (isMain(import.meta.url)) await runMain(main);
