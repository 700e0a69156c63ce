/** Makes the checkout ready to run: packages installed, executable built. The first step of `npm start` and `npm test`. */
import { join } from 'node:path';
import { log } from './log.mjs';
import { executableName, hostTarget, ROOT } from './project.mjs';
import { ensureInstalled } from './setup.mjs';

/** Returns the command that runs mcpx: the executable, or node with the script where the executable cannot be built. */
export async function ensureBuilt() {
  await ensureInstalled();
  // Not before the packages are there: the build imports some of them.
  const { buildIfNeeded } = await import('./release/pipeline.mjs');
  const target = hostTarget();
  try {
    await buildIfNeeded({ targets: [target] });
    return [join(ROOT, 'dist', executableName(target, { named: false }))];
  } catch (error) {
    if (error.code !== 'no-node') throw error;
    log('build', `no executable: ${error.message}`);
    return [process.execPath, join(ROOT, 'dist', 'mcpx.cjs')];
  }
}
