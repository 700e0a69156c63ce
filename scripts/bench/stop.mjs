/**
 * npm run bench:stop: how long mcpx takes to end with all its servers, for servers that behave and for one that ignores everything.
 * Fails over its bars, which are the promised times plus 500 ms for the machine; run it on one with nothing else to do. Linux and macOS.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { createTempHome, INITIALIZE, LIST_TOOLS, openSession } from '../mcp-client.mjs';
import { at, BuildError, isMain, runMain } from '../project.mjs';

/** ms that a machine may add to a promised time. */
const ALLOWANCE = 500;
/** Answers that a client does not read, and the characters of each: far more than a pipe holds. */
const UNREAD = 300;
const UNREAD_SIZE = 30_000;

const SERVER = at('tests', 'fixtures', 'servers', 'stdio.mjs');
const WELL_BEHAVED = ['a', 'b', 'c'];

const endInput = ({ child }) => child.stdin.end();
const signal =
  (name) =>
  ({ child }) =>
    child.kill(name);

/** `first` comes half a second before `end`, the time of which is measured; `promised` in ms. */
const CASES = [
  { name: 'the input ends', end: endInput, promised: 500 },
  { name: 'SIGTERM', end: signal('SIGTERM'), promised: 500 },
  { name: 'SIGINT', end: signal('SIGINT'), promised: 500 },
  { name: 'SIGTERM, a server ignores everything', stubborn: true, end: signal('SIGTERM'), promised: 3500 },
  { name: 'the input ends, and a call does not', stubborn: true, calling: true, end: endInput, promised: 8000 },
  { name: 'the client reads nothing, and the input ends', unread: true, end: endInput, promised: 8000 },
  {
    ...{ name: 'SIGTERM twice, and a call does not end', stubborn: true, calling: true },
    ...{ first: signal('SIGTERM'), end: signal('SIGTERM'), promised: 1000 },
  },
];

/** One line per case, and whether one is over its bar. */
export function report(rows) {
  const over = ({ ms, promised }) => ms > promised + ALLOWANCE;
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(
    (row) =>
      `${row.name.padEnd(width)}  ${row.ms.toFixed(0).padStart(6)} ms  of ${row.promised}  ${over(row) ? 'over' : 'ok'}`,
  );
  return { text: lines.join('\n'), over: rows.some(over) };
}

const isRunning = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The processes of the servers, as they wrote them down. */
function serversIn(logFile) {
  const lines = existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : [];
  return lines.flatMap((line) => /^\{"started":(\d+)\}/.exec(line)?.[1] ?? []).map(Number);
}

/** Calls whose answers the client leaves in the pipe; resolves when the server gets no more of them. */
async function leaveUnread({ child, request }, logFile) {
  child.stdout.pause();
  const args = { text: 'x'.repeat(UNREAD_SIZE) };
  const params = { name: 'exec', arguments: { server_name: 'a', tool_name: 'echo', arguments: args } };
  for (let count = 0; count < UNREAD; count++) request('tools/call', params).catch(() => undefined);
  const called = () => readFileSync(logFile, 'utf8').split('"echo"').length - 1;
  for (let before = -1; before !== called() || before < 1; await delay(500)) before = called();
}

async function until(holds) {
  while (!holds()) await delay(5);
}

/** ms from the last thing that is done to it until mcpx and its servers are gone. */
async function measure([command, ...args], { stubborn, calling, unread, first, end }) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-stop-'));
  const logFile = join(folder, 'log');
  const server = (...flags) => ({ command: process.execPath, args: [SERVER, `log=${logFile}`, ...flags] });
  const mcpServers = Object.fromEntries(WELL_BEHAVED.map((name) => [name, server(`name=${name}`)]));
  if (stubborn) mcpServers.stubborn = server('stubborn');
  const home = createTempHome({ mcpServers, connect: { mode: 'eager', firstListWait: '60s' } });
  try {
    const session = openSession(command, [...args, 'serve'], { cwd: home.folder, env: home.env });
    const ended = new Promise((resolve) => session.child.once('exit', resolve));
    await session.request(INITIALIZE.method, INITIALIZE.params);
    await session.request(LIST_TOOLS.method);
    const servers = serversIn(logFile);
    if (servers.length !== Object.keys(mcpServers).length) throw new BuildError('not every server was started');
    if (calling) {
      const params = { name: 'exec', arguments: { server_name: 'stubborn', tool_name: 'never' } };
      session.request('tools/call', params).catch(() => undefined);
      await until(() => readFileSync(logFile, 'utf8').includes('"never"'));
    }
    if (unread) await leaveUnread(session, logFile);
    if (first) {
      first(session);
      await delay(500);
    }
    const since = performance.now();
    end(session);
    await ended;
    await until(() => !servers.some(isRunning));
    return performance.now() - since;
  } finally {
    home.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  if (process.platform === 'win32') throw new BuildError('signals cannot be sent on Windows');
  const command = await ensureBuilt();
  const rows = [];
  for (const one of CASES) {
    log('measure', one.name);
    rows.push({ ...one, ms: await measure(command, one) });
  }
  const { text, over } = report(rows);
  process.stdout.write(`${text}\n`);
  return over ? 1 : 0;
}

if (isMain(import.meta.url)) await runMain(main);
