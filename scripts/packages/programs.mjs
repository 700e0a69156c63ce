/** Runs the programs that verify a release. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { log } from '../log.mjs';
import { BuildError } from '../project.mjs';

/** Returns the output of a program; undefined if it is not installed. Throws if it fails. */
export function run(program, args, options = {}) {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  });
  if (error?.code === 'ENOENT') return undefined;
  if (status === 0) return stdout + stderr;
  throw new BuildError(`${program} ${args.join(' ')} failed: ${(error?.message ?? stdout + stderr).slice(-2000)}`);
}

/** Throws unless the text has `wanted` in it. */
export function expectText(name, text, wanted) {
  if (text?.includes(wanted)) return;
  throw new BuildError(`"${name}" does not say ${JSON.stringify(wanted)}: ${String(text).slice(0, 500)}`);
}

/** Runs a program on a file if it is installed. `wanted` is text that its output must have. */
export function check(name, program, args, wanted = '', options = {}) {
  const said = run(program, args, options);
  if (said === undefined) return log('skipped', `${name}: the program ${program} is not installed`);
  expectText(`${name} with ${program}`, said, wanted);
  log('verified', `${name} with ${program}`);
}

/** Runs `work` with a temporary folder. */
export async function inTempFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-verify-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
