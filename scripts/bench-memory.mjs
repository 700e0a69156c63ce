/**
 * npm run bench:memory: what mcpx itself holds in memory with ten connected servers, and whether that stays the same over
 * many calls and many restarts of those servers. The executable is looked at from outside (/proc), the same program under
 * the same Node from inside (after a garbage collection). Exits with 1 when something is over its bar. Linux only.
 *   --calls <n>      50,000 unless told
 *   --restarts <n>   1,000 unless told
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pinnedNode } from './node.mjs';
import { at, BuildError, hostTarget, isMain, runMain } from './project.mjs';
import { makeReady } from './ready.mjs';
import { say } from './say.mjs';
import { INITIALIZE, LIST_TOOLS, openSession } from './talk.mjs';

const SERVERS = 10;
/** Calls under way at once. */
const IN_FLIGHT = 64;
/** ms for everything that is asked of one program. */
const PATIENCE = 10 * 60_000;
const MB = 1e6;

/**
 * What each number may be at most: `first` with ten idle servers, `growth` at any moment after the warm-up.
 * Seen from outside there is also garbage that nobody has needed to collect yet, some tens of MB; a leak shows inside.
 */
const BARS = {
  'resident MB': { first: 120, growth: 60 },
  'proportional MB': { first: 120, growth: 60 },
  'open files': { growth: 0 },
  threads: { growth: 0 },
  'heap MB': { growth: 1 },
  handles: { growth: 0 },
  timers: { growth: 2 },
  signals: { growth: 2 },
  sockets: { growth: 0 },
  children: { growth: 0 },
  promises: { growth: 20 },
  listeners: { growth: 0 },
};

/** The config of ten small servers, all of them started at once and kept. */
function writeConfig(folder) {
  const server = (name) => ({
    command: process.execPath,
    args: [at('tests', 'fixtures', 'servers', 'tiny.mjs'), `name=${name}`, 'ttl=1200'],
    reconnect: { interval: 1 },
  });
  const names = Array.from({ length: SERVERS }, (_, index) => `s${index}`);
  const mcpServers = Object.fromEntries(names.map((name) => [name, server(name)]));
  const file = join(folder, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers, connect: { mode: 'eager' }, log: { level: 'error' } }));
  return { file, names };
}

/** What the system knows of a process: memory in MB, and counts. */
function seenFromOutside(pid) {
  const field = (file, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1]);
  return {
    'resident MB': (field(`/proc/${pid}/smaps_rollup`, 'Rss') * 1024) / MB,
    'proportional MB': (field(`/proc/${pid}/smaps_rollup`, 'Pss') * 1024) / MB,
    'open files': readdirSync(`/proc/${pid}/fd`).length,
    threads: field(`/proc/${pid}/status`, 'Threads'),
  };
}

/** Looks from outside until the memory holds still for a while: the collector and the kernel take their time. */
async function settled(pid) {
  let last = seenFromOutside(pid);
  for (let still = 0, looks = 0; still < 4 && looks < 40; looks++) {
    await delay(500);
    const now = seenFromOutside(pid);
    still = Math.abs(now['resident MB'] - last['resident MB']) < 0.5 ? still + 1 : 0;
    last = now;
  }
  return last;
}

/** Asks the probe inside. */
async function seenFromInside(child) {
  // What ends with a timer of its own, such as the wait of a call, is given the time to.
  await delay(1500);
  const answer = new Promise((resolve) => child.once('message', resolve));
  child.send('look');
  const { heap, ...counts } = await answer;
  return { 'heap MB': heap / MB, ...counts };
}

const failed = (answer) => answer.error !== undefined || answer.result?.isError === true;

