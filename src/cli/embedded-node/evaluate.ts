/** Evaluates the code of `node -e` and `node -p` in the working directory. */
import Module, { createRequire, registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { constants, Script } from 'node:vm';
import { print } from '../output.ts';
import type { NodeLine } from './node-options.ts';

/** Matches the syntax errors of code that is an ES module. */
const NEEDS_MODULE =
  /^(?:Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module|await is only valid in async functions)/;

export function evaluate(code: string, { print: prints, inputType }: Pick<NodeLine, 'print' | 'inputType'>): void {
  const script = inputType === 'module' ? undefined : compile(code, inputType === undefined);
  if (script === undefined) {
    void importCode(code);
    return;
  }
  const file = join(process.cwd(), '[eval]');
  const module = Object.assign(new Module('[eval]'), { filename: file, paths: lookupFolders(file) });
  const require = createRequire(file);
  Object.assign(globalThis, { module, exports: module.exports, require, __filename: '[eval]', __dirname: '.' });
  const value = script.runInThisContext();
  if (prints) void print(typeof value === 'string' ? value : inspect(value));
}

/** Returns undefined for code that is an ES module. */
function compile(code: string, detects: boolean): Script | undefined {
  try {
    return new Script(code, {
      filename: '[eval]',
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
  } catch (error) {
    if (detects && error instanceof SyntaxError && NEEDS_MODULE.test(error.message)) return undefined;
    throw error;
  }
}

function lookupFolders(file: string): string[] {
  return createRequire(join(dirname(file), 'x')).resolve.paths('x') ?? [];
}

/** Imports the code as a module in the working directory, so that its relative imports begin there. */
function importCode(code: string): Promise<unknown> {
  const url = pathToFileURL(join(process.cwd(), '[eval1]')).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === url ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
    load: (loaded, context, next) =>
      loaded === url ? { format: 'module', source: code, shortCircuit: true } : next(loaded, context),
  });
  return import(url);
}
