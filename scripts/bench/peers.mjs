/**
 * npm run bench:peers: mcpx beside other MCP proxies, the least that Node can do (`load-floor.mjs`), and the server alone: calls per
 * second with 16 in flight, and processor time per call. All take turns with new processes in each round; ratios are taken
 * within a round, and their medians are printed. Linux only, because the processor time of all processes of a peer is counted.
 *   --install             installs the npm peers into `.cache/peers` first
 *   --peers <folder>      where the npm peers are, `.cache/peers` unless told
 *   --native <name=path>  the program of a peer in another language, such as `tbxark=/usr/local/bin/mcp-proxy`
 *   --only <text>         the peers whose name contains it
 *   --rounds <n>          5 unless told
 *   --json                prints numbers
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { INITIALIZE } from '../mcp-client.mjs';
import { npm } from '../npm.mjs';
import { at, BuildError, hostTarget, isMain, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';
import { freePort } from './free-port.mjs';
import { httpClient, stdioClient } from './load-client.mjs';
import { homeOf, installedPeers, NATIVE_PEERS, NPM_PEERS, OWN } from './peer-programs.mjs';
import { median } from './start.mjs';

const WAYS = ['stdio-stdio', 'http-stdio', 'http-http', 'stdio-http'];
const IN_FLIGHT = 16;
/** Calls before the turn and in it, and ms after which a slow program makes no more of them. */
const WARM = { calls: 2000, ms: 3000 };
const TURN = { calls: 4000, ms: 6000 };
/** ms for a program to start. */
const PATIENCE = 30_000;
/** ms for a program to connect to its server after its own start. */
const CONNECT = 10_000;
/** The variable that marks every process of a target, also those that detach. */
const MARK = 'MCPX_BENCH_TARGET';

function install(folder) {
  for (const { package: spec } of NPM_PEERS) {
    const home = homeOf(folder, spec);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), '{"private":true}\n');
    const { status, stderr } = npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', spec], { cwd: home });
    log('install', status === 0 ? spec : `${spec} failed: ${stderr.trim().split('\n').at(-1)}`);
  }
}

/** The processes that carry a mark, without the server behind them. */
function processesOf(mark) {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) return false;
      return !readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[1]?.endsWith('load-upstream.mjs');
    } catch {
      return false; // It has ended.
    }
  });
}

/** µs that some processes have been on a CPU, with all their threads. */
function cpuOf(pids) {
  let ns = 0;
  for (const pid of pids) {
    for (const task of readdirSync(`/proc/${pid}/task`))
      ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]);
  }
  return ns / 1000;
}

/** Starts the HTTP server that is behind the targets of a way. */
async function startHttpServer(node) {
  const child = spawn(node, [at('scripts', 'bench', 'peer-upstream.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (text) => resolve(Number(text)));
    child.once('exit', () => reject(new BuildError('the HTTP server of the benchmark ended')));
  });
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => child.stdin.end() };
}

/** Starts a program and begins a session with it. */
async function openTarget(target, way, setup) {
  const isHttp = way.startsWith('http');
  const folder = mkdtempSync(join(setup.folder, 'target-'));
  const mark = randomUUID();
  const port = isHttp ? await freePort() : undefined;
  const { command, args, env } = target.start({ ...setup, folder, port, spare: await freePort() });
  const own = { HOME: folder, NO_COLOR: '1', PATH: process.env.PATH, [MARK]: mark, ...env };
  const child = spawn(command, args, { cwd: folder, env: own, stdio: ['pipe', isHttp ? 'ignore' : 'pipe', 'ignore'] });
  child.once('error', () => undefined);
  const opened = { target, mark, child, client: undefined };
  const end = Date.now() + PATIENCE;
  for (;;) {
    opened.client = isHttp ? httpClient(port, target.path) : stdioClient(child);
    try {
      await within(begin(opened.client, target), end - Date.now());
      return opened;
    } catch (error) {
      opened.client.close();
      if (!isHttp || Date.now() > end || child.exitCode !== null) {
        await closeTarget(opened);
        throw error;
      }
      await delay(100);
    }
  }
}

