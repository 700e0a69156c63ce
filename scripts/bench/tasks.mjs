/**
 * npm run bench:tasks: 30 everyday tasks (tests/fixtures/tasks), done through the executable by a fixed policy in place of a model: how many
 * turns it needs, how many tokens it reads and writes, and whether the right calls arrived, beside a client that has all tools listed.
 *   --tools 15,50,147   the sizes of the catalog; the servers of a task come first
 *   --verbose           each task
 *   --trace <id>        what the policy read and wrote in one task
 *   --json              for programs
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { isMain, runMain } from '../project.mjs';
import { directTurns, STYLES, solve } from './task-policy.mjs';
import { neededBy, readServers, readTasks } from './task-world.mjs';
import { serveCatalogs } from './token-catalogs.mjs';
import { count, countJson, openClient, rawCost, sum } from './token-measure.mjs';

const SIZES = '15,50,147';
const METHOD = `Counted with o200k. A turn is one step of the model; "tokens" is what it reads and writes, each text once:
  direct   all tools and instructions, the calls and their answers; calls that need nothing of each other are one turn
  fluent   mcpx: the actions that are not known are searched in one turn, calls are chained in a batch where the result types were shown
  plain    mcpx: one search or one call per turn, beside a direct client that also makes one call per turn
`;

/** This many tools: those of the task's servers first, and never without those that the task needs. */
export function worldOf({ calls }, servers, size) {
  const wanted = new Set(calls.map(({ tool }) => tool));
  const own = new Set([...wanted].map((tool) => tool.slice(0, tool.indexOf('.'))));
  const all = servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}.${tool.name}`));
  const rank = (name) => (wanted.has(name) ? 0 : own.has(name.slice(0, name.indexOf('.'))) ? 1 : 2);
  const kept = new Set([...all].sort((a, b) => rank(a) - rank(b)).slice(0, size));
  return servers
    .map((server) => ({ ...server, tools: server.tools.filter(({ name }) => kept.has(`${server.name}.${name}`)) }))
    .filter(({ tools }) => tools.length > 0);
}

const textOf = (answer) => (typeof answer === 'string' ? answer : JSON.stringify(answer));

/** The recorded answer to a call; a call that no task makes finds nothing. */
function recorded({ calls }, catalogs, log) {
  return (server, { name, arguments: args = {} }) => {
    const tool = `${server}.${name}`;
    log.push({ tool, args });
    const call = calls.find((one) => one.tool === tool && isDeepStrictEqual(one.arguments, args));
    if (call === undefined) return { content: [{ type: 'text', text: 'nothing found' }] };
    const declared = catalogs.find((one) => one.name === server).tools.find((one) => one.name === name).outputSchema;
    const content = [{ type: 'text', text: textOf(call.answer) }];
    return { content, ...(declared && typeof call.answer === 'object' && { structuredContent: call.answer }) };
  };
}

/** True if each call arrived, after the calls that it needs. */
export function isDone({ calls }, log) {
  const places = calls.map((call) =>
    log.findIndex(({ tool, args }) => tool === call.tool && isDeepStrictEqual(args, call.arguments)),
  );
  return calls.every(
    (call, index) => places[index] >= 0 && neededBy(call).every((need) => places[need] < places[index]),
  );
}

/** Does one task with mcpx in front of these catalogs. */
async function doTask(task, catalogs, { program: [command, ...before], style, trace }) {
  const arrived = [];
  const { url, close } = await serveCatalogs(catalogs, recorded(task, catalogs, arrived));
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-tasks-'));
  const env = { HOME: folder, MCPX_HOME: join(folder, 'home'), NO_COLOR: '1', PATH: process.env.PATH };
  const mcpServers = Object.fromEntries(catalogs.map(({ name }) => [name, { type: 'http', url: `${url}/${name}` }]));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers, log: { level: 'error' } }));
  const open = () => openClient(command, [...before, 'serve', file], { cwd: folder, env });
  try {
    // The first process lists the servers, so that the menu of the second one is complete.
    const first = await open();
    await first.call('inspect', {});
    await first.close();
    const client = await open();
    let tokens = rawCost(client);
    const menu = client.tools.map(({ description }) => description).join('\n');
    if (trace) process.stdout.write(`${client.instructions}\n${menu}\n`);
    const call = async (name, input) => {
      const answer = await client.call(name, input);
      tokens += answer.cost;
      if (trace) process.stdout.write(`\n> ${name} ${JSON.stringify(input)}\n${answer.text}\n`);
      return answer;
    };
    const { turns } = await solve(task, { menu, call }, style);
    await client.close();
    return { turns, tokens, solved: isDone(task, arrived) };
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The same task with all tools listed. */
function directly(task, catalogs, style) {
  const exchanged = task.calls.map(
    ({ tool, arguments: args, answer }) =>
      countJson({ name: tool.slice(tool.indexOf('.') + 1), arguments: args }) + count(textOf(answer)),
  );
  return { turns: directTurns(task, style), tokens: sum(catalogs.map(rawCost)) + sum(exchanged) };
}

/** Sums of many tasks: turns and tokens of both, their ratios, and the share of tasks that were done. */
export function summaryOf(rows) {
  const several = rows.filter(({ calls }) => calls > 1);
  const ratio = (some, key) => sum(some.map(({ mcpx }) => mcpx[key])) / sum(some.map(({ direct }) => direct[key]));
  return {
    tasks: rows.length,
    done: rows.filter(({ mcpx }) => mcpx.solved).length,
    turns: sum(rows.map(({ mcpx }) => mcpx.turns)),
    directTurns: sum(rows.map(({ direct }) => direct.turns)),
    ratio: ratio(rows, 'turns'),
    severalRatio: ratio(several, 'turns'),
    tokens: sum(rows.map(({ mcpx }) => mcpx.tokens)),
    directTokens: sum(rows.map(({ direct }) => direct.tokens)),
    fewer: rows.filter(({ mcpx, direct }) => mcpx.tokens < direct.tokens).length,
  };
}

export function tableOf(groups) {
  const head = ['tools', 'policy', 'done', 'turns', 'direct', 'ratio', 'multi-step', 'tokens', 'direct', 'fewer in'];
  const rows = groups.map(({ size, style, rows }) => {
    const { tasks, done, turns, directTurns, ratio, severalRatio, tokens, directTokens, fewer } = summaryOf(rows);
    const ratios = [ratio, severalRatio].map((value) => value.toFixed(2));
    return [size, style, `${done}/${tasks}`, turns, directTurns, ...ratios, tokens, directTokens, `${fewer}/${tasks}`];
  });
  return [head, ...rows].map((cells) => cells.map((cell) => `${cell}`.padStart(10)).join(' ')).join('\n');
}

function taskTable({ size, style, rows }) {
  const lines = rows.map(({ id, mcpx, direct }) => {
    const numbers = [mcpx.turns, direct.turns, mcpx.tokens, direct.tokens]
      .map((value) => `${value}`.padStart(8))
      .join('');
    return `${id.padEnd(18)}${numbers}${mcpx.solved ? '' : '   not done'}`;
  });
  return [
    `\n${size} tools, ${style}`.padEnd(19) +
      ['turns', 'direct', 'tokens', 'direct'].map((one) => one.padStart(8)).join(''),
    ...lines,
  ].join('\n');
}

async function main() {
  const { values } = parseArgs({
    options: {
      tools: { type: 'string', default: SIZES },
      verbose: { type: 'boolean' },
      json: { type: 'boolean' },
      trace: { type: 'string' },
    },
  });
  const program = await ensureBuilt();
  const servers = readServers();
  const tasks = readTasks().filter(({ id }) => values.trace === undefined || id === values.trace);
  const groups = [];
  for (const size of values.tools.split(',').map(Number)) {
    for (const style of STYLES) {
      log('measure', `${size} tools, ${style}`);
      const rows = [];
      for (const task of tasks) {
        const catalogs = worldOf(task, servers, size);
        const mcpx = await doTask(task, catalogs, { program, style, trace: values.trace !== undefined });
        rows.push({ id: task.id, calls: task.calls.length, mcpx, direct: directly(task, catalogs, style) });
      }
      groups.push({ size, style, rows });
    }
  }
  if (values.json) console.log(JSON.stringify(groups.map((group) => ({ ...group, summary: summaryOf(group.rows) }))));
  else console.log([METHOD, tableOf(groups), ...(values.verbose ? groups.map(taskTable) : [])].join('\n'));
  return 0;
}

if (isMain(import.meta.url)) await runMain(main);
