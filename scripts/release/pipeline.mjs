/** The build in order: bundle, then for every target node, code cache, blob, executable, smoke test; then notices and checksums. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatSize, log, logStep } from '../log.mjs';
import { executableName, hostTarget, ROOT, sha256 } from '../project.mjs';
import { bundle } from './bundle.mjs';
import { withLockFile } from './lock-file.mjs';
import { nodeLicence, nodeLock, pinnedNode } from './node.mjs';
import { notices } from './notices.mjs';
import { assemble, captureCodeCache, makeBlob, seaConfig, seaTemplate } from './sea.mjs';
import { runnerFor, smoke, whyNotRun } from './smoke.mjs';
import { hashInputs, isFresh, writeStamp } from './stamp.mjs';

const NOTICES = 'THIRD_PARTY_NOTICES';
const SCRIPT = 'mcpx.cjs';
const SHEBANG = '#!/usr/bin/env node\n';

/** Builds one executable into `root`/dist under the given file name. */
async function buildExecutable(target, { root, file }) {
  const node = await pinnedNode(target);
  const builder = target === hostTarget() ? node : await pinnedNode(hostTarget());
  const runner = runnerFor(target);
  const name = file.replace(/\.exe$/, '');
  rmSync(join(root, 'build', 'app.cache'), { force: true });
  if (runner !== undefined) {
    await logStep('warm up', async () => {
      await captureCodeCache({ node, runner, root });
      return `code cache for ${target}, ${formatSize(statSync(join(root, 'build', 'app.cache')).size)}`;
    });
  }
  await logStep('make', () => {
    const blob = makeBlob(seaConfig(seaTemplate(), { cached: runner !== undefined }), { builder, root, name });
    const draft = join(root, 'build', file);
    const cache = runner === undefined ? 'without a code cache' : 'with a code cache';
    const done = [cache, ...assemble({ node, blob, target, output: draft })].join(', ');
    return `${file}, ${formatSize(statSync(draft).size)}, Node ${node.version}, ${done}`;
  });
  await smokeTest(join(root, 'build', file), target, runner);
  // Only what has passed gets its name in dist, in one step: a running copy of an older build is not disturbed.
  renameSync(join(root, 'build', file), join(root, 'dist', file));
}

async function smokeTest(executable, target, runner) {
  if (runner === undefined) {
    log('smoke', `not run: ${whyNotRun(target)}`);
    return;
  }
  await logStep('smoke', async () => {
    await smoke(executable, target, runner);
    return `${target} answers --version, initialize and tools/list`;
  });
}

/** The program for people who have Node: the same bundle behind a shebang. */
function writeScript(root) {
  const file = join(root, 'dist', SCRIPT);
  writeFileSync(file, SHEBANG + readFileSync(join(root, 'build', 'app.js'), 'latin1'), {
    encoding: 'latin1',
    mode: 0o755,
  });
}

/** dist/SHA256SUMS over everything in dist, in the form that `sha256sum -c` reads. */
function writeChecksums(folder) {
  const files = readdirSync(folder).filter((file) => file.startsWith('mcpx') || file === NOTICES);
  const lines = files.sort().map((file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

/** Bundles once and builds the targets. `named` puts the target into the file name. */
export async function build({ targets, named = false, root = ROOT, entry }) {
  const [buildFolder, dist] = [join(root, 'build'), join(root, 'dist')];
  mkdirSync(buildFolder, { recursive: true });
  mkdirSync(dist, { recursive: true });
  let bundled;
  await logStep('bundle', async () => {
    bundled = await bundle(buildFolder, entry === undefined ? {} : { entry });
    return bundled.report;
  });
  writeScript(root);
  for (const target of targets) await buildExecutable(target, { root, file: executableName(target, { named }) });
  // A file that is named after its target is for distribution and needs Node's licence; a local build does not fetch it.
  const licence = named || hostTarget() === 'linux-x64' ? await nodeLicence() : undefined;
  const { version } = nodeLock();
  writeFileSync(join(dist, NOTICES), notices(bundled.metafile, { version, licence, buildFolder }));
  writeChecksums(dist);
  return [SCRIPT, NOTICES, ...targets.map((target) => executableName(target, { named }))];
}

/** Builds what is not up to date; says so and returns at once when everything is. */
export async function buildIfNeeded({ targets, named = false, force = false }) {
  const dist = join(ROOT, 'dist');
  const tools = targets.flatMap((target) => [target, String(runnerFor(target))]);
  const name = named ? targets.join('+') : 'host';
  await withLockFile(join(ROOT, 'build', '.lock'), async () => {
    const inputs = hashInputs(ROOT, tools);
    if (!force && isFresh(dist, name, inputs)) return log('build', 'dist is up to date');
    const outputs = await build({ targets, named });
    writeStamp(dist, name, { inputs, outputs });
  });
}