async function begin(client, { call }) {
  await client.request('initialize', JSON.stringify(INITIALIZE.params));
  await client.notify('notifications/initialized');
  await client.request('tools/list', '{}');
  // Some peers refuse calls until they have connected to the server.
  for (const end = Date.now() + CONNECT; ; await delay(200)) {
    try {
      return await client.request('tools/call', JSON.stringify(call), 100);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

function within(work, ms) {
  const late = delay(Math.max(1, ms), undefined, { ref: false }).then(() => {
    throw new BuildError(`no answer within ${PATIENCE / 1000} s`);
  });
  return Promise.race([work, late]);
}

async function closeTarget({ mark, client, child }) {
  client?.close();
  child.stdin.end();
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    for (const pid of processesOf(mark)) {
      try {
        process.kill(Number(pid), signal);
      } catch {
        // It has just ended.
      }
    }
    const end = Date.now() + 3000;
    while (processesOf(mark).length > 0 && Date.now() < end) await delay(50);
  }
}

/** Calls with 16 in flight; returns calls per second and µs of processor time per call. */
async function turn({ target, client, mark }, { calls, ms }) {
  const params = JSON.stringify(target.call);
  const pids = processesOf(mark);
  const cpu = cpuOf(pids);
  const begun = performance.now();
  let made = 0;
  const worker = async () => {
    while (made < calls && performance.now() - begun < ms) {
      made += 1;
      await client.request('tools/call', params, 100);
    }
  };
  await within(Promise.all(Array.from({ length: IN_FLIGHT }, worker)), PATIENCE);
  return { perSecond: (made * 1000) / (performance.now() - begun), cpu: (cpuOf(pids) - cpu) / made };
}

/** One round of a way: new processes, a warm-up, and a turn of each in a random order. Returns the samples by name. */
async function round(way, targets, setup) {
  const samples = {};
  const order = targets.map((target) => [Math.random(), target]).sort(([a], [b]) => a - b);
  for (const [, target] of order) {
    try {
      const opened = await openTarget(target, way, setup);
      try {
        await turn(opened, WARM);
        samples[target.name] = await turn(opened, TURN);
      } finally {
        await closeTarget(opened);
      }
    } catch (error) {
      log('failed', `${target.name}, ${way}: ${error.message.split('\n')[0].slice(0, 160)}`);
    }
  }
  return samples;
}

/** Medians of the rounds, and of the ratios to the floor within each round. */
export function summarize(rounds) {
  const names = [...new Set(rounds.flatMap((samples) => Object.keys(samples)))];
  return names
    .map((name) => {
      const own = rounds.filter((samples) => samples[name] !== undefined);
      const beside = own.filter(({ floor }) => floor !== undefined);
      const ratio = (field) => median(beside.map((samples) => samples[name][field] / samples.floor[field]));
      return {
        name,
        rounds: own.length,
        perSecond: median(own.map((samples) => samples[name].perSecond)),
        perSecondRatio: ratio('perSecond'),
        cpu: median(own.map((samples) => samples[name].cpu)),
        cpuRatio: ratio('cpu'),
      };
    })
    .sort((a, b) => a.cpuRatio - b.cpuRatio);
}

/** The rows of a way as a Markdown table. */
export function table(way, rows) {
  const times = (value) => `${value.toFixed(2)} ×`;
  const cells = rows.map(({ name, perSecond, perSecondRatio, cpu, cpuRatio }) => [
    ...[name, Math.round(perSecond).toLocaleString('en-US'), times(perSecondRatio)],
    ...[`${Math.round(cpu)} µs`, times(cpuRatio)],
  ]);
  const head = [way.replace('-', ' → '), 'calls/s', 'of floor', 'CPU per call', 'of floor'];
  const line = (words) => `| ${words.join(' | ')} |`;
  return [line(head), '|---|---:|---:|---:|---:|', ...cells.map(line)].join('\n');
}

/** All ways in one Markdown table: processor time per call as a multiple of the floor, and calls per second. */
export function overview(ways) {
  const names = [...new Set(Object.values(ways).flatMap((rows) => rows.map(({ name }) => name)))];
  const cell = (rows, wanted) => {
    const row = rows.find(({ name }) => name === wanted);
    if (row === undefined) return '–';
    return `${row.cpuRatio.toFixed(1)} × (${Math.round(row.perSecond).toLocaleString('en-US')})`;
  };
  const line = (words) => `| ${words.join(' | ')} |`;
  return [
    line(['', ...Object.keys(ways).map((way) => way.replace('-', ' → '))]),
    `|---|${'---:|'.repeat(Object.keys(ways).length)}`,
    ...names.map((name) => line([name, ...Object.values(ways).map((rows) => cell(rows, name))])),
  ].join('\n');
}

function nativePeers(options) {
  return options.map((text) => {
    const [name, program] = text.split('=');
    const peer = NATIVE_PEERS[name];
    if (peer === undefined || !program)
      throw new BuildError(`--native "${text}" must be <name>=<path>, with a name of: ${Object.keys(NATIVE_PEERS)}`);
    return { ...peer, start: (setup) => peer.start({ ...setup, program }) };
  });
}

const OPTIONS = {
  install: { type: 'boolean' },
  peers: { type: 'string', default: at('.cache', 'peers') },
  native: { type: 'string', multiple: true, default: [] },
  only: { type: 'string', default: '' },
  rounds: { type: 'string', default: '5' },
  json: { type: 'boolean' },
};

async function main(args) {
  const { values } = parseArgs({ args, options: OPTIONS });
  if (process.platform !== 'linux') throw new BuildError('processor time is read from /proc, which only Linux has');
  if (values.install) install(values.peers);
  const [executable, script] = await ensureBuilt();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const { file: node } = await pinnedNode(hostTarget());
  const peers = [...installedPeers(values.peers), ...nativePeers(values.native)];
  const targets = [...OWN, ...peers.filter(({ name }) => name.includes(values.only))];
  if (targets.length === OWN.length)
    log('peers', 'none is installed; `npm run bench:peers -- --install` installs those on npm');
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  const http = await startHttpServer(node);
  const stdio = { command: node, args: [at('scripts', 'bench', 'load-upstream.mjs')] };
  const results = {};
  const load = [];
  try {
    for (let count = 1; count <= Number(values.rounds); count++) {
      for (const way of WAYS) {
        log('measure', `${way}, round ${count} of ${values.rounds}`);
        const able = targets.filter(({ ways }) => ways.includes(way));
        const server = way.endsWith('http') ? { url: http.url } : stdio;
        results[way] ??= [];
        results[way].push(await round(way, able, { node, executable, folder, server }));
        load.push(loadavg()[0]);
      }
    }
  } finally {
    http.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  const rows = Object.fromEntries(WAYS.map((way) => [way, summarize(results[way])]));
  const about = { rounds: Number(values.rounds), load: median(load) };
  const text = [overview(rows), ...WAYS.map((way) => table(way, rows[way]))].join('\n\n');
  const note = `${about.rounds} rounds, load average ${about.load.toFixed(1)}`;
  process.stdout.write(values.json ? `${JSON.stringify({ ...about, ways: rows }, null, 2)}\n` : `${text}\n\n${note}\n`);
  return 0;
}

if (isMain(import.meta.url)) await runMain(main);
