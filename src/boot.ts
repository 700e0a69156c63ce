/** Main script of the executable: prints the version for `--version`, and otherwise runs the app asset with its code cache. */
import { writeSync } from 'node:fs';
import { getAssetKeys, getRawAsset } from 'node:sea';
import { constants, Script } from 'node:vm';
import { versionLine } from './version.ts';

const VERSION_FLAGS: readonly unknown[] = ['--version', '-V', '-v'];

/** Prints the version without loading the app or creating the stream behind `process.stdout`. */
function printVersion(): void {
  try {
    writeSync(1, `${versionLine()}\n`);
  } catch {
    // The reader has closed the pipe, so the error cannot be reported.
    process.exitCode = 1;
  }
}

/**
 * Runs the app asset, which is one function expression in ASCII. V8 ignores a cache made for another machine; that
 * costs only time.
 */
function runApp(): void {
  const cached = getAssetKeys().includes('app.cache') ? { cachedData: Buffer.from(getRawAsset('app.cache')) } : {};
  const script = new Script(Buffer.from(getRawAsset('app.js')).toString('latin1'), {
    filename: 'mcpx:app.js',
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...cached,
  });
  const module = { exports: {} };
  // This `require` resolves Node's built-in modules only, so no folder on the machine can supply a module.
  script.runInThisContext()(module.exports, require, module, __filename, __dirname);
}

if (process.argv.length === 3 && VERSION_FLAGS.includes(process.argv[2])) printVersion();
else runApp();
