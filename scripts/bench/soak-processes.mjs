/** The processes of `bench-soak.mjs`: twenty upstreams, one mcpx over HTTP with two tokens and two profiles, two over stdio, and their config files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { at, BuildError } from '../project.mjs';
import { freePort } from './free-port.mjs';

const upTo = (count, name) => Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
/** The upstreams by what happens to them. `steady` ones are never disturbed. */
export const UPSTREAMS = {
  steady: upTo(8, 'steady'),
  steadyHttp: ['steady-http'],
  rooted: upTo(2, 'rooted'),
  crash: upTo(3, 'crash'),
  hang: upTo(2, 'hang'),
  restart: upTo(2, 'restart-http'),
  changed: upTo(2, 'changed'),
};
/** Of the second profile, and of each mcpx over stdio. */
export const SECOND = [...UPSTREAMS.steady.slice(0, 3), 'rooted-1', 'crash-1', 'hang-1', 'changed-1', 'steady-http'];
export const ON_STDIO = ['steady-1', 'steady-2', 'rooted-1', 'crash-1'];
export const TOKENS = { alice: 'soak-alice', bob: 'soak-bob' };
/** ms that mcpx waits for an answer, and blocks of `hang`. */
export const TIMEOUT = 20_000;
export const HANG_TIMEOUT = 3000;
export const HANG = 5000;
const PATIENCE = 30_000;

/** The text of the config; `revisions` and `removed` change with reloads. */
function configText({ names, node, ports, http, revisions, removed, description }) {
  const entry = (name) => {
    if (ports.has(name)) return { type: 'http', url: `http://127.0.0.1:${ports.get(name)}/mcp`, timeout: TIMEOUT };
    return {
      command: node,
      args: [at('scripts', 'bench', 'soak-upstream.mjs'), `name=${name}`],
      timeout: name.startsWith('hang') ? HANG_TIMEOUT : TIMEOUT,
      ...(revisions.has(name) && { env: { REVISION: `${revisions.get(name)}` } }),
      ...(name === 'steady-1' && { description }),
    };
  };
  const shown = names.filter((name) => !removed.has(name));
  const config = {
    mcpServers: Object.fromEntries(shown.map((name) => [name, entry(name)])),
    ...(http !== undefined && {
      profiles: { default: { servers: ['*'] }, second: { servers: SECOND.filter((name) => !removed.has(name)) } },
      http,
      watch: true,
    }),
    connect: { mode: 'eager' },
    limits: { resultStore: 4 * 1024 * 1024 },
    log: { level: 'warn' },
  };
  return JSON.stringify(config, null, 2);
}

/** A config file that is replaced as editors do. */
function createConfigFile(file, facts) {
  const state = { ...facts, revisions: new Map(UPSTREAMS.changed.map((name) => [name, 1])), removed: new Set() };
  const write = (text = configText(state)) => {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  write();
  return {
    ...{ file, write },
    ...{ revisions: state.revisions, removed: state.removed },
    describe: (text) => Object.assign(state, { description: text }),
  };
}

/** Starts a program; `said` is the end of what it wrote to stderr. */
function launch(command, args, { env, stdio }) {
  const child = spawn(command, args, { env, stdio });
  const said = [];
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    said.push(chunk);
    if (said.length > 200) said.shift();
  });
  child.once('error', () => undefined);
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
  return { child, ended, said: () => said.join('') };
}

/** An upstream over HTTP, which can be killed and started again on the same port. */
async function startHttpUpstream(node, port) {
  let running;
  const start = async () => {
    running = launch(node, [at('scripts', 'bench', 'soak-upstream.mjs'), `http=${port}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await Promise.race([once(running.child.stdout, 'data'), running.ended]);
  };
  const kill = async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  };
  await start();
  return { start, kill };
}

async function untilReady(port, ended) {
  let over = false;
  ended.then(() => {
    over = true;
  });
  for (const end = Date.now() + PATIENCE; ; await delay(50)) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    if (over || Date.now() > end) throw new BuildError('mcpx does not answer /healthz');
  }
}

/** Everything that runs. `close` ends it and returns how each mcpx ended. */
export async function startProcesses({ executable, node, folder }) {
  const http = new Map();
  const ports = new Map();
  for (const name of [...UPSTREAMS.restart, ...UPSTREAMS.steadyHttp]) {
    ports.set(name, await freePort());
    http.set(name, await startHttpUpstream(node, ports.get(name)));
  }
  const environment = (home) => {
    mkdirSync(join(folder, home), { recursive: true });
    return { HOME: folder, MCPX_HOME: join(folder, home), NO_COLOR: '1', PATH: process.env.PATH };
  };
  const port = await freePort();
  const names = Object.values(UPSTREAMS).flat();
  const tokens = [
    { name: 'alice', token: TOKENS.alice, admin: true },
    { name: 'bob', token: TOKENS.bob, profiles: ['second'] },
  ];
  const settings = { host: '127.0.0.1', port, auth: { tokens } };
  const config = createConfigFile(join(folder, 'http.json'), { names, node, ports, http: settings });
  const stdioConfig = createConfigFile(join(folder, 'stdio.json'), { names: ON_STDIO, node, ports });
  const gateway = launch(executable, ['serve', config.file, '--http'], {
    ...{ env: environment('home-http'), stdio: ['ignore', 'ignore', 'pipe'] },
  });
  const overStdio = (front) =>
    launch(executable, ['serve', stdioConfig.file, '--front', front], {
      ...{ env: environment(`home-${front}`), stdio: ['pipe', 'pipe', 'pipe'] },
    });
  const processes = { http: gateway, 'stdio compact': overStdio('compact'), 'stdio aggregate': overStdio('aggregate') };
  const close = async () => {
    const endings = await Promise.all(
      Object.entries(processes).map(async ([name, { child, ended, said }]) => {
        if (child.stdin === null) child.kill('SIGTERM');
        else child.stdin.end();
        const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
        const how = await ended;
        clearTimeout(timer);
        return { name, how, said: said() };
      }),
    );
    await Promise.all([...http.values()].map(({ kill }) => kill()));
    return endings;
  };
  try {
    await untilReady(port, gateway.ended);
    return { port, config, processes, http, close };
  } catch (error) {
    await close();
    throw new BuildError(`${error.message}: ${gateway.said()}`);
  }
}
