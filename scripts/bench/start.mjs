/**
 * npm run bench:start: how long the executable takes to start, as a multiple of an empty one on the same Node.
 * Runs take turns, so that a busy moment hits all alike, and medians are compared: the ratios mean something anywhere.
 *   --runs <n>   how many of each, 40 unless told
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { createTempHome, INITIALIZE, LIST_TOOLS, runSession } from '../mcp-client.mjs';
import { at, BuildError, executableName, hostTarget, isMain, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';

/** The most that each may take, in times of the empty executable. */
const BARS = { 'mcpx --version': 1.3, 'spawn to initialize': 2.5 };

const ONE = 'tools/list, 1 server';
const FIFTY = 'tools/list, 50 servers';

/** The most that one case may take in times of another. With stored catalogs the number of servers must not matter. */
const COMPARED = [
  { name: FIFTY, base: ONE, times: 1.5 },
  { name: FIFTY, base: 'mcpx --version', times: 2.5 },
];

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The floor: the same Node, stripped alike, with an empty file as its application. */
async function emptyExecutable(folder) {
  const { assemble, makeBlob } = await import('../release/sea.mjs');
  const target = hostTarget();
  const node = await pinnedNode(target);
  mkdirSync(join(folder, 'build'));
  writeFileSync(join(folder, 'build', 'empty.js'), '');
  const config = { main: 'build/empty.js', disableExperimentalSEAWarning: true };
  const blob = makeBlob(config, { builder: node, root: folder, name: 'empty' });
  const output = join(folder, executableName(target, { named: true }));
  assemble({ node, blob, target, output });
  return output;
}

/** Milliseconds from spawn to the end of the process. */
function timeToExit(command, args, options) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.resume();
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(Number(process.hrtime.bigint() - start) / 1e6);
      else reject(new BuildError(`"${command} ${args.join(' ')}" exited with ${code}`));
    });
  });
}

/** Milliseconds from spawn to the answer. */
async function timeToInitialize(command, options) {
  const { answers, firstAnswer, stderr } = await runSession(command, ['serve'], [INITIALIZE], options);
  if (JSON.parse(answers[0] ?? '{}').result !== undefined) return firstAnswer;
  throw new BuildError(`no answer to initialize: ${stderr}`);
}

/** A home in which so many servers are configured and have been listed before. */
async function warmHome(executable, count) {
  const server = (name) => ({
    command: process.execPath,
    args: [at('tests', 'fixtures', 'servers', 'tiny.mjs'), `name=${name}`],
  });
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  const mcpServers = Object.fromEntries(names.map((name) => [name, server(name)]));
  const home = createTempHome({ mcpServers, connect: { firstListWait: '60s' } });
  await timeToTools(executable, { cwd: home.folder, env: home.env });
  return home;
}

/** Milliseconds from spawn to the list of tools. */
async function timeToTools(command, options) {
  const { answers, lastAnswer, stderr } = await runSession(command, ['serve'], [INITIALIZE, LIST_TOOLS], options);
  const listed = answers.map((line) => JSON.parse(line)).find(({ id }) => id === LIST_TOOLS.id);
  if (listed?.result !== undefined) return lastAnswer;
  throw new BuildError(`no answer to tools/list: ${stderr}`);
}

/** CPU time of all ended children in ticks of 10 ms, where the system tells (Linux). */
function childTicks() {
  if (!existsSync('/proc/self/stat')) return Number.NaN;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return Number(fields[13]) + Number(fields[14]);
}

/** Runs every case `runs` times in turn. Wall time is the median, CPU time the mean, both in milliseconds. */
async function measure(cases, runs) {
  const samples = cases.map(() => ({ wall: [], ticks: 0 }));
  for (let i = -2; i < runs; i++) {
    for (const [index, [, work]] of cases.entries()) {
      const before = childTicks();
      const wall = await work();
      // The first two rounds fill the file cache.
      if (i < 0) continue;
      samples[index].wall.push(wall);
      samples[index].ticks += childTicks() - before;
    }
  }
  return cases.map(([name], index) => ({
    name,
    wall: median(samples[index].wall),
    cpu: (samples[index].ticks * 10) / runs,
  }));
}

/** The table, one line per case; the first is the floor. */
export function table([floor, ...rest], bars) {
  const ratio = (value, base) => (Number.isNaN(value) ? '-' : `${(value / base).toFixed(2)} x`);
  const number = (value) => (Number.isNaN(value) ? '-' : value.toFixed(1));
  const rows = [
    ['', 'wall ms', 'cpu ms', 'wall', 'cpu', 'bar', ''],
    [floor.name, number(floor.wall), number(floor.cpu), '', '', '', ''],
    ...rest.map((row) => [
      row.name,
      number(row.wall),
      number(row.cpu),
      ratio(row.wall, floor.wall),
      ratio(row.cpu, floor.cpu),
      ...(row.name in bars ? [`${bars[row.name].toFixed(1)} x`, isOver(row, floor, bars) ? 'over' : 'ok'] : ['', '']),
    ]),
  ];
  const line = ([name, ...cells]) => `${name.padEnd(24)}${cells.map((cell) => cell.padStart(9)).join('')}`.trimEnd();
  return rows.map(line).join('\n');
}

const isOver = (row, floor, bars) => row.wall > (bars[row.name] ?? Number.POSITIVE_INFINITY) * floor.wall;

/** The comparisons of cases with each other: one line each, and whether it is over its bar. */
export function comparisons(rows, compared) {
  const wall = (wanted) => rows.find(({ name }) => name === wanted).wall;
  return compared.map(({ name, base, times }) => {
    const ratio = wall(name) / wall(base);
    const over = ratio > times;
    const cells = [`${ratio.toFixed(2)} x`, `${times.toFixed(1)} x`, over ? 'over' : 'ok'];
    return { over, text: `${`${name} / ${base}`.padEnd(51)}${cells.map((cell) => cell.padStart(9)).join('')}` };
  });
}

async function main(args) {
  const { values } = parseArgs({ args, options: { runs: { type: 'string', default: '40' } } });
  const [executable, script] = await ensureBuilt();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  const homes = [createTempHome()];
  const optionsOf = ({ folder, env }) => ({ cwd: folder, env });
  try {
    const empty = await emptyExecutable(folder);
    homes.push(await warmHome(executable, 1), await warmHome(executable, 50));
    const [options, one, fifty] = homes.map(optionsOf);
    log('measure', `${values.runs} runs of each`);
    const rows = await measure(
      [
        ['empty executable', () => timeToExit(empty, [], options)],
        ['mcpx --version', () => timeToExit(executable, ['--version'], options)],
        ['spawn to initialize', () => timeToInitialize(executable, options)],
        [ONE, () => timeToTools(executable, one)],
        [FIFTY, () => timeToTools(executable, fifty)],
      ],
      Number(values.runs),
    );
    const compared = comparisons(rows, COMPARED);
    process.stdout.write(`${[table(rows, BARS), '', ...compared.map(({ text }) => text)].join('\n')}\n`);
    const over = rows.slice(1).some((row) => isOver(row, rows[0], BARS)) || compared.some((one) => one.over);
    return over ? 1 : 0;
  } finally {
    for (const home of homes) home.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await runMain(main);
