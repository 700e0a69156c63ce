/**
 * Proves that an executable is mcpx and works: the exact version line, then a real conversation over stdio.
 * A failed build can leave a plain Node, which answers `--version` happily; it cannot pass this.
 *   node scripts/release/smoke.mjs [executable]
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { log } from '../log.mjs';
import { createTempHome, INITIALIZE, INITIALIZED, LIST_TOOLS, runSession } from '../mcp-client.mjs';
import {
  at,
  BuildError,
  executableName,
  expectedVersionLine,
  hostTarget,
  isMain,
  projectVersion,
  runMain,
} from '../project.mjs';
import { nodeLock } from './node.mjs';

/** Where the libraries of a foreign Linux are, for the emulator. */
const ARM64_LIBRARIES = process.env.QEMU_LD_PREFIX ?? '/usr/aarch64-linux-gnu';

/** The command that runs programs of a target on this machine: empty for its own, undefined when there is none. */
export function runnerFor(target, host = hostTarget()) {
  if (target === host) return [];
  if (target !== 'linux-arm64' || host !== 'linux-x64' || !existsSync(ARM64_LIBRARIES)) return undefined;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  const emulator = folders.map((folder) => join(folder, 'qemu-aarch64-static')).find((file) => existsSync(file));
  return emulator === undefined ? undefined : [emulator, '-L', ARM64_LIBRARIES];
}

/** Returns the reason why `runnerFor` has none. */
export function whyNotRun(target, host = hostTarget()) {
  if (target !== 'linux-arm64' || host !== 'linux-x64') return `nothing on this machine can run ${target}`;
  return 'the emulator is missing (Debian: apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross)';
}

function checkVersion([command, ...args], expected, options) {
  const { status, stdout, stderr } = spawnSync(command, [...args, '--version'], { encoding: 'utf8', ...options });
  if (status === 0 && stdout === `${expected}\n`) return;
  throw new BuildError(
    `"--version" answered ${JSON.stringify(stdout || stderr)}, expected ${JSON.stringify(expected)}`,
  );
}

function checkConversation(said) {
  const [initialized, listed] = said.answers.map((line) => JSON.parse(line));
  const server = initialized?.result?.serverInfo;
  const tools = listed?.result?.tools?.map((tool) => tool.name) ?? [];
  const fits = server?.name === 'mcpx' && server.version === projectVersion();
  if (fits && tools.includes('inspect') && tools.includes('exec') && said.code === 0) return;
  throw new BuildError(
    `the executable does not speak MCP: exit ${said.code ?? said.signal}, answered ${said.stdout.slice(0, 500)} and said ${said.stderr.slice(0, 500)}`,
  );
}

/**
 * Runs both checks in an empty folder with an empty home and no PATH. NODE_OPTIONS names a file that does not exist:
 * the executable must not listen to it.
 */
export async function smoke(executable, target, runner = []) {
  const home = createTempHome();
  const env = { ...home.env, NODE_OPTIONS: '--require=./not-there.cjs' };
  const command = [...runner, resolve(executable)];
  const options = { cwd: home.folder, env };
  try {
    checkVersion(command, expectedVersionLine(target, nodeLock().version), options);
    const [program, ...args] = [...command, 'serve'];
    checkConversation(await runSession(program, args, [INITIALIZE, INITIALIZED, LIST_TOOLS], options));
  } finally {
    home.remove();
  }
}

if (isMain(import.meta.url)) {
  await runMain(async ([file]) => {
    const target = hostTarget();
    const executable = file ?? at('dist', executableName(target, { named: false }));
    await smoke(executable, target);
    log('smoke', `${executable} answers --version, initialize and tools/list`);
  });
}
