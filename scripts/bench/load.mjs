/**
 * npm run bench:load: what mcpx adds to a call, next to the least that a program on the same Node can add (`load-floor.mjs`).
 * The client talks to the server directly, through the floor and through mcpx, in turns of a few dozen milliseconds: a busy
 * moment of the machine hits all of them alike, and medians of many turns are compared. Exits with 1 when a bar is missed.
 *   --quick          a third of the time
 *   --seconds <n>    for each way in, 40 unless told
 *   --json           numbers instead of the table
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { INITIALIZE } from '../mcp-client.mjs';
import { at, BuildError, hostTarget, isMain, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';
import { freePort } from './free-port.mjs';
import { httpClient, stdioClient } from './load-client.mjs';
import { median } from './start.mjs';

/** How clients come in; the server is behind stdio. */
const WAYS = ['stdio', 'http'];
const TARGETS = ['direct', 'floor', 'aggregate', 'compact'];
/** Characters of an ordinary result. */
const SMALL = 100;
/** Bytes of a large one. */
const LARGE = 10 * 1024 * 1024;
const LARGE_CALLS = 5;
/** Bytes at least of the beginning that the compact front sends of a large one. */
const KEPT = 1000;
/** Calls in one turn: one after the other, then many at once. */
const ALONE = 50;
const TOGETHER = 1000;
const IN_FLIGHT = 100;
const LEAST_TURNS = 5;
/** Each with new processes: where code and data come to lie is luck, for as long as a process lives. */
const ROUNDS = 4;
/** ms for a program to start. */
const PATIENCE = 20_000;

/** At most so many times what the floor adds to a call, at least so many times its calls per second, and growth in times of a large result. */
const BARS = { added: 1.3, perSecond: 0.8, growth: 6 };

const CALLS = {
  direct: (size) => ({ name: 'lines', arguments: { size } }),
  floor: (size) => ({ name: 'load__lines', arguments: { size } }),
  aggregate: (size) => ({ name: 'load__lines', arguments: { size } }),
  compact: (size) => ({
    name: 'exec',
    arguments: { server_name: 'load', tool_name: 'lines', arguments: { size } },
  }),
};

/** The samples of many turns as one row per target: medians, and ratios to the floor. Each sample has `us` alone, `perSecond` together, `cpu` µs per call. */
export function summarize(samples) {
  const column = (target, field) => median(samples[target].map((sample) => sample[field]));
  // The added time of a call is computed per turn, before any median.
  const added = (target) => median(samples[target].map(({ us }, turn) => us - samples.direct[turn].us));
  const share = (target) =>
    median(samples[target].map(({ perSecond }, turn) => perSecond / samples.floor[turn].perSecond));
  return Object.keys(samples).map((target) => ({
    target,
    us: column(target, 'us'),
    added: added(target),
    addedRatio: added(target) / added('floor'),
    perSecond: column(target, 'perSecond'),
    perSecondRatio: share(target),
    cpu: column(target, 'cpu'),
  }));
}

/** Which bars are missed, one sentence each. `ways` has the rows of `summarize` by the way in, `large` the growth in times of the payload. */
export function missed({ ways, large }, bars = BARS) {
  const words = [];
  for (const [way, rows] of Object.entries(ways)) {
    const { addedRatio, perSecondRatio } = rows.find(({ target }) => target === 'aggregate');
    // A ratio that is no number is a bar missed as well.
    if (!(addedRatio <= bars.added)) {
      words.push(`${way}: adds ${addedRatio.toFixed(2)} times what the floor adds, more than ${bars.added}`);
    }
    if (!(perSecondRatio >= bars.perSecond)) {
      words.push(
        `${way}: ${perSecondRatio.toFixed(2)} times the calls per second of the floor, less than ${bars.perSecond}`,
      );
    }
  }
  for (const { way, target, growth } of large) {
    // The floor is there to compare with; the compact front does not pass a large result on but keeps it, see `limits.resultStore`.
    if (target === 'aggregate' && !(growth <= bars.growth))
      words.push(`${way}, ${target}: grows by ${growth.toFixed(1)} times a large result, more than ${bars.growth}`);
  }
  return words;
}

