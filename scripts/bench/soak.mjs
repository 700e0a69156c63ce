/**
 * npm run bench:soak: clients of every kind at work for minutes, on twenty servers of which some crash, hang and restart, while the config
 * is reloaded every few seconds. Exits with 1 on any error or silence that no injected fault excuses, on memory, handles or children that
 * grow between two quiet moments, and on processes that are left. Handles, children and memory are read from /proc, which only Linux has.
 *   --minutes <n>   of work, 2 unless told
 *   --json          numbers instead of the table
 */
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { BuildError, hostTarget, isMain, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';
import { createActor, createJournal } from './soak-calls.mjs';
import { httpClient, stdioClient } from './soak-clients.mjs';
import { injectFaults, sleep } from './soak-faults.mjs';
import { ON_STDIO, SECOND, startProcesses, TOKENS, UPSTREAMS } from './soak-processes.mjs';
import { descendants, larger, look, lookWhenQuiet, rowsOf, stillRunning, table } from './soak-samples.mjs';

/** ms without an answer after which a client gives up: longer than mcpx itself waits for a server. */
const PATIENCE = 60_000;
/** ms at most between two calls of a client. */
const PAUSE = 100;
/** A crowd: so many calls in flight on kept connections for some ms, then as long a pause twice; and so many new connections at once meanwhile. */
const CROWD = 100;
const CROWDED = 2000;
const BURST = 100;
/** ms that a new connection may wait for its answer. */
const BURST_PATIENCE = 20_000;
const IS_LINUX = process.platform === 'linux';

/**
 * ms of warm-up: a share of the time, within bounds. mcpx keeps finished event streams for 5 minutes, so its memory is steady only after
 * that: a long run warms up for longer.
 */
const warmUp = (total) => Math.min(6 * 60_000, Math.max(15_000, total / 5));

const ALL = Object.values(UPSTREAMS).flat();
const COMPACT = ['/mcp', '/mcp/second'];
const AGGREGATE = ['/api/default/mcp', '/api/second/mcp'];
const roots = (name) => [`file:///soak/${name}/one`, `file:///soak/${name}/two`];
/** A client with roots has processes of its own: it uses few servers. */
const FEW = ['steady-1', 'rooted-1', 'rooted-2', 'crash-1', 'changed-1', 'changed-2'];
const FEW_OF_SECOND = FEW.filter((name) => SECOND.includes(name));

/** The clients over HTTP. */
const CLIENTS = [
  { name: 'session of alice', kind: 'session', token: 'alice', path: COMPACT[0], servers: ALL, keepAlive: true },
  {
    name: 'roots of alice',
    kind: 'session',
    token: 'alice',
    path: COMPACT[0],
    servers: FEW,
    keepAlive: true,
    rooted: true,
  },
  { name: 'names for alice', kind: 'session', token: 'alice', path: AGGREGATE[0], servers: ALL, keepAlive: false },
  { name: 'session of bob', kind: 'session', token: 'bob', path: COMPACT[1], servers: SECOND, keepAlive: false },
  {
    name: 'roots of bob',
    kind: 'session',
    token: 'bob',
    path: AGGREGATE[1],
    servers: FEW_OF_SECOND,
    keepAlive: true,
    rooted: true,
  },
  { name: 'posts of alice', kind: 'stateless', token: 'alice', path: COMPACT[0], servers: ALL, keepAlive: false },
  { name: 'posts of bob', kind: 'stateless', token: 'bob', path: AGGREGATE[1], servers: SECOND, keepAlive: true },
  { name: 'modern alice', kind: 'modern', token: 'alice', path: COMPACT[0], servers: ALL, keepAlive: true },
  { name: 'modern bob', kind: 'modern', token: 'bob', path: AGGREGATE[1], servers: SECOND, keepAlive: false },
];

const frontOf = (path) => (AGGREGATE.includes(path) ? 'aggregate' : 'compact');

function openHttp({ patience = PATIENCE, ...facts }, { port, journal }) {
  const { name, kind, token, path, servers, keepAlive = false, rooted } = facts;
  const own = rooted ? { roots: roots(name) } : {};
  const heard = ({ method, params }) => {
    if (method === 'lost') journal.fail(name, 'roots/list', params.message);
  };
  const client = httpClient({ port, path, kind, keepAlive, token: TOKENS[token], patience, heard, ...own });
  return createActor({ name, place: 'http', front: frontOf(path), servers, client, journal, ...own });
}

function openStdio(name, { processes, journal }) {
  const own = { roots: roots(name) };
  const client = stdioClient({ child: processes[name].child, patience: PATIENCE, ...own });
  return createActor({ name, place: name, front: name.split(' ')[1], servers: ON_STDIO, client, journal, ...own });
}

/** Sessions that begin, ask for a little and end, each with a process of its own for the server that asks for roots. */
async function churn(world, stop) {
  for (let count = 0; !stop.aborted; count++) {
    const name = `short session ${count % 10}`;
    const facts = { name, kind: 'session', token: 'alice', path: COMPACT[0], keepAlive: true, servers: ['rooted-2'] };
    const actor = openHttp({ ...facts, rooted: true }, world);
    try {
      await actor.client.open();
      for (const operation of ['roots', 'echo', 'roots']) await actor.work('rooted-2', operation);
      await actor.client.end();
    } catch (error) {
      world.journal.fail(name, 'session', error.message);
    }
    actor.client.close();
    await sleep(1000, stop);
  }
}

/** Many connections at once, each for one call. */
async function burst(world) {
  const facts = { kind: 'stateless', token: 'bob', path: COMPACT[1], servers: SECOND, patience: BURST_PATIENCE };
  const actors = Array.from({ length: BURST }, (_, index) => openHttp({ ...facts, name: `burst ${index}` }, world));
  await Promise.all(actors.map((actor, index) => actor.work(UPSTREAMS.steady[index % 3], 'echo')));
  for (const { client } of actors) client.close();
}

/** Calls without a pause on many kept connections, and in the midst of them many new connections. */
async function crowds(world, stop) {
  const facts = { name: 'crowd', kind: 'stateless', token: 'alice', path: AGGREGATE[0], servers: ALL, keepAlive: true };
  const actor = openHttp(facts, world);
  while (!stop.aborted) {
    const end = Date.now() + CROWDED;
    const workers = Array.from({ length: CROWD }, async (_, index) => {
      while (Date.now() < end) await actor.work(UPSTREAMS.steady[index % UPSTREAMS.steady.length], 'echo');
    });
    await sleep(CROWDED / 4, stop);
    await burst(world);
    await Promise.all(workers);
    await sleep(2 * CROWDED, stop);
  }
  actor.client.close();
}

/** Once a second: what the processes hold, and how long the gateway takes for an answer that needs no server. */
async function watch(world, stop) {
  const { port, processes, journal, most, pings } = world;
  while (!stop.aborted) {
    const from = performance.now();
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(PATIENCE) });
      await answer.arrayBuffer();
      pings.push(performance.now() - from);
    } catch (error) {
      journal.fail('ping', '/healthz', error.message);
    }
    for (const [name, { child }] of Object.entries(IS_LINUX ? processes : {})) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const seen = look(child.pid);
      most[name] = larger(most[name] ?? seen, seen);
    }
    await sleep(1000, stop);
  }
}

