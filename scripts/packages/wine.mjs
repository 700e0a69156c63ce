/** Runs the Windows executable under Wine, where Wine is new enough for its Node. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../bench/free-port.mjs';
import { createTempHome, INITIALIZE, INITIALIZED, LIST_TOOLS } from '../mcp-client.mjs';
import { BuildError, expectedVersionLine, hostTarget } from '../project.mjs';
import { nodeLock } from '../release/node.mjs';

/** The first Wine that runs Node 24. */
const OLDEST = 10;
/** The first start creates a Windows in the home, which takes a minute on a slow machine. */
const PATIENCE = 300_000;
const TURNS = 240;

/** Returns the reason why an executable cannot run under Wine here; undefined if it can. */
export function wineProblem(said = spawnSync('wine', ['--version'], { encoding: 'utf8' }).stdout) {
  if (hostTarget() !== 'linux-x64') return 'Wine is used on linux-x64 only';
  const [, major] = /^wine-(\d+)/m.exec(said ?? '') ?? [];
  if (major === undefined) return 'Wine is not installed';
  return Number(major) < OLDEST ? `Wine ${major} is too old, it has to be ${OLDEST} or later` : undefined;
}

/** Runs `--version`, `tools --demo`, a conversation over stdio and a call over HTTP. Wine needs files, not pipes. */
export async function runUnderWine(executable, version = expectedVersionLine('win-x64', nodeLock().version)) {
  const home = createTempHome();
  const { PATH } = process.env;
  const world = { folder: home.folder, file: resolve(executable), env: { PATH, ...home.env, WINEDEBUG: '-all' } };
  try {
    expectText('--version', run(['--version'], world), version);
    expectText('tools --demo', run(['tools', '--demo'], world), 'time.now');
    const lines = [INITIALIZE, INITIALIZED, LIST_TOOLS].map((message) => `${JSON.stringify(message)}\n`);
    expectText('serve over stdio', run(['serve'], world, lines.join('')), '"name":"inspect"');
    expectText('serve --http', await callOverHttp(world), '\\"ff\\"');
  } finally {
    spawnSync('wineserver', ['-k'], { env: world.env });
    home.remove();
  }
}

function expectText(name, text, wanted) {
  if (!text.includes(wanted)) {
    throw new BuildError(`"${name}" under Wine does not say ${JSON.stringify(wanted)}: ${text.slice(0, 500)}`);
  }
}

/** Opens the files of a run as its stdin, stdout and stderr. */
function openFiles(folder, input) {
  writeFileSync(join(folder, 'input'), input);
  const names = { input: 'r', output: 'w', errors: 'w' };
  return Object.entries(names).map(([name, flags]) => openSync(join(folder, name), flags));
}

const readBack = (folder) => ['output', 'errors'].map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');

function run(args, { folder, file, env }, input = '') {
  const stdio = openFiles(folder, input);
  const { status } = spawnSync('wine', [file, ...args], { cwd: folder, env, stdio, timeout: PATIENCE });
  for (const handle of stdio) closeSync(handle);
  const said = readBack(folder);
  if (status !== 0) throw new BuildError(`"${args.join(' ')}" under Wine exits with ${status}: ${said.slice(0, 500)}`);
  return said;
}

async function callOverHttp({ folder, file, env }) {
  const port = await freePort();
  const stdio = openFiles(folder, '');
  const child = spawn('wine', [file, 'demo', '--port', String(port)], { cwd: folder, env, stdio });
  const params = { name: 'exec', arguments: { tool: 'math.convert_base', arguments: { number: '255', to: 16 } } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  try {
    for (let turn = 0; turn < TURNS && child.exitCode === null; turn++) {
      const said = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body }).catch(
        () => undefined,
      );
      if (said !== undefined) return await said.text();
      await pause(500);
    }
    return readBack(folder);
  } finally {
    child.kill('SIGKILL');
    for (const handle of stdio) closeSync(handle);
  }
}
