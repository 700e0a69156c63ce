/**
 * npm run conformance: the official conformance suites against the executable in front of one server, which must look as if
 * the server itself were asked. Prints every scenario with its checks; exits with 1 when one that counts failed or left a warning.
 *   --scenario <name>   this one only
 *   --modern            only what the 2026-07-28 protocol demands, in front of a server that speaks nothing else
 *   --direct            the fixture server without mcpx in between: tells whose fault a failure is. Its transport, the SDK's,
 *                       leaves two warnings: it opens a stream without an event id for a request that names an old revision
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { logStep } from '../log.mjs';
import { createTempHome } from '../mcp-client.mjs';
import { at, BuildError, hostTarget, isMain, readJson, runMain } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';

const CLIENT = at('scripts', 'conformance', 'client.mjs');
const fixture = (name) => at('tests', 'fixtures', 'servers', name);
const NEXT = at('node_modules', 'mcp-conformance-next');

/** The stable suite, and the next one with what a revision demands. `all` and `one` are options for everything and for one scenario. */
const SUITES = [
  {
    folder: at('node_modules', '@modelcontextprotocol', 'conformance'),
    all: ['--suite', 'all'],
    one: [],
    server: fixture('conformance.mjs'),
  },
  {
    folder: NEXT,
    all: ['--requirements', '2025-11-25'],
    one: ['--spec-version', '2025-11-25'],
    server: fixture('conformance.mjs'),
  },
  {
    folder: NEXT,
    all: ['--requirements', '2026-07-28'],
    one: ['--spec-version', '2026-07-28'],
    server: fixture('conformance-modern.mjs'),
    modern: true,
  },
];
/** ms for a program to say where it listens, and to end. */
const PATIENCE = 20_000;
/** ms for the whole suite, which takes a few seconds. */
const SUITE_PATIENCE = 5 * 60_000;

/** mcpx as nothing but a wire: one server, its names and URIs as they are. */
const wire = ({ server }) => ({
  mcpServers: { fixture: { command: process.execPath, args: [server] } },
  naming: { style: 'plain', resources: 'keep' },
  front: { kind: 'aggregate' },
});

/** Starts a program that says on stderr where it listens: `{url, stop}`. */
async function listening([command, ...args], options) {
  const child = spawn(command, args, { ...options, stdio: ['pipe', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  // A signal that ends this script must not leave the program behind.
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const stop = async () => {
    end();
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    await ended;
    clearTimeout(timer);
    process.removeListener('exit', end);
  };
  let stderr = '';
  const url = await new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer);
      reject(new BuildError(`"${command}" does not listen: ${stderr}`));
    };
    const timer = setTimeout(fail, PATIENCE);
    void ended.then(fail);
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
      const found = /listening on (http:\S+)/.exec(stderr)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  }).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url, stop };
}

/** Runs a suite with these words and resolves with what it printed. */
async function suite({ folder }, words, options) {
  const { file } = await pinnedNode(hostTarget());
  const child = spawn(file, [join(folder, 'dist', 'index.js'), ...words], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: SUITE_PATIENCE,
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return printed;
}

/** The scenarios for a server or a client, and those of them that test an extension of the protocol, which do not count. */
async function scenarios(which, side) {
  const printed = await suite(which, ['list', `--${side}`, ...which.one]);
  const rows = [...printed.matchAll(/^ {2}- (\S+)(?: \[(.*)\])?/gm)];
  const extensions = rows.filter(([, , revisions]) => revisions === 'extension');
  return { names: rows.map(([, name]) => name), extensions: extensions.map(([, name]) => name) };
}

/**
 * Returns the results of the suite, in its order: `[{scenario, checks}]`. Folders are `<prefix><scenario>-<time>`, and the
 * name of a scenario may have a slash. A scenario that broke off has no checks.
 */
function readResults(folder, prefix) {
  const started = (name) => name.slice(-'2026-01-01T00-00-00-000Z'.length);
  return readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\dZ$/.test(name))
    .sort((a, b) => (started(a) < started(b) ? -1 : 1))
    .map((name) => {
      const file = join(folder, name, 'checks.json');
      const checks = existsSync(file) ? readJson(file) : [{ status: 'FAILURE', errorMessage: 'broke off' }];
      return { scenario: name.slice(prefix.length, -started(name).length - 1), checks };
    });
}

