/** Helpers of the end-to-end tests: the built executable, a temporary home, a running process and its messages. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { PATIENCE } from '../setup/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const WINDOWS = process.platform === 'win32';

export const EXECUTABLE = join(ROOT, 'dist', WINDOWS ? 'mcpx.exe' : 'mcpx');
export const BUNDLE = join(ROOT, 'dist', 'mcpx.cjs');

/** The script of an installed MCP server package, to be started with this node. */
export function serverScript(name: string): string {
  return join(ROOT, 'node_modules', '@modelcontextprotocol', name, 'dist', 'index.js');
}

export interface Place {
  /** An empty working directory. */
  cwd: string;
  env: Record<string, string>;
  /** Writes a file into the working directory and returns its path. */
  file(name: string, content: unknown): string;
}

/** An empty home and working directory that are gone after the test. */
export function emptyPlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'mcpx-e2e-'));
  const cwd = join(root, 'work');
  const home = join(root, 'home');
  mkdirSync(cwd);
  mkdirSync(home);
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const env = { HOME: home, USERPROFILE: home, PATH: process.env.PATH ?? '', NO_COLOR: '1' };
  return {
    cwd,
    env: process.env.SystemRoot === undefined ? env : { ...env, SystemRoot: process.env.SystemRoot },
    file(name, content) {
      const path = join(cwd, name);
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
      return path;
    },
  };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  /** Its output so far. */
  said: { stdout: string; stderr: string };
  /** Resolves when the text has been written to that stream. */
  wrote(stream: 'stdout' | 'stderr', text: string | RegExp): Promise<RegExpExecArray | string>;
  finished: Promise<Finished>;
}

/** Starts mcpx; it is killed with the test at the latest. */
export function start(args: string[], place: Pick<Place, 'cwd' | 'env'>, command: string[] = [EXECUTABLE]): Running {
  const [program = '', ...before] = command;
  const child = spawn(program, [...before, ...args], { cwd: place.cwd, env: place.env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  // A child that does not read its input is no failure of the test.
  child.stdin.on('error', () => undefined);
  const finished = new Promise<Finished>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done({ code, ...said }));
  });
  const wrote: Running['wrote'] = (stream, text) =>
    new Promise((done, failed) => {
      const look = () => {
        const found = typeof text === 'string' ? said[stream].includes(text) && text : text.exec(said[stream]);
        if (!found) return false;
        child[stream]?.off('data', look);
        done(found);
        return true;
      };
      if (look()) return;
      child[stream]?.on('data', look);
      void finished.then(
        () => look() || failed(new Error(`ended without writing ${text}\n${said.stdout}\n${said.stderr}`)),
      );
    });
  return { child, said, wrote, finished };
}

/** Runs mcpx to its end. */
export function run(
  args: string[],
  place: Pick<Place, 'cwd' | 'env'>,
  input: string | undefined = '',
): Promise<Finished> {
  const running = start(args, place);
  running.child.stdin?.end(input);
  return running.finished;
}

/** Stores what the servers offer, before a client is connected: the first menu waits for no server that was never listed. */
export async function fillCatalog(place: Place, config: string): Promise<void> {
  // The exit code is not 0 where one of the servers is dead.
  expect((await run(['tools', '--config', config], place)).stdout).not.toBe('');
}

/** The JSON-RPC lines of stdout. */
export function answers(stdout: string): any[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

export const rpc = (id: number | string, method: string, params: unknown = {}) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

/** The answer of a tool through `exec`. */
export interface Said {
  text: string;
  isError: boolean;
}

export interface Session extends Running {
  pid: number;
  /** Resolves with the whole answer, in whatever order answers come; fails when mcpx ends before. */
  request(method: string, params?: unknown): Promise<any>;
  exec(server: string, tool: string, args?: unknown): Promise<Said>;
}

/** Starts mcpx and talks to it over stdio; `initialize` is left to the caller. */
export function converse(args: string[], place: Pick<Place, 'cwd' | 'env'>, command?: string[]): Session {
  const running = start(args, place, command);
  const waiting = new Map<number, (answer: any) => void>();
  let nextId = 0;
  let rest = '';
  running.child.stdout?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const answer of lines.map((line) => JSON.parse(line))) {
      if (answer.method === undefined) waiting.get(answer.id)?.(answer);
    }
  });
  const request: Session['request'] = (method, params) => {
    const id = nextId++;
    running.child.stdin?.write(rpc(id, method, params));
    return new Promise((done, failed) => {
      waiting.set(id, done);
      void running.finished.then(({ code, stderr }) =>
        failed(new Error(`ended with ${code} before ${method}: ${stderr}`)),
      );
    });
  };
  return {
    ...running,
    pid: running.child.pid ?? 0,
    request,
    async exec(server, tool, values = {}) {
      const params = { name: 'exec', arguments: { server_name: server, tool_name: tool, arguments: values } };
      const { result, error } = await request('tools/call', params);
      const text = error?.message ?? result.content.map((part: { text?: string }) => part.text ?? '').join('\n');
      return { text, isError: error !== undefined || result.isError === true };
    },
  };
}

/** A session on this config that has been greeted and has listed its tools. */
export async function openSession(place: Place, config: unknown, command?: string[]): Promise<Session> {
  const session = converse(['serve', place.file('mcp.json', config)], place, command);
  // Its servers end with it, so that nothing is written any more where it was started.
  onTestFinished(async () => {
    session.child.stdin?.end();
    await Promise.race([session.finished, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  });
  await session.request('initialize', INITIALIZE);
  await session.request('tools/list');
  return session;
}

/** The path of a server in tests/fixtures/servers, to be started with this node. */
export const fixture = (name: string) => join(ROOT, 'tests', 'fixtures', 'servers', name);

/** The HTTP server of the fixtures as a process, with its port. */
export async function startHttp(port = 0): Promise<{ port: number; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [fixture('http.mjs'), `port=${port}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(String(chunk)));
    child.once('exit', (code) => reject(new Error(`the HTTP fixture ended with ${code}`)));
  });
  const kill = () =>
    new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  return { port: Number(/\d+/.exec(line)?.[0]), kill };
}

export const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'e2e', version: '1' },
};

export async function post(url: string, method: string, params: unknown = {}, headers = {}): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: rpc(1, method, params),
  });
  return response.json();
}
