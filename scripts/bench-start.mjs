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
import { pinnedNode } from './node.mjs';
import { BuildError, executableName, hostTarget, isMain, runMain } from './project.mjs';
import { makeReady } from './ready.mjs';
import { say } from './say.mjs';
import { converse, emptyHome, INITIALIZE } from './talk.mjs';

/** The most that each may take, in times of the empty executable. */
const BARS = { 'mcpx --version': 1.3, 'spawn to initialize': 2.5 };

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The floor: the same Node, stripped alike, with an empty file as its application. */
async function emptyExecutable(folder) {
  const { assemble, makeBlob } = await import('./sea.mjs');
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
  const { answers, firstAnswer, stderr } = await converse(command, ['serve'], [INITIALIZE], options);
  if (JSON.parse(answers[0] ?? '{}').result !== undefined) return firstAnswer;
  throw new BuildError(`no answer to initialize: ${stderr}`);
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
      `${bars[row.name].toFixed(1)} x`,
      isOver(row, floor, bars) ? 'over' : 'ok',
    ]),
  ];
  const line = ([name, ...cells]) => `${name.padEnd(20)}${cells.map((cell) => cell.padStart(9)).join('')}`.trimEnd();
  return rows.map(line).join('\n');
}

const isOver = (row, floor, bars) => row.wall > bars[row.name] * floor.wall;

async function main(args) {
  const { values } = parseArgs({ args, options: { runs: { type: 'string', default: '40' } } });
  const [executable, script] = await makeReady();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  const home = emptyHome();
  const options = { cwd: home.folder, env: home.env };
  try {
    const empty = await emptyExecutable(folder);
    say('measure', `${values.runs} runs of each`);
    const rows = await measure(
      [
        ['empty executable', () => timeToExit(empty, [], options)],
        ['mcpx --version', () => timeToExit(executable, ['--version'], options)],
        ['spawn to initialize', () => timeToInitialize(executable, options)],
      ],
      Number(values.runs),
    );
    process.stdout.write(`${table(rows, BARS)}\n`);
    return rows.slice(1).some((row) => isOver(row, rows[0], BARS)) ? 1 : 0;
  } finally {
    home.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await runMain(main);
