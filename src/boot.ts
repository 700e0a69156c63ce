/** The main script of the executable: answers `--version` at once, and else runs the app asset with its code cache. */
import { writeSync } from 'node:fs';
import { getAssetKeys, getRawAsset } from 'node:sea';
import { constants, Script } from 'node:vm';
import { versionLine } from './version.ts';

const VERSION_FLAGS: readonly unknown[] = ['--version', '-V', '-v'];

/** Alone on the command line, it needs nothing of the app, not even the stream behind `process.stdout`. */
function printVersion(): void {
  try {
    writeSync(1, `${versionLine()}\n`);
  } catch {
    // Whoever asked has closed the pipe: there is nobody to tell.
    process.exitCode = 1;
  }
}

/** The asset is one function expression in ASCII. A cache made for another machine is ignored by V8 and costs only time. */
function runApp(): void {
  const cached = getAssetKeys().includes('app.cache') ? { cachedData: Buffer.from(getRawAsset('app.cache')) } : {};
  const script = new Script(Buffer.from(getRawAsset('app.js')).toString('latin1'), {
    filename: 'mcpx:app.js',
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...cached,
  });
  const module = { exports: {} };
  // This `require` knows Node's own modules only, so that no folder on the machine can supply one.
  script.runInThisContext()(module.exports, require, module, __filename, __dirname);
}

if (process.argv.length === 3 && VERSION_FLAGS.includes(process.argv[2])) printVersion();
else runApp();
