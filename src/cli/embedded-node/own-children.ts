/** Child processes of an embedded script: the ones that start `process.execPath`, or `node` without a Node on PATH, run embedded too. */
import childProcess, { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { environmentOf } from '../../config/environment.ts';
import { findProgram, isNodeName } from '../../config/find-program.ts';
import { NODE_COMMAND } from '../../upstream/transports/transport.ts';

/** The arguments of Node's `ChildProcess.spawn`, which `spawn`, `execFile`, `fork` and `cluster` end in. */
interface SpawnOptions {
  file: string;
  /** The first one is the name of the program. */
  args?: string[];
  envPairs?: string[];
}

/** Replaces the functions of `node:child_process` for this process; a started shell is not changed. */
export function adoptChildren(): void {
  const prototype = ChildProcess.prototype as unknown as { spawn(options: SpawnOptions): unknown };
  const { spawn } = prototype;
  prototype.spawn = function (options) {
    const env = () => Object.fromEntries((options.envPairs ?? []).map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
    if (runsHere(options.file, env)) {
      const [name = options.file, ...args] = options.args ?? [];
      Object.assign(options, { file: process.execPath, args: [name, NODE_COMMAND, ...args] });
    }
    return spawn.call(this, options);
  };
  Object.assign(childProcess, {
    spawnSync: adoptSync(childProcess.spawnSync),
    execFileSync: adoptSync(childProcess.execFileSync),
  });
  syncBuiltinESMExports();
}

function adoptSync<F extends (...words: never[]) => unknown>(start: F): F {
  const adopted = (file: string, ...rest: unknown[]) => {
    const [args, options] = Array.isArray(rest[0]) ? rest : [[], rest[0] ?? rest[1]];
    const given = (options ?? {}) as { env?: Record<string, string>; shell?: unknown };
    const isOurs = !given.shell && runsHere(file, () => given.env ?? environmentOf().env);
    const words = isOurs ? [process.execPath, [NODE_COMMAND, ...(args as string[])], options] : [file, ...rest];
    return start(...(words as never[]));
  };
  return adopted as unknown as F;
}

function runsHere(file: string, env: () => Readonly<Record<string, string | undefined>>): boolean {
  if (file === process.execPath) return true;
  return isNodeName(file) && findProgram(file, { ...environmentOf(), env: env() }) === undefined;
}
