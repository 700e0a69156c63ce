/** One executable: the pinned Node, stripped, with a blob of our boot file, the app and its code cache inside, signed for macOS. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempHome, INITIALIZE, INITIALIZED, LIST_TOOLS, runSession } from '../mcp-client.mjs';
import { at, BuildError, projectVersion, readJson } from '../project.mjs';
import { segmentLayout, signAdHoc, signatureProblems } from './macho.mjs';
import { withFileProperties } from './pe.mjs';
import { stripElf } from './strip.mjs';

const IDENTIFIER = 'mcpx';
/** Code and data that Node addresses directly: a build in which one of these moved would crash. */
const FIXED_SEGMENTS = ['__TEXT', '__DATA_CONST', '__DATA'];

const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Runs a tool that must succeed; what it printed is shown only when it did not. */
function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (result.status === 0) return result.stdout;
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim() || result.error?.message;
  throw new BuildError(`"${command} ${args.join(' ')}" failed: ${output}`);
}

/**
 * Captures the app's code cache with the target's own Node, and checks that V8 takes it back.
 * `runner` is the command that can run the target's programs here.
 */
export async function captureCodeCache({ node, runner, root }) {
  const [command, ...before] = [...runner, node.file];
  const app = join(root, 'build', 'app.script.js');
  const cache = join(root, 'build', 'app.cache');
  const home = createTempHome();
  try {
    const args = [...before, '--random-seed=42', script('code-cache.mjs'), app, cache, 'serve'];
    const said = await runSession(command, args, [INITIALIZE, INITIALIZED, LIST_TOOLS], {
      cwd: home.folder,
      env: home.env,
    });
    if (said.code !== 0 || said.answers.length < 2) {
      throw new BuildError(`the warm-up run of the app failed (exit ${said.code ?? said.signal}): ${said.stderr}`);
    }
  } finally {
    home.remove();
  }
  run(command, [...before, script('code-cache-check.mjs'), app, cache]);
}

/** The config of one target: the committed template, without the cache where none could be made. */
export function seaConfig(template, { cached }) {
  const assets = Object.entries(template.assets).filter(([name]) => cached || name !== 'app.cache');
  return { ...template, assets: Object.fromEntries(assets) };
}

/** Makes the blob. Paths in the config are relative to `root`, so that the bytes do not depend on where that is. */
export function makeBlob(config, { builder, root, name }) {
  const file = join('build', `${name}.sea-config.json`);
  const output = join('build', `${name}.blob`);
  writeFileSync(join(root, file), JSON.stringify({ ...config, output }, null, 2));
  run(builder.file, ['--experimental-sea-config', file], { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } });
  return join(root, output);
}

/** On macOS the system's own tool signs; elsewhere we do. */
function signMacho(file) {
  if (process.platform === 'darwin') {
    run('codesign', ['--sign', '-', '--identifier', IDENTIFIER, '--force', file]);
    run('codesign', ['--verify', '--strict', file]);
    return 'signed by codesign';
  }
  writeFileSync(file, signAdHoc(readFileSync(file), IDENTIFIER));
  const problems = signatureProblems(readFileSync(file));
  if (problems.length > 0) throw new BuildError(`the signature of "${file}" is wrong: ${problems[0]}`);
  return 'signed ad hoc';
}

function checkLayout(before, after) {
  for (const name of FIXED_SEGMENTS) {
    if (before.get(name) === after.get(name)) continue;
    throw new BuildError(`injecting moved the segment "${name}": ${before.get(name)} to ${after.get(name)}`);
  }
}

/** Node's bytes as they have to be before anything is injected. */
function prepared(bytes, target) {
  if (target.startsWith('linux-')) return stripElf(bytes);
  return target.startsWith('win-') ? withFileProperties(bytes, projectVersion()) : bytes;
}

/** Puts a blob into a copy of the target's Node. Returns the list of special steps, in words. */
export function assemble({ node, blob, target, output }) {
  const mac = target.startsWith('darwin-');
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, prepared(readFileSync(node.file), target), { mode: 0o755 });
  const done = [];
  if (mac && process.platform === 'darwin') run('codesign', ['--remove-signature', output]);
  const before = mac ? segmentLayout(readFileSync(output)) : undefined;
  run(process.execPath, [script('inject.mjs'), output, blob]);
  if (before !== undefined) {
    checkLayout(before, segmentLayout(readFileSync(output)));
    done.push(signMacho(output));
  }
  return done;
}

/** The committed template that every target's config is made from. */
export const seaTemplate = () => readJson(at('sea-config.json'));