/** Everybody at work for some time; resolves when all calls and faults are over. */
async function work(world, ms) {
  const stop = new AbortController();
  const { signal } = stop;
  // All of the clients and faults wait for it.
  setMaxListeners(0, signal);
  const timer = setTimeout(() => stop.abort(), ms);
  for (const [name, { ended }] of Object.entries(world.processes))
    ended.then(() => stop.abort(new BuildError(`${name} ended`)));
  await Promise.all([
    ...world.actors.map((actor) => actor.run(signal, PAUSE)),
    churn(world, signal),
    crowds(world, signal),
    watch(world, signal),
    injectFaults(world, signal),
  ]);
  clearTimeout(timer);
}

/** Samples memory, handles and children while no client calls and every needed server runs. */
async function quiet({ processes, actors }) {
  await Promise.all(actors.map((actor) => actor.greet()));
  for (const { client } of actors) client.rest();
  if (!IS_LINUX) return {};
  const looks = Object.entries(processes).map(async ([name, { child }]) => [name, await lookWhenQuiet(child.pid)]);
  return Object.fromEntries(await Promise.all(looks));
}

async function openAll(world) {
  const actors = [
    ...CLIENTS.map((facts) => openHttp(facts, world)),
    ...['stdio compact', 'stdio aggregate'].map((name) => openStdio(name, world)),
  ];
  for (const [index, actor] of actors.entries()) {
    await actor.client.open();
    // A client with a session also listens, where it keeps its connections.
    const { kind, keepAlive } = CLIENTS[index] ?? {};
    if (kind === 'session' && keepAlive) actor.client.listen((why) => world.journal.fail(actor.name, 'GET', why));
    // mcpx learns from a server's first call that it asks for roots; two clients in that call at once would be refused.
    const asking = CLIENTS[index]?.rooted ? CLIENTS[index].servers.filter((server) => server.startsWith('rooted')) : [];
    for (const server of asking) await actor.work(server, 'roots');
  }
  return actors;
}

