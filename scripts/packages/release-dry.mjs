/**
 * npm run release:dry: everything of a release that this machine can do: executables, packages, files for package managers, verification.
 * Nothing is published. A target that cannot be built here is named with the reason.
 *   --target <name>   only this target; repeatable (default: every target)
 *   --packed          only verify what is in dist/release
 *   --fast            no .tar.xz and no .rpm
 *   --schemas <folder>  published JSON Schemas of CycloneDX, Scoop and winget, each under the name that it has at its address
 */
import { parseArgs } from 'node:util';
import { log } from '../log.mjs';
import { at, BuildError, isMain, runMain, TARGETS } from '../project.mjs';
import { builtTargets, packRelease } from './packages.mjs';
import { verifyRelease } from './verify.mjs';

/** The addresses in the files for package managers, if no repository is known. */
const NOWHERE = 'example/mcpx';

/** Builds each target on its own, so that one without a Node does not stop the others. Returns those that were built. */
async function buildAll(targets) {
  const { buildIfNeeded } = await import('../release/pipeline.mjs');
  const built = [];
  for (const target of targets) {
    try {
      await buildIfNeeded({ targets: [target], named: true });
      built.push(target);
    } catch (error) {
      if (!(error instanceof BuildError) || error.code !== 'no-node') throw error;
      log('not built', `${target}: ${error.message}`);
    }
  }
  return built;
}

if (isMain(import.meta.url)) {
  await runMain(async (args) => {
    const { values } = parseArgs({
      args,
      options: {
        target: { type: 'string', multiple: true },
        packed: { type: 'boolean' },
        fast: { type: 'boolean' },
        schemas: { type: 'string' },
        repository: { type: 'string', default: process.env.GITHUB_REPOSITORY ?? NOWHERE },
      },
    });
    const { repository, fast, schemas } = values;
    if (values.packed) return verifyRelease(at('dist', 'release'), builtTargets(), { schemas });
    const targets = await buildAll(values.target ?? TARGETS);
    const folder = await packRelease({ targets, repository, fast, draft: true });
    await verifyRelease(folder, targets, { schemas });
    log('release', `${folder}, nothing was published`);
  });
}
