/**
 * Runs the app once and keeps what V8 compiled on the way, so that the executable need not compile it again.
 * Started by the build under the Node that will be embedded:
 *   node --random-seed=42 code-cache.mjs <app.script.js> <cache to write> <arguments for the app…>
 * With a fixed seed the bytes are the same every time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { constants, Script } from 'node:vm';

const [, , app, output, ...args] = process.argv;
const script = new Script(readFileSync(app, 'latin1'), {
  filename: 'mcpx:app.js',
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
process.once('exit', () => writeFileSync(output, script.createCachedData()));

// The app sees the arguments as it does inside the executable.
process.argv.splice(1, process.argv.length, process.execPath, ...args);
const module = { exports: {} };
script.runInThisContext()(module.exports, createRequire(import.meta.url), module, app, dirname(app));
