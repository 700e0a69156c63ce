/** Programs that download a server before they start it (`npx`, `uvx`, `docker run`), and whether one is still at it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerSpec } from '../config/config.ts';
import type { LaunchOf } from './transport.ts';

/** ms that a download may take, beside `startupTimeout`, which begins when the download has ended. */
export const FETCH_LIMIT = 10 * 60_000;

/** By program: the subcommands that download; none where the program does nothing else. */
const LAUNCHERS: Record<string, readonly string[]> = {
  npx: [],
  bunx: [],
  pnpx: [],
  uvx: [],
  npm: ['exec', 'x'],
  pnpm: ['dlx'],
  yarn: ['dlx'],
  bun: ['x'],
  uv: ['run', 'tool'],
  go: ['run'],
  docker: ['run'],
  podman: ['run'],
  nerdctl: ['run'],
};
const CONTAINERS = new Set(['docker', 'podman', 'nerdctl']);

/** The program that downloads this server when it is started for the first time; undefined where nothing is downloaded. */
export function launcherOf(spec: ServerSpec | LaunchOf<'stdio'>): string | undefined {
  if (spec.type !== 'stdio') return undefined;
  const words = [spec.command, ...spec.args];
  // Windows starts scripts by `cmd /c npx …`.
  const [program = '', ...rest] = programOf(words[0]) === 'cmd' ? words.slice(2) : words;
  const name = programOf(program);
  const subcommands = Object.hasOwn(LAUNCHERS, name) ? LAUNCHERS[name] : undefined;
  if (subcommands === undefined) return undefined;
  const subcommand = rest.find((word) => !word.startsWith('-')) ?? '';
  return subcommands.length === 0 || subcommands.includes(subcommand) ? name : undefined;
}

function programOf(command = ''): string {
  const file = command.split(/[\\/]/).at(-1) ?? '';
  return file.toLowerCase().replace(/\.(?:cmd|exe|bat|ps1)$/, '');
}

/** ms within which a start has succeeded or failed. */
export function longestStart(spec: ServerSpec): number {
  return spec.startupTimeout + (launcherOf(spec) === undefined ? 0 : FETCH_LIMIT) + 1000;
}

export interface Launching {
  launcher: string;
  pid: number | undefined;
  /** The last lines that it wrote to stderr. */
  stderr: string[];
}

/** Whether the launcher has not started the server yet. */
export function isFetching({ launcher, pid, stderr }: Launching): boolean {
  if (CONTAINERS.has(launcher)) return isPulling(stderr);
  return pid !== undefined && !hasHandedOver(pid);
}

const PULLING = /Unable to find image|Pulling |Downloading|Download complete|Extracting|Trying to pull|Copying blob/;
const PULLED = /Status: Downloaded|Writing manifest/;

/** Container engines say so; their last word about it counts. */
function isPulling(stderr: string[]): boolean {
  const started = stderr.findLastIndex((line) => PULLING.test(line));
  return started > stderr.findLastIndex((line) => PULLED.test(line));
}

/**
 * Whether a child of the process reads our pipe: then it is the server. Children with another stdin build or unpack packages.
 * Only Linux can tell; elsewhere false, so that no download is ended half-way.
 */
function hasHandedOver(pid: number): boolean {
  try {
    const pipe = readlinkSync(`/proc/${pid}/fd/0`);
    return childrenOf(pid).some((child) => readlinkSync(`/proc/${child}/fd/0`) === pipe);
  } catch {
    // It ended while we looked, or there is no /proc.
    return false;
  }
}

/** The processes that a process has started; on Linux only. */
export function childrenOf(pid: number): string[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').match(/\d+/g) ?? []);
}
