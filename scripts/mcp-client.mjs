/** A short MCP conversation over stdio with a process: what the warm-up, the smoke test and the benchmark have in common. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuildError } from './project.mjs';

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'mcpx-build', version: '1' } },
};
export const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };
export const LIST_TOOLS = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

/** A throw-away home with a config, without servers unless told: `{folder, env, remove}`. The environment has nothing from this process. */
export function createTempHome(config = { mcpServers: {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-build-'));
  const home = join(folder, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'config.json'), `${JSON.stringify(config)}\n`, { mode: 0o600 });
  const env = { HOME: folder, USERPROFILE: folder, MCPX_HOME: home, NO_COLOR: '1' };
  // Windows cannot open sockets or find its own libraries without this one.
  if (process.env.SystemRoot !== undefined) env.SystemRoot = process.env.SystemRoot;
  return { folder, env, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

/**
 * Starts a process, sends the messages one after the other, each after the answer to the one before, then closes stdin.
 * Resolves when the process has ended, with the answers in order and the milliseconds from spawn to the first and to the last of them.
 */
export function runSession(command, args, messages, { cwd, env, timeout = 60_000 }) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const said = { answers: [], stdout: '', stderr: '', firstAnswer: undefined, lastAnswer: undefined };
    const rest = [...messages];
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout);

    const sendNext = () => {
      while (rest.length > 0) {
        const message = rest.shift();
        child.stdin.write(`${JSON.stringify(message)}\n`);
        if (message.id !== undefined) return;
      }
      child.stdin.end();
    };
    const readLines = (chunk) => {
      said.stdout += chunk;
      const lines = said.stdout.split('\n');
      for (const line of lines.slice(said.answers.length, -1)) {
        said.lastAnswer = Number(process.hrtime.bigint() - start) / 1e6;
        said.firstAnswer ??= said.lastAnswer;
        said.answers.push(line);
        if (isAnswer(line)) sendNext();
      }
    };

    child.stdout.setEncoding('utf8').on('data', readLines);
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      said.stderr += chunk;
    });
    // A process that ends early makes the pipe fail; its exit says more than that error.
    child.stdin.on('error', () => {});
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new BuildError(`cannot start "${command}": ${cause.message}`, { cause }));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ ...said, code, signal });
    });
    sendNext();
  });
}

/**
 * Starts a process and talks to it for longer: `request` resolves with the whole answer, in whatever order answers come.
 * A process that ends, or does not within `timeout` ms of its start, fails what is still asked.
 */
export function openSession(command, args, { cwd, env, stdio = ['pipe', 'pipe', 'pipe'], timeout = 60_000 }) {
  const child = spawn(command, args, { cwd, env, stdio });
  const waiting = new Map();
  const timer = setTimeout(() => child.kill('SIGKILL'), timeout);
  let stderr = '';
  let rest = '';
  let nextId = 1;

  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines.filter(isAnswer)) {
      const answer = JSON.parse(line);
      waiting.get(answer.id)?.resolve(answer);
      waiting.delete(answer.id);
    }
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {});
  const ended = new Promise((resolve) => {
    const end = (why) => {
      clearTimeout(timer);
      for (const { reject } of waiting.values()) reject(new BuildError(`"${command}" ${why}: ${stderr}`));
      resolve();
    };
    child.once('error', (cause) => end(`could not be started (${cause.message})`));
    child.once('close', (code, signal) => end(`ended with ${signal ?? code}`));
  });
  return {
    child,
    stderr: () => stderr,
    request(method, params = {}) {
      const id = nextId++;
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
    close() {
      child.stdin.end();
      return ended;
    },
  };
}

/** A line that is a JSON-RPC response, as opposed to a notification or noise. */
function isAnswer(line) {
  try {
    const message = JSON.parse(line);
    return 'result' in message || 'error' in message;
  } catch {
    return false;
  }
}
