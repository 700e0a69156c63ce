/** The loop guard: skips, with a warning, every entry that would start mcpx itself or whose URL is mcpx's own. */
import { realpathSync } from 'node:fs';
import type { Profile, ServerSpec, Settings, StdioServer } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { type Environment, pathsOf } from './environment.ts';
import { findProgram, isNodeName, programName } from './find-program.ts';

/** The identity of this process. */
export interface Self {
  /** The running executable: mcpx, or node. */
  execPath: string;
  /** The script that node runs; undefined for the mcpx executable. */
  script?: string;
  /** True if this process listens at the `http` address of the config. */
  http?: boolean;
}

export interface GuardContext {
  self: Self;
  http: Pick<Settings['http'], 'host' | 'port'>;
  findings: Diagnostics;
  world: Environment;
}

export function withoutLoops(profiles: readonly Profile[], context: GuardContext): Profile[] {
  const own = context.self.http === true ? ownUrl(context.http) : undefined;
  const loops = new Map<ServerSpec, boolean>();
  const real = createRealPaths();
  const isLoop = (spec: ServerSpec): boolean => {
    const known = loops.get(spec);
    if (known !== undefined) return known;
    const loop =
      spec.type === 'stdio'
        ? startsUs(spec, context, real)
        : 'url' in spec && own !== undefined && sameHost(own, spec.url);
    loops.set(spec, loop);
    if (loop) {
      const message = `server "${spec.name}" is skipped: it is mcpx itself and would cause an endless loop`;
      context.findings.warn({ message, place: spec.place, part: 'key', hint: 'remove it from the config' });
    }
    return loop;
  };
  return profiles.map((profile) => ({ ...profile, servers: profile.servers.filter((spec) => !isLoop(spec)) }));
}

function ownUrl({ host, port }: GuardContext['http']): string {
  return `http://${host.includes(':') ? `[${host.replace(/^\[|\]$/g, '')}]` : host}:${port}`;
}

function startsUs({ command, args, place }: StdioServer, { self, world }: GuardContext, real: RealPath): boolean {
  const paths = pathsOf(world);
  const folder = place.file === '' ? world.cwd : paths.dirname(place.file);
  const program =
    command.includes('/') || command.includes(paths.sep)
      ? paths.resolve(folder, command)
      : onPath(command, self, world);
  if (program === undefined || real(program) !== real(self.execPath)) return false;
  // If the executable is node, the entry is mcpx only if it runs the same script.
  if (self.script === undefined) return true;
  const script = self.script;
  return args.some((arg) => real(paths.resolve(world.cwd, arg)) === real(script));
}

/** Looks up a bare name in PATH only if it could be mcpx, so that loading accesses few files. */
function onPath(command: string, self: Self, world: Environment): string | undefined {
  const name = programName(command);
  // Where no Node is on PATH, the executable of this process runs the scripts of `node`.
  if (self.script !== undefined && isNodeName(command)) return findProgram(command, world) ?? self.execPath;
  if (name !== programName(self.execPath) && name !== 'mcpx') return undefined;
  return findProgram(command, world);
}

type RealPath = (file: string) => string;

/** Resolves symbolic links. Results are cached, because most servers share a few programs. */
function createRealPaths(): RealPath {
  const known = new Map<string, string>();
  const follow: RealPath = (file) => {
    try {
      return realpathSync.native(file);
    } catch {
      return file;
    }
  };
  return (file) => {
    const found = known.get(file) ?? follow(file);
    known.set(file, found);
    return found;
  };
}

/** True if both URLs have the same host and port. All loopback names and `0.0.0.0` count as one host. */
function sameHost(a: string, b: string): boolean {
  if (!URL.canParse(a) || !URL.canParse(b)) return false;
  const [first, second] = [new URL(a), new URL(b)];
  return portOf(first) === portOf(second) && hostOf(first) === hostOf(second);
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' || protocol === 'wss:' ? '443' : '80') : port;
}

function hostOf({ hostname }: URL): string {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\]|\[::\]|0\.0\.0\.0)$/.test(hostname) ? 'loopback' : hostname;
}
