/** The hidden command `__node [options] <script> [arguments]` of the executable: runs a script as the program `node` does. */
import { readFileSync, statSync } from 'node:fs';
import Module, { createRequire, syncBuiltinESMExports } from 'node:module';
import { join, resolve } from 'node:path';
import sea from 'node:sea';
import { constants, Script } from 'node:vm';
import { McpxError, messageOf } from '../../errors.ts';
import { codeOf } from '../../files.ts';
import { print, printError, warn } from '../output.ts';
import { evaluate } from './evaluate.ts';
import { type NodeLine, readNodeLine } from './node-options.ts';
import { adoptChildren } from './own-children.ts';

/** Node's exit code for a wrong option, and for everything else that keeps a script from running. */
const WRONG_OPTION = 9;
const FAILED = 1;

/**
 * Runs the script in this process. Nothing else of mcpx is loaded: no handler of signals or errors, and nothing on
 * stdout, so that the process behaves and ends as with Node. An exception of the script is not caught, because Node
 * prints the line of the last `throw`.
 */
export function runNode(words: readonly string[]): void {
  begin(words)?.();
}

/** Returns undefined if there is nothing to run. */
function begin(words: readonly string[]): (() => void) | undefined {
  try {
    const line = readNodeLine(words);
    if (line.version) void print(process.version);
    else return prepare(line);
  } catch (error) {
    printError(error);
    process.exitCode = error instanceof McpxError && error.code === 'usage' ? WRONG_OPTION : FAILED;
  }
  return undefined;
}

function prepare(line: NodeLine): () => void {
  const run = prepareMain(line);
  hideExecutable();
  adoptChildren();
  explainAddons();
  process.execArgv = line.options;
  for (const { file, required } of line.envFiles.toReversed()) loadEnvFile(file, required);
  for (const name of line.ineffective) warn(`"${name}" has no effect on the Node inside mcpx`);
  for (const apply of line.apply) apply();
  return () => {
    const require = createRequire(join(process.cwd(), '[eval]'));
    for (const module of line.requires) require(module);
    if (line.imports.length === 0) run();
    // An exception of the script must not become a rejected promise.
    else void importAll(line.imports).then(() => setImmediate(run));
  };
}

/** Sets `process.argv`, and returns the function that runs the script or the code. */
function prepareMain(line: NodeLine): () => void {
  const [script, ...args] = line.rest;
  const code = line.code ?? (script === '-' ? readFileSync(0, 'utf8') : undefined);
  if (code !== undefined) {
    process.argv = [process.execPath, ...line.rest];
    return () => evaluate(code, line);
  }
  if (script === undefined) {
    throw new McpxError('usage', 'node needs a script: there is no interactive mode in mcpx', {
      hint: 'put the path of the script into "args"',
    });
  }
  const file = resolve(script);
  checkScript(file);
  process.argv = [process.execPath, file, ...args];
  return () => Module.runMain(file);
}

/** Throws a sentence in place of Node's stack trace. */
function checkScript(file: string): void {
  try {
    createRequire(join(process.cwd(), '[eval]')).resolve(file);
  } catch (cause) {
    const hint = `correct "args": a relative path begins in "cwd" of the server, else in the folder where mcpx was started, ${process.cwd()}`;
    const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
    const why = isFolder
      ? 'is a folder without an index.js, and without a package.json whose "main" exists'
      : 'does not exist';
    throw new McpxError('failed', `the script "${file}" ${why}`, { hint, cause });
  }
}

function loadEnvFile(file: string, required: boolean): void {
  try {
    process.loadEnvFile(file);
  } catch (cause) {
    if (!required && codeOf(cause) === 'ENOENT') return;
    throw new McpxError('usage', `the file of "--env-file" cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Resolves the specifiers from the working directory, as Node does. */
async function importAll(specifiers: readonly string[]): Promise<void> {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const load = new Script('(specifier) => import(specifier)', { importModuleDynamically }).runInThisContext();
  for (const specifier of specifiers) await load(specifier);
}

/** A script is no part of the executable: for `mcpx.cjs`, this process is a Node. */
function hideExecutable(): void {
  Object.assign(sea, { isSea: () => false });
  syncBuiltinESMExports();
}

/** Adds the file and an advice to the error of a native addon that cannot be loaded. */
function explainAddons(): void {
  const { dlopen } = process;
  process.dlopen = (module, file, flags) => {
    try {
      return flags === undefined ? dlopen.call(process, module, file) : dlopen.call(process, module, file, flags);
    } catch (error) {
      const { node, modules } = process.versions;
      const inside = `the Node ${node} inside mcpx (${process.platform}-${process.arch}, addon version ${modules})`;
      const hint = `install the package of the addon for this system, or install Node: mcpx runs scripts with the Node on PATH, if there is one`;
      const message = `native addon "${file}" cannot be loaded by ${inside}: ${messageOf(error)}\nhint: ${hint}`;
      throw Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
    }
  };
}
