/** Detects launchers that download a server before they start it (`npx`, `uvx`, `docker run`), and their progress. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerSpec } from '../../config/config.ts';
import { programName } from '../../config/find-program.ts';
import type { LaunchOf } from '../transports/transport.ts';

/** The maximum time of a download in ms; `startupTimeout` begins when the download has ended. */
export const FETCH_LIMIT = 10 * 60_000;

/** The subcommands that download, by program; empty if the program always downloads. */
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

/** Returns the program that downloads this server at its first start; undefined if nothing is downloaded. */
export function launcherOf(spec: ServerSpec | LaunchOf<'stdio'>): string | undefined {
  if (spec.type !== 'stdio') return undefined;
  const words = [spec.command, ...spec.args];
  // Windows starts scripts with `cmd /c npx …`.
  const [program = '', ...rest] = programName(spec.command) === 'cmd' ? words.slice(2) : words;
  const name = programName(program);
  const subcommands = Object.hasOwn(LAUNCHERS, name) ? LAUNCHERS[name] : undefined;
  if (subcommands === undefined) return undefined;
  const subcommand = rest.find((word) => !word.startsWith('-')) ?? '';
  return subcommands.length === 0 || subcommands.includes(subcommand) ? name : undefined;
}

/** Programs that start a server outside their own processes, where its processor time cannot be read. */
const ELSEWHERE = new Set([...CONTAINERS, 'ssh', 'kubectl', 'wsl']);

/** Returns true if the server does not run as a child of the command. */
export function runsElsewhere({ command }: LaunchOf<'stdio'>): boolean {
  return ELSEWHERE.has(programName(command));
}

/** Returns the ms within which a start has succeeded or failed. */
export function longestStart(spec: ServerSpec): number {
  return spec.startupTimeout + (launcherOf(spec) === undefined ? 0 : FETCH_LIMIT) + 1000;
}

export interface Launching {
  launcher: string;
  pid: number | undefined;
  /** The last lines that the launcher wrote to stderr. */
  stderr: string[];
}

/** Returns true if the launcher has not started the server yet. */
export function isFetching({ launcher, pid, stderr }: Launching): boolean {
  if (CONTAINERS.has(launcher)) return isPulling(stderr);
  return pid !== undefined && !hasHandedOver(pid);
}

const PULLING = /Unable to find image|Pulling |Downloading|Download complete|Extracting|Trying to pull|Copying blob/;
const PULLED = /Status: Downloaded|Writing manifest/;

/** Returns true while a container engine pulls an image; its last progress line decides. */
function isPulling(stderr: string[]): boolean {
  const started = stderr.findLastIndex((line) => PULLING.test(line));
  return started > stderr.findLastIndex((line) => PULLED.test(line));
}

/**
 * Returns true if a child of the process reads our pipe: that child is the server. Children with another stdin build or
 * unpack packages. This works on Linux only; elsewhere it returns false, so that no download is aborted.
 */
function hasHandedOver(pid: number): boolean {
  try {
    const pipe = readlinkSync(`/proc/${pid}/fd/0`);
    return childrenOf(pid).some((child) => readlinkSync(`/proc/${child}/fd/0`) === pipe);
  } catch {
    // The process has ended, or there is no /proc.
    return false;
  }
}

/** Returns the child processes of a process; on Linux only. */
export function childrenOf(pid: number): string[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').match(/\d+/g) ?? []);
}