/** Ends everything and looks for what is left. */
async function finish(world) {
  const { journal, actors, processes, close } = world;
  for (const { name, client } of actors) {
    client.close();
    await client.end().catch((error) => journal.fail(name, 'DELETE', error.message));
  }
  const pids = IS_LINUX ? Object.values(processes).flatMap(({ child }) => descendants(child.pid)) : [];
  for (const { name, how, said } of await close()) {
    if (how !== 0) journal.fail(name, 'mcpx', `it ended with ${how}: ${said.slice(-300)}`);
    const bad = /^.*(internal error|unhandled|uncaught|listener failed).*$/im.exec(said)?.[0];
    if (bad !== undefined) journal.fail(name, 'mcpx', `it wrote: ${bad}`);
  }
  const left = await stillRunning(pids);
  if (left.length > 0) journal.fail('mcpx', 'children', `${left.length} are left after its end`);
}

async function soak(setup, minutes) {
  const journal = createJournal();
  const world = Object.assign(await startProcesses(setup), { journal, reloads: 0, most: {}, pings: [], actors: [] });
  const total = minutes * 60_000;
  const moments = {};
  try {
    world.actors = await openAll(world);
    await Promise.all(world.actors.map((actor) => actor.greet()));
    log('soak', `warm-up, ${Math.round(warmUp(total) / 1000)} s`);
    await work(world, warmUp(total));
    moments.first = await quiet(world);
    for (const [name, first] of Object.entries(moments.first)) first['memory MB'] = world.most[name]['memory MB'];
    log('soak', `${minutes} minutes`);
    await work(world, total);
    moments.last = await quiet(world);
  } finally {
    await finish(world);
  }
  const { most, pings, reloads } = world;
  const names = Object.keys(moments.first);
  const rows = rowsOf(
    names.map((name) => ({ name, first: moments.first[name], most: most[name], last: moments.last[name] })),
  );
  pings.sort((a, b) => a - b);
  const ping = { median: pings[pings.length >> 1], most: pings.at(-1) };
  return { minutes, rows, ping, reloads, ...journal.counts, failures: journal.failures };
}

/** Returns one line that says if the run passed. */
export function verdict({ failed, rows }) {
  const grown = rows.filter(({ over }) => over).map(({ process, number }) => `${number} of ${process}`);
  if (failed === 0 && grown.length === 0) return 'passed: no error that was not injected, nothing grew';
  const words = [failed > 0 && `${failed} unexpected errors`, grown.length > 0 && `grew: ${grown.join(', ')}`];
  return `failed: ${words.filter(Boolean).join('; ')}`;
}

export function report(results) {
  const { minutes, rows, ping, reloads, calls, excused, faults, failures } = results;
  const injected = Object.entries(faults).map(([kind, count]) => `${count} ${kind}`);
  const seconds = (ms) => `${(ms / 1000).toFixed(1).padStart(8)} s`;
  return [
    ...failures.map(({ at: when, client, server, message }) => `${seconds(when)}  ${client} → ${server}: ${message}`),
    rows.length > 0 ? `${table(rows)}\n` : 'memory, handles and children were not looked at: there is no /proc\n',
    `${minutes} minutes: ${calls} calls, ${excused} with an error of an injected fault (${injected.join(', ')}), ${reloads} reloads`,
    `an answer without a server: ${ping.median.toFixed(1)} ms, at most ${ping.most.toFixed(1)} ms`,
    verdict(results),
  ].join('\n');
}

async function main(args) {
  const options = { minutes: { type: 'string', default: '2' }, json: { type: 'boolean' } };
  const { values } = parseArgs({ args, options });
  const minutes = Number(values.minutes);
  if (!(minutes > 0))
    throw new BuildError('"--minutes" must be a number above 0', { hint: 'npm run bench:soak -- --minutes 2' });
  const [executable, script] = await ensureBuilt();
  if (script !== undefined) throw new BuildError('there is no executable to run on this machine');
  const { file: node } = await pinnedNode(hostTarget());
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-soak-'));
  try {
    const results = await soak({ executable, node, folder }, minutes);
    process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : `${report(results)}\n`);
    return verdict(results).startsWith('passed') ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (isMain(import.meta.url)) await runMain(main);
