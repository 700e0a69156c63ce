/**
 * Runs the app once and keeps what V8 compiled on the way, so that the executable need not compile it again.
 * Started by the build under the Node that will be embedded:
 *   node --random-seed=42 code-cache.mjs <app.script.js> <cache to write> <arguments for the app…>
 * The bytes are the same every time, also on a busy machine: the seed is fixed, and nothing in V8 depends on time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { constants, Script } from 'node:vm';

/**
 * Parts of V8 whose work depends on time, and leaves traces in the cache: compilers that start when a function is hot, some of them on
 * threads, and the removal of bytecode that was not used for a while.
 */
const BY_TIME = ['sparkplug', 'maglev', 'turbofan', 'concurrent-recompilation', 'flush-bytecode'];

const [, , app, output, ...args] = process.argv;
const script = new Script(readFileSync(app, 'latin1'), {
  filename: 'mcpx:app.js',
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
for (const name of BY_TIME) setFlagsFromString(`--no-${name}`);
process.once('exit', () => {
  // V8 refuses a cache that was made with other flags.
  for (const name of BY_TIME) setFlagsFromString(`--${name}`);
  writeFileSync(output, script.createCachedData());
});

// The app sees the arguments as it does inside the executable.
process.argv.splice(1, process.argv.length, process.execPath, ...args);
const module = { exports: {} };
script.runInThisContext()(module.exports, createRequire(import.meta.url), module, app, dirname(app));
