/** Main script of the executable: prints the version, runs a script for `__node`, and otherwise the app asset with its code cache. */
import { writeSync } from 'node:fs';
import { getAssetKeys, getRawAsset } from 'node:sea';
import { constants, Script } from 'node:vm';
import { NODE_COMMAND } from './upstream/transports/transport.ts';
import { type CodeCache, versionJson, versionLine, wantsVersionJson } from './version.ts';

const VERSION_FLAGS: readonly unknown[] = ['--version', '-V', '-v'];

/** Prints a line without creating the stream behind `process.stdout`. */
function printLine(line: string): void {
  try {
    writeSync(1, `${line}\n`);
  } catch {
    // The reader has closed the pipe, so the error cannot be reported.
    process.exitCode = 1;
  }
}

/**
 * Compiles the app asset, which is one function expression in ASCII. V8 ignores a cache made for another machine; that
 * costs only time.
 */
function compileApp(): { script: Script; codeCache: CodeCache } {
  const hasCache = getAssetKeys().includes('app.cache');
  const script = new Script(Buffer.from(getRawAsset('app.js')).toString('latin1'), {
    filename: 'mcpx:app.js',
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(hasCache && { cachedData: Buffer.from(getRawAsset('app.cache')) }),
  });
  return { script, codeCache: hasCache ? (script.cachedDataRejected ? 'rejected' : 'accepted') : 'none' };
}

function runApp(): void {
  const module = { exports: {} };
  // This `require` resolves Node's built-in modules only, so no folder on the machine can supply a module.
  compileApp().script.runInThisContext()(module.exports, require, module, __filename, __dirname);
}

/** Runs a script. Only this command loads the modules of Node that it needs, which take 7 ms; an error of the script is uncaught, as in Node. */
async function runScript(args: string[]): Promise<void> {
  const { runNode } = await import('./cli/embedded-node/embedded-node.ts');
  process.nextTick(runNode, args);
}

if (process.argv.length === 3 && VERSION_FLAGS.includes(process.argv[2])) printLine(versionLine());
else if (process.argv[2] === NODE_COMMAND) void runScript(process.argv.slice(3));
else if (wantsVersionJson(process.argv.slice(2))) printLine(versionJson(compileApp().codeCache));
else runApp();
