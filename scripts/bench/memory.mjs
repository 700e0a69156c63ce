/**
 * npm run bench:memory: what mcpx itself holds in memory with ten connected servers, and whether that stays the same over
 * many calls and many restarts of those servers. The executable is looked at from outside (/proc), the same program under
 * the same Node from inside (after a garbage collection). Exits with 1 when something is over its bar. Linux only.
 *   --calls <n>      50,000 unless told
 *   --restarts <n>   1,000 unless told
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { INITIALIZE, LIST_TOOLS, openSession } from '../mcp-client.mjs';
import { at, BuildError, hostTarget, isMain, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';

const NAMES = Array.from({ length: 10 }, (_, index) => `s${index}`);
/** Calls under way at once. */
const IN_FLIGHT = 64;
/** ms for everything that is asked of one program. */
const PATIENCE = 10 * 60_000;
const MB = 1e6;

/**
 * The limit of each number: `first` with ten idle servers, `growth` over the calls and over the restarts, each after a warm-up.
 * Seen from outside there is also garbage that nobody has needed to collect yet, some MB; a leak shows inside.
 */
const BARS = {
  'resident MB': { first: 120, growth: 40 },
  'proportional MB': { first: 120, growth: 40 },
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

/** The config of ten small servers: all of them started at once and kept, or stopped when nobody has used them for a moment. */
function writeConfig(folder, connect) {
  const server = (name) => ({
    command: process.execPath,
    args: [at('tests', 'fixtures', 'servers', 'tiny.mjs'), `name=${name}`, 'ttl=1200'],
    reconnect: { interval: 1 },
  });
  const mcpServers = Object.fromEntries(NAMES.map((name) => [name, server(name)]));
  const file = join(folder, `${connect.mode}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers, connect, log: { level: 'error' } }));
  return file;
}

/** Reads the numbers of a process from the system: memory in MB, and counts. */
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
  // Objects with a timer of their own, such as the timeout of a call, need this time to end.
  await delay(1500);
  const answer = new Promise((resolve) => child.once('message', resolve));
  child.send('look');
  const { heap, ...counts } = await answer;
  return { 'heap MB': heap / MB, ...counts };
}

const failed = (answer) => answer.error !== undefined || answer.result?.isError === true;

/** A session with the program and what the scenes do with it. */
function openScene({ command, args, env, stdio, look }, file) {
  const session = openSession(command, [...args, 'serve', file], { cwd: env.HOME, env, stdio, timeout: PATIENCE });
  return {
    ...session,
    exec: (server, tool) =>
      session.request('tools/call', { name: 'exec', arguments: { server_name: server, tool_name: tool } }),
    /** Does the work, then looks. */
    async after(text, work) {
      log('measure', text);
      await work();
      if (session.stderr() !== '') throw new BuildError(`it said on stderr: ${session.stderr()}`);
      return look(session.child);
    },
    async begin() {
      await session.request(INITIALIZE.method, INITIALIZE.params);
      await session.request(LIST_TOOLS.method);
    },
  };
}

/** Many calls, many at once, to ten servers that stay connected. */
async function callScene(program, folder, count) {
  const scene = openScene(program, writeConfig(folder, { mode: 'eager' }));
  const call = async (calls) => {
    let left = calls;
    const worker = async () => {
      for (; left > 0; ) {
        const answer = await scene.exec(NAMES[left-- % NAMES.length], 'echo');
        if (failed(answer)) throw new BuildError(`a call failed: ${JSON.stringify(answer)}`);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  };
  try {
    await scene.begin();
    const idle = await scene.after('ten idle servers', () => call(NAMES.length));
    const warm = await scene.after('warm-up', () => call(Math.ceil(count / 5)));
    return { idle, warm, calls: await scene.after(`${count} calls`, () => call(count)) };
  } finally {
    await scene.close();
  }
}

/** Ten servers that crash in one call and are stopped for want of use after the next, again and again. */
async function restartScene(program, folder, count) {
  const scene = openScene(program, writeConfig(folder, { mode: 'lazy', idleStop: '50ms', firstListWait: '30s' }));
  const pidOf = async (name) => {
    for (;;) {
      const answer = await scene.exec(name, 'pid');
      if (!failed(answer)) return Number(answer.result.content[0].text);
      await delay(20);
    }
  };
  const restart = (restarts) =>
    Promise.all(
      NAMES.map(async (name) => {
        for (let done = 0; done < restarts / NAMES.length; done += 2) {
          await scene.exec(name, 'exit');
          const pid = await pidOf(name);
          while (existsSync(`/proc/${pid}`)) await delay(20);
        }
      }),
    );
  try {
    await scene.begin();
    const warm = await scene.after('warm-up', () => restart(Math.ceil(count / 5)));
    return { warm, restarts: await scene.after(`${count} restarts`, () => restart(count)) };
  } finally {
    await scene.close();
  }
}

/** One row per number: its values at the moments of both scenes, its bars, and whether they hold. */
export function rowsOf(called, restarted, bars) {
  return Object.keys(called.idle).map((name) => {
    const { first = Number.POSITIVE_INFINITY, growth } = bars[name];
    const moments = [called.idle, called.warm, called.calls, restarted.warm, restarted.restarts];
    const values = moments.map((moment) => moment[name]);
    const [idle, warm, calls, warmAgain, restarts] = values;
    return { name, values, first, growth, over: idle > first || Math.max(calls - warm, restarts - warmAgain) > growth };
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
  const head = [title, 'idle', 'warm', 'calls', 'warm', 'restarts', 'bar', 'growth', ''];
  const line = ([name, ...rest]) => `${name.padEnd(26)}${rest.map((cell) => cell.padStart(10)).join('')}`.trimEnd();
  return [head, ...cells].map(line).join('\n');
}

async function main(args) {
  const options = { calls: { type: 'string', default: '50000' }, restarts: { type: 'string', default: '1000' } };
  const { values } = parseArgs({ args, options });
  if (process.platform !== 'linux') {
    log('measure', 'nothing: memory is read from /proc, which only Linux has');
    return 0;
  }
  const [executable, script] = await ensureBuilt();
  if (script !== undefined) throw new BuildError('there is no executable to measure on this machine');
  const { file: node } = await pinnedNode(hostTarget());
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-bench-'));
  try {
    const env = { HOME: folder, MCPX_HOME: join(folder, 'home'), NO_COLOR: '1', PATH: process.env.PATH };
    const outside = { command: executable, args: [], env, look: ({ pid }) => settled(pid) };
    const flags = [
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      '--import',
      at('scripts', 'bench', 'memory-probe.mjs'),
    ];
    const inside = {
      command: node,
      args: [...flags, at('dist', 'mcpx.cjs')],
      env,
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
      look: seenFromInside,
    };
    const rows = [];
    for (const program of [outside, inside]) {
      const called = await callScene(program, folder, Number(values.calls));
      rows.push(rowsOf(called, await restartScene(program, folder, Number(values.restarts)), BARS));
    }
    process.stdout.write(`${table('executable, from outside', rows[0])}\n\n${table('bundle, from inside', rows[1])}\n`);
    return rows.flat().some(({ over }) => over) ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) await runMain(main);
