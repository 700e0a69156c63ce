/**
 * npm run build: dist/mcpx for this machine, and dist/mcpx.cjs for node.
 *   --target <name>   another target instead, into dist/mcpx-<name>; repeatable; `all` is every one
 *   --check           build twice into two throw-away folders and compare the bytes
 *   --force           build even when nothing has changed
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { log } from '../log.mjs';
import { BuildError, hostTarget, isMain, runMain, sha256, TARGETS } from '../project.mjs';
import { ensureInstalled } from '../setup.mjs';

/** The targets that were asked for; none means this machine's own. */
export function chosenTargets(names, host = hostTarget()) {
  const targets = names.flatMap((name) => (name === 'all' ? TARGETS : [name]));
  const unknown = targets.find((target) => !TARGETS.includes(target));
  if (unknown !== undefined) {
    throw new BuildError(`no target "${unknown}"; there are ${TARGETS.join(', ')} and all`, {
      hint: 'npm run build -- --target linux-x64',
    });
  }
  return targets.length > 0 ? [...new Set(targets)] : [host];
}

/** Two builds from the same sources must be the same, byte for byte. */
async function checkReproducible(build, choice) {
  const folders = ['a', 'b'].map((name) => mkdtempSync(join(tmpdir(), `mcpx-check-${name}-`)));
  try {
    const [files] = [await build({ ...choice, root: folders[0] }), await build({ ...choice, root: folders[1] })];
    for (const file of files) {
      const [first, second] = folders.map((folder) => sha256(readFileSync(join(folder, 'dist', file))));
      if (first !== second) throw new BuildError(`two builds of "${file}" differ: ${first} and ${second}`);
      log('same', `${first}  ${file}`);
    }
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}

async function main(args) {
  const { values } = parseArgs({
    args,
    options: { target: { type: 'string', multiple: true }, check: { type: 'boolean' }, force: { type: 'boolean' } },
  });
  const names = values.target ?? [];
  const choice = { targets: chosenTargets(names), named: names.length > 0 };
  await ensureInstalled();
  const { build, buildIfNeeded } = await import('./pipeline.mjs');
  if (values.check) return checkReproducible(build, choice);
  await buildIfNeeded({ ...choice, force: values.force });
}

if (isMain(import.meta.url)) await runMain(main);