/** The scenarios that a suite runs without counting them: extensions, and what came after the revision. */
export function unscored(printed) {
  const listed = /^Not scored for .*\n((?: {2}.*\n?)*)/m.exec(printed)?.[1] ?? '';
  return new Set([...listed.matchAll(/^ {2}\S (\S+) \(/gm)].map(([, name]) => name));
}

/** One row per scenario; `INFO` is no verdict, and what only warns is not what the specification says either. */
export function rowsOf(results, free = new Set()) {
  return results.map(({ scenario, checks }) => {
    const count = (status) => checks.filter((check) => check.status === status).length;
    const complaints = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(
        ({ id, status, errorMessage, details }) =>
          `${status.toLowerCase()} ${id ?? scenario}: ${errorMessage ?? details?.message ?? 'no reason given'}`,
      );
    return {
      scenario,
      passed: count('SUCCESS'),
      failed: count('FAILURE'),
      warned: count('WARNING'),
      complaints,
      scored: !free.has(scenario),
    };
  });
}

const isWrong = ({ complaints, scored }) => scored && complaints.length > 0;

function verdict(row) {
  if (row.complaints.length === 0) return 'ok  ';
  return isWrong(row) ? 'FAIL' : 'free';
}

/** The rows as text under a title with their sum, each complaint under its scenario. */
export function report(title, rows) {
  const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
  const width = Math.max(...rows.map(({ scenario }) => scenario.length));
  const counts = ({ passed, failed, warned }) => `${passed} passed, ${failed} failed, ${warned} warned`;
  const lines = rows.flatMap((row) => [
    `${verdict(row)}  ${row.scenario.padEnd(width)}  ${counts(row)}`,
    ...row.complaints.map((complaint) => `        ${complaint}`),
  ]);
  const total = { passed: sum('passed'), failed: sum('failed'), warned: sum('warned') };
  return [`${title}: ${rows.length} scenarios, ${counts(total)}`, ...lines].join('\n');
}

/** Runs `work` with an empty folder for results and reads what is in it afterwards. */
async function collect(prefix, work, extensions = []) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-conformance-'));
  try {
    const printed = await work(folder);
    const rows = rowsOf(readResults(folder, prefix), new Set([...unscored(printed), ...extensions]));
    if (rows.length === 0) throw new BuildError(`the suite did not run: ${printed}`);
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The scenarios for servers, against a program that is started for them. */
async function serverRows(which, command, scenario) {
  const words = scenario === undefined ? which.all : ['--scenario', scenario, ...which.one];
  const home = createTempHome(wire(which));
  try {
    const { url, stop } = await listening(command, { cwd: home.folder, env: home.env });
    const run = (folder) => suite(which, ['server', '--url', url, ...words, '--output-dir', folder]);
    return await collect('server-', run).finally(stop);
  } finally {
    home.remove();
  }
}

/** The scenarios for clients, one after the other: one of them looks at the clock. */
async function clientRows(which, mcpx, { names, extensions }) {
  const command = [process.execPath, CLIENT].map((word) => JSON.stringify(word)).join(' ');
  const env = { ...process.env, MCPX_COMMAND: JSON.stringify(mcpx) };
  const run = async (folder) => {
    const words = (name) => ['client', '--command', command, '--scenario', name, ...which.one, '--output-dir', folder];
    const printed = [];
    for (const name of names) printed.push(await suite(which, words(name), { env }));
    return printed.join('\n');
  };
  return collect('', run, extensions);
}

/** Runs the parts of a suite that were asked for, and reports on each. Resolves with all rows. */
async function run(which, mcpx, { scenario, direct }) {
  const version = `${readJson(join(which.folder, 'package.json')).version} ${which.all.at(-1)}`;
  const chosen = async (side) => {
    const { names, extensions } = await scenarios(which, side);
    return { names: scenario === undefined ? names : names.filter((name) => name === scenario), extensions };
  };
  const rows = [];
  const part = (title, work) =>
    logStep('suite', async () => {
      const found = await work();
      process.stdout.write(`${report(`${version}, ${title}`, found)}\n\n`);
      rows.push(...found);
      return `${version}, ${title}`;
    });
  const server = direct ? [process.execPath, which.server, '--http'] : [...mcpx, 'serve', '--http', '127.0.0.1:0'];
  if ((await chosen('server')).names.length > 0) await part('as a server', () => serverRows(which, server, scenario));
  const clients = direct ? undefined : await chosen('client');
  if (clients?.names.length > 0) await part('as a client', () => clientRows(which, mcpx, clients));
  return rows;
}

async function main(args) {
  const { values } = parseArgs({
    args,
    options: { scenario: { type: 'string' }, direct: { type: 'boolean' }, modern: { type: 'boolean', default: false } },
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const mcpx = await ensureBuilt();
  const rows = [];
  for (const which of SUITES.filter(({ modern = false }) => modern || !values.modern))
    rows.push(...(await run(which, mcpx, values)));
  if (rows.length === 0) throw new BuildError(`no suite has a scenario "${values.scenario}"`);
  return rows.some(isWrong) ? 1 : 0;
}

if (isMain(import.meta.url)) await runMain(main);