/** One way in as text, one line per target. */
export function table(way, rows) {
  const number = (value, digits = 0) => (Number.isFinite(value) ? value.toFixed(digits) : '-');
  const times = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} x` : '-');
  const head = [`${way} to stdio`, 'alone µs', 'added µs', 'of floor', 'calls/s', 'of floor', 'cpu µs'];
  const cells = rows.map(({ target, us, added, addedRatio, perSecond, perSecondRatio, cpu }) => [
    target,
    number(us),
    number(target === 'direct' ? Number.NaN : added),
    target === 'direct' ? '-' : times(addedRatio),
    number(perSecond),
    target === 'direct' ? '-' : times(perSecondRatio),
    number(cpu, 1),
  ]);
  const line = ([name, ...rest]) => `${name.padEnd(16)}${rest.map((cell) => cell.padStart(10)).join('')}`;
  return [head, ...cells].map(line).join('\n');
}

/** The command line of a target. */
function commandOf(target, { node, executable, config, port }) {
  const upstream = [node, at('scripts', 'bench', 'load-upstream.mjs')];
  if (target === 'direct') return upstream;
  if (target === 'floor')
    return [node, at('scripts', 'bench', 'load-floor.mjs'), ...(port ? [`${port}`] : []), '--', ...upstream];
  return [executable, 'serve', config, '--front', target, ...(port ? ['--http', `127.0.0.1:${port}`] : [])];
}

/** Starts a target and begins a session with it. */
async function openTarget(target, way, setup) {
  const port = way === 'http' && target !== 'direct' ? await freePort() : undefined;
  const [command, ...args] = commandOf(target, { ...setup, port });
  const child = spawn(command, args, { env: setup.env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.once('error', () => undefined);
  const end = Date.now() + PATIENCE;
  for (;;) {
    const client = port === undefined ? stdioClient(child) : httpClient(port);
    const opened = { target, child, client, ended };
    try {
      await client.request('initialize', JSON.stringify(INITIALIZE.params));
      await client.notify('notifications/initialized');
      await client.request('tools/list', '{}');
      return opened;
    } catch (error) {
      if (Date.now() > end || child.exitCode !== null) {
        await closeTarget(opened);
        throw error;
      }
      client.close();
      await delay(20);
    }
  }
}

async function closeTarget({ child, client, ended }) {
  client.close();
  child.stdin.end();
  // A listener does not end with its input.
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}

/** µs that a process has been on a CPU, all its threads together; not a number where the system does not tell. */
function cpuOf(pid) {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const ns = (task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    return tasks.reduce((sum, task) => sum + ns(task), 0) / 1000;
  } catch {
    return Number.NaN;
  }
}

/** One turn of a target: a sample for `summarize`. */
async function turn({ target, client, child }, { alone = ALONE, together = TOGETHER } = {}) {
  const params = JSON.stringify(CALLS[target](SMALL));
  const call = () => client.request('tools/call', params, SMALL);
  const times = [];
  for (let left = alone; left > 0; left--) {
    const begin = performance.now();
    await call();
    times.push((performance.now() - begin) * 1000);
  }
  const cpu = cpuOf(child.pid);
  const begin = performance.now();
  let left = together;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const perSecond = together / ((performance.now() - begin) / 1000);
  return { us: median(times), perSecond, cpu: target === 'direct' ? Number.NaN : (cpuOf(child.pid) - cpu) / together };
}

/** In another order each time: what a program leaves behind, in the caches and in the client, must not always hit the same one. */
function shuffled(list) {
  return list
    .map((one) => [Math.random(), one])
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

/** Turns of all targets until the time is over. */
async function measure(targets, samples, seconds) {
  // Compilers take a while to see what is hot.
  for (const one of targets) for (let warm = 0; warm < 3; warm++) await turn(one, { alone: 300, together: 3000 });
  const end = Date.now() + seconds * 1000;
  for (let turns = 0; turns < LEAST_TURNS || Date.now() < end; turns++) {
    for (const one of shuffled(targets)) samples[one.target].push(await turn(one));
  }
}

/** A line of /proc/<pid>/status, in bytes. */
function memoryOf(pid, field) {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** By how much a fresh process grows at most while large results pass, in times of one; not a number where the system does not tell. */
async function growthOf({ target, client, child }) {
  // The compact front keeps what is too large for a model, and sends its beginning.
  const least = (size) => (target === 'compact' ? Math.min(size, KEPT) : size);
  const call = (size) => client.request('tools/call', JSON.stringify(CALLS[target](size)), least(size));
  await call(SMALL);
  const before = process.platform === 'linux' ? memoryOf(child.pid, 'VmRSS') : Number.NaN;
  for (let calls = 0; calls < LARGE_CALLS; calls++) await call(LARGE);
  return process.platform === 'linux' ? (memoryOf(child.pid, 'VmHWM') - before) / LARGE : Number.NaN;
}

async function withTargets(names, way, setup, work) {
  const targets = [];
  try {
    for (const name of names) targets.push(await openTarget(name, way, setup));
    return await work(targets);
  } finally {
    await Promise.all(targets.map(closeTarget));
  }
}

async function run(setup, seconds) {
  const ways = {};
  const large = [];
  for (const way of WAYS) {
    log('measure', `${way} to stdio, for ${seconds} s`);
    const samples = Object.fromEntries(TARGETS.map((target) => [target, []]));
    for (let round = 0; round < ROUNDS; round++)
      await withTargets(TARGETS, way, setup, (targets) => measure(targets, samples, seconds / ROUNDS));
    ways[way] = summarize(samples);
    log('measure', `${way} to stdio, results of ${LARGE / 1024 / 1024} MiB`);
    for (const target of TARGETS.slice(1)) {
      const growth = await withTargets([target], way, setup, ([one]) => growthOf(one));
      large.push({ way, target, growth });
    }
  }
  return { ways, large };
}

async function main(args) {
  const options = { quick: { type: 'boolean' }, seconds: { type: 'string', default: '40' }, json: { type: 'boolean' } };
  const { values } = parseArgs({ args, options });
  const [executable, script] = await ensureBuilt();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const { file: node } = await pinnedNode(hostTarget());
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  try {
    const config = join(folder, 'mcpx.json');
    const server = { command: node, args: [at('scripts', 'bench', 'load-upstream.mjs')] };
    writeFileSync(config, JSON.stringify({ mcpServers: { load: server } }));
    const env = { HOME: folder, MCPX_HOME: join(folder, 'home'), NO_COLOR: '1', PATH: process.env.PATH };
    const seconds = Math.ceil(Number(values.seconds) / (values.quick ? 3 : 1));
    const results = await run({ node, executable, config, env }, seconds);
    const words = missed(results);
    process.stdout.write(
      values.json ? `${JSON.stringify({ ...results, missed: words }, null, 2)}\n` : `${report(results)}\n`,
    );
    for (const word of words) log('missed', word);
    return words.length > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report({ ways, large }) {
  const tables = Object.entries(ways).map(([way, rows]) => table(way, rows));
  const grown = large.map(
    ({ way, target, growth }) => `${`${way}, ${target}`.padEnd(26)}${growth.toFixed(1).padStart(10)} x`,
  );
  return [...tables, ['growth by 10 MiB results', ...grown].join('\n')].join('\n\n');
}

if (isMain(import.meta.url)) await runMain(main);