/** One run: a session with the program, and the four moments at which it is looked at. */
async function observe({ command, args, env, stdio, look, names, calls, restarts }) {
  const session = openSession(command, args, { cwd: env.HOME, env, stdio, timeout: PATIENCE });
  const exec = (server, tool, values = {}) =>
    session.request('tools/call', {
      name: 'exec',
      arguments: { server_name: server, tool_name: tool, arguments: values },
    });
  const expectEcho = async (server) => {
    const answer = await exec(server, 'echo', { n: 1 });
    if (failed(answer)) throw new BuildError(`a call failed: ${JSON.stringify(answer)}`);
  };
  const call = async (count) => {
    let left = count;
    const worker = async (index) => {
      for (; left > 0; ) {
        left -= 1;
        await expectEcho(names[(index + left) % names.length]);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, index) => worker(index)));
  };
  const restart = (count) =>
    Promise.all(
      names.map(async (name) => {
        for (let done = 0; done < count / names.length; done++) {
          if (!failed(await exec(name, 'exit'))) throw new BuildError(`"${name}" did not end`);
          while (failed(await exec(name, 'echo'))) await delay(20);
        }
      }),
    );

  try {
    await session.request(INITIALIZE.method, INITIALIZE.params);
    await session.request(LIST_TOOLS.method);
    await call(names.length);
    const moments = [await look(session.child)];
    const step = async (text, work) => {
      say('measure', text);
      await work();
      moments.push(await look(session.child));
    };
    await step('warm-up', async () => {
      await call(Math.ceil(calls / 5));
      await restart(Math.ceil(restarts / 10));
    });
    await step(`${calls} calls`, () => call(calls));
    await step(`${restarts} restarts`, () => restart(restarts));
    if (session.stderr() !== '') throw new BuildError(`it said on stderr: ${session.stderr()}`);
    return moments;
  } finally {
    await session.close();
  }
}

/** One row per number: its values at the four moments, its bars, and whether they hold. */
export function rowsOf(moments, bars) {
  const [idle, warm, ...later] = moments;
  return Object.keys(idle).map((name) => {
    const { first = Number.POSITIVE_INFINITY, growth } = bars[name];
    const over = idle[name] > first || later.some((moment) => moment[name] - warm[name] > growth);
    return { name, values: moments.map((moment) => moment[name]), first, growth, over };
  });
}

/** The rows as text, one line each. */
export function table(title, rows) {
  const number = (value) => (Number.isInteger(value) ? `${value}` : value.toFixed(1));
  const cells = rows.map(({ name, values, first, growth, over }) => [
    name,
    ...values.map(number),
    Number.isFinite(first) ? `${first}` : '',
    `+${growth}`,
    over ? 'over' : 'ok',
  ]);
  const head = [title, 'idle', 'warm', 'calls', 'restarts', 'bar', 'growth', ''];
  const line = ([name, ...rest]) => `${name.padEnd(26)}${rest.map((cell) => cell.padStart(10)).join('')}`.trimEnd();
  return [head, ...cells].map(line).join('\n');
}

async function main(args) {
  const options = { calls: { type: 'string', default: '50000' }, restarts: { type: 'string', default: '1000' } };
  const { values } = parseArgs({ args, options });
  if (process.platform !== 'linux') {
    say('measure', 'nothing: memory is read from /proc, which only Linux has');
    return 0;
  }
  const [executable, script] = await makeReady();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const { file: node } = await pinnedNode(hostTarget());
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  try {
    const { file, names } = writeConfig(folder);
    const env = { HOME: folder, MCPX_HOME: join(folder, 'home'), NO_COLOR: '1', PATH: process.env.PATH };
    const common = { env, names, calls: Number(values.calls), restarts: Number(values.restarts) };
    const outside = await observe({
      ...common,
      command: executable,
      args: ['serve', file],
      look: ({ pid }) => settled(pid),
    });
    const inside = await observe({
      ...common,
      command: node,
      args: [
        '--disable-warning=ExperimentalWarning',
        '--expose-gc',
        '--import',
        at('scripts', 'memory-probe.mjs'),
        at('dist', 'mcpx.cjs'),
        'serve',
        file,
      ],
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
      look: seenFromInside,
    });
    const rows = [rowsOf(outside, BARS), rowsOf(inside, BARS)];
    process.stdout.write(`${table('executable, from outside', rows[0])}\n\n${table('bundle, from inside', rows[1])}\n`);
    return rows.flat().some(({ over }) => over) ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await runMain(main);
