/** One conversation of a real client with a scripted model, and with mcpx in a home of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTABLE, fixture } from '../e2e/program.ts';
import type { Turn } from './dialects.ts';
import { type Step, startModel } from './model.ts';
import type { Client, Way } from './programs.ts';

/** ms after which a client that does not end is ended. */
const PATIENCE = 90_000;

/** ms in which all servers of a client have started. */
const STARTING = 12_000;

export interface Spoken extends Turn {
  /** Addresses beyond loopback that the client tried to reach. */
  strays: string[];
}

export interface Home {
  home: string;
  cwd: string;
  env: Record<string, string>;
  remove(): void;
}

/** A home in which mcpx has its servers: toolboxes, and the desk of the fixtures; with these settings in its config. */
export function makeHome(settings: Record<string, unknown> = {}): Home {
  const root = mkdtempSync(join(tmpdir(), 'mcpx-clients-'));
  const [home, cwd] = [join(root, 'home'), join(root, 'work')];
  mkdirSync(join(home, '.mcpx'), { recursive: true });
  mkdirSync(cwd);
  const mcpServers = { desk: { module: fixture('desk.mjs') }, math: { type: 'builtin' } };
  writeFileSync(join(home, '.mcpx', 'config.json'), JSON.stringify({ mcpServers, ...settings }));
  const env = { HOME: home, USERPROFILE: home, PATH: process.env.PATH ?? '', NO_COLOR: '1' };
  const remove = () => {
    endProcessesOf(home);
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  return { home, cwd, env, remove };
}

/** Ends the processes that a client left in this home, such as the hub of Cline, which is detached; on Linux only. */
function endProcessesOf(home: string): void {
  for (const pid of process.platform === 'linux' ? readdirSync('/proc').map(Number).filter(Boolean) : []) {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      if (variables.includes(`HOME=${home}`)) process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended, or belongs to somebody else.
    }
  }
}

/** Runs a program to its end, in a process group of its own, which ends with it. */
export function runToEnd(command: string[], { cwd, env }: Pick<Home, 'cwd' | 'env'>): Promise<string> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const timer = setTimeout(() => endGroup(child), PATIENCE);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      endGroup(child);
      if (code === 0) resolve(said);
      else reject(new Error(`${command.join(' ')} ended with ${code}: ${said}`));
    });
  });
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
}

/** Connects the client in these ways, asks it one question, and returns its request once all servers are there. */
export async function firstRequest(client: Client, place: Home, ways: Way[]): Promise<string> {
  const model = await startModel([], { waits: STARTING });
  try {
    const inPlace = { cwd: place.cwd, env: environmentOf(client, place, model.url) };
    const started = client.command ?? [];
    for (const way of ways)
      for (const words of client.connect(way, place.home)) await runToEnd([...started, ...words], inPlace);
    await runToEnd([...started, ...(client.askAnyway ?? client.ask)('Go on.')], inPlace);
    return model.longest();
  } finally {
    await model.close();
  }
}

function environmentOf(client: Client, { home, env }: Home, modelUrl: string): Record<string, string> {
  const own = client.prepare(home, modelUrl);
  const proxy = { HTTP_PROXY: modelUrl, HTTPS_PROXY: modelUrl, NO_PROXY: '127.0.0.1,localhost' };
  return { ...env, ...proxy, ...own };
}

/** Connects the client to mcpx, lets the model follow the steps, and answers with what the model was shown in the end. */
export async function converse(client: Client, place: Home, steps: Step[], way: Way): Promise<Spoken> {
  const model = await startModel(steps);
  try {
    const inPlace = { cwd: place.cwd, env: environmentOf(client, place, model.url) };
    const started = client.command ?? [];
    await runToEnd([EXECUTABLE, 'tools'], place);
    for (const words of client.connect(way, place.home)) await runToEnd([...started, ...words], inPlace);
    const said = await runToEnd([...started, ...client.ask('Go on.')], inPlace);
    const spoken = { ...model.last(), strays: model.strays.filter((address) => !client.tries?.test(address)) };
    if (spoken.results.length < steps.length) throw new Error(`the conversation ended early: ${said}`);
    return spoken;
  } finally {
    await model.close();
  }
}
