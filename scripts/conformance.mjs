/**
 * npm run conformance: the official conformance suite against the executable in front of one server, which must look as if
 * the server itself were asked. Prints every scenario with its checks; exits with 1 when one failed or left a warning.
 *   --scenario <name>   this one only
 *   --direct            the fixture server without mcpx in between: tells whose fault a failure is. Its transport, the SDK's,
 *                       leaves two warnings: it opens a stream without an event id for a request that names an old revision
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pinnedNode } from './node.mjs';
import { at, BuildError, hostTarget, isMain, readJson, runMain } from './project.mjs';
import { makeReady } from './ready.mjs';
import { step } from './say.mjs';
import { emptyHome } from './talk.mjs';

const SUITE = at('node_modules', '@modelcontextprotocol', 'conformance');
const FIXTURE = at('tests', 'fixtures', 'servers', 'conformance.mjs');
/** ms for a program to say where it listens, and to end. */
const PATIENCE = 20_000;
/** ms for the whole suite, which takes a few seconds. */
const SUITE_PATIENCE = 5 * 60_000;

/** mcpx as nothing but a wire: one server, its names and URIs as they are. */
const CONFIG = {
  mcpServers: { fixture: { command: process.execPath, args: [FIXTURE] } },
  naming: { style: 'plain', resources: 'keep' },
  front: { kind: 'aggregate' },
};

/** Starts a program that says on stderr where it listens: `{url, stop}`. */
async function listening([command, ...args], options) {
  const child = spawn(command, args, { ...options, stdio: ['pipe', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    await ended;
    clearTimeout(timer);
  };
  let stderr = '';
  const url = await new Promise((resolve, reject) => {
    const fail = () => reject(new BuildError(`"${command}" does not listen: ${stderr}`));
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

/** Runs the suite; its checks are in `folder` afterwards. Resolves with what it printed. */
async function runSuite(url, folder, scenario) {
  const { file } = await pinnedNode(hostTarget());
  const which = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario];
  const args = [join(SUITE, 'dist', 'index.js'), 'server', '--url', url, ...which, '--output-dir', folder];
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: SUITE_PATIENCE });
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

/** What the suite found out, in its order: `[{scenario, checks}]`. A scenario that broke off has no checks. */
function readResults(folder) {
  const started = (name) => name.slice(-'2026-01-01T00-00-00-000Z'.length);
  return readdirSync(folder)
    .sort((a, b) => (started(a) < started(b) ? -1 : 1))
    .map((name) => {
      const file = join(folder, name, 'checks.json');
      const scenario = name.slice('server-'.length, -started(name).length - 1);
      return {
        scenario,
        checks: existsSync(file) ? readJson(file) : [{ status: 'FAILURE', errorMessage: 'broke off' }],
      };
    });
}

/** One row per scenario; `INFO` is no verdict, and what only warns is not what the specification says either. */
export function rowsOf(results) {
  return results.map(({ scenario, checks }) => {
    const count = (status) => checks.filter((check) => check.status === status).length;
    const complaints = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(
        ({ id, status, errorMessage = 'no reason given' }) =>
          `${status.toLowerCase()} ${id ?? scenario}: ${errorMessage}`,
      );
    return { scenario, passed: count('SUCCESS'), failed: count('FAILURE'), warned: count('WARNING'), complaints };
  });
}

/** The rows as text, each complaint under its scenario, and the sum. */
export function report(rows) {
  const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
  const width = Math.max(...rows.map(({ scenario }) => scenario.length));
  const counts = ({ passed, failed, warned }) => `${passed} passed, ${failed} failed, ${warned} warned`;
  const lines = rows.flatMap((row) => [
    `${row.complaints.length === 0 ? 'ok  ' : 'FAIL'}  ${row.scenario.padEnd(width)}  ${counts(row)}`,
    ...row.complaints.map((complaint) => `        ${complaint}`),
  ]);
  const total = { passed: sum('passed'), failed: sum('failed'), warned: sum('warned') };
  return [...lines, '', `${rows.length} scenarios: ${counts(total)}`].join('\n');
}

async function main(args) {
  const { values } = parseArgs({ args, options: { scenario: { type: 'string' }, direct: { type: 'boolean' } } });
  const mcpx = await makeReady();
  const home = emptyHome(CONFIG);
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-conformance-'));
  try {
    const command = values.direct ? [process.execPath, FIXTURE, '--http'] : [...mcpx, 'serve', '--http', '127.0.0.1:0'];
    const program = await listening(command, { cwd: home.folder, env: home.env });
    let printed = '';
    await step('suite', async () => {
      printed = await runSuite(program.url, folder, values.scenario).finally(() => program.stop());
      return `${readJson(join(SUITE, 'package.json')).version} against ${program.url}`;
    });
    const rows = rowsOf(readResults(folder));
    if (rows.length === 0) throw new BuildError(`the suite did not run: ${printed}`);
    process.stdout.write(`${report(rows)}\n`);
    return rows.some(({ complaints }) => complaints.length > 0) ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    home.remove();
  }
}

if (isMain(import.meta.url)) await runMain(main);
