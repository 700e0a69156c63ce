/** Runs npm, the one that started this script where there is one, without its noise. */
import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';

/** How to start npm here. On Windows npm is a .cmd file, which only a shell can run: keep arguments free of spaces. */
export function npmCommand(env = process.env, platform = process.platform) {
  const cli = env.npm_execpath;
  if (cli !== undefined && basename(cli) === 'npm-cli.js') {
    return { command: process.execPath, args: [cli], shell: false };
  }
  return { command: platform === 'win32' ? 'npm.cmd' : 'npm', args: [], shell: platform === 'win32' };
}

/** Runs npm to its end. Returns its exit status (null when it could not start) and its output. */
export function npm(args, { cwd, inherit = false }) {
  const { command, args: before, shell } = npmCommand();
  const result = spawnSync(command, [...before, ...args], {
    cwd,
    shell,
    encoding: 'utf8',
    stdio: ['ignore', inherit ? 2 : 'pipe', inherit ? 2 : 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status: result.status, stdout: result.stdout ?? '', stderr: result.stderr ?? String(result.error ?? '') };
}
