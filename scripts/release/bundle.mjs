/** Bundles src/ with esbuild: the app, the boot file of the executable, and a report of what the size is made of. */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { formatSize } from '../log.mjs';
import { BuildError, projectVersion, ROOT } from '../project.mjs';

/** Bytes; the app must stay small enough to start at once. */
export const SIZE_LIMIT = 1_250_000;

/** The parameters that Node gives to a CommonJS file; the app asset is a function of them, so that vm.Script can run it. */
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) {', '\n})'];

/** Files that are no TypeScript: the status page for browsers and the completion scripts. `read('page.css')` becomes the text of the file, made small. */
const TEXT_FILES = { 'page-parts.ts': '.', 'shell-scripts.ts': 'scripts' };

const IMPORT_BROTLI = `import { brotliDecompressSync } from 'node:zlib';\n`;

/** An expression for the text. Brotli gives the same bytes on every machine, deflate does not. */
const packedText = (text) =>
  `brotliDecompressSync(Buffer.from('${brotliCompressSync(text).toString('base64')}', 'base64')).toString()`;

const textFiles = {
  name: 'text-files',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](?:page-parts|shell-scripts)\.ts$/ }, async ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const folder = join(dirname(path), TEXT_FILES[basename(path)]);
      const files = [...source.matchAll(/\bread\('([\w.]+)'\)/g)].map(([, file]) => file);
      const texts = new Map(await Promise.all(files.map(async (file) => [file, await small(join(folder, file))])));
      // Completion has to be fast; only gateways need the page.
      const written = basename(path) === 'page-parts.ts' ? packedText : JSON.stringify;
      const code = source.replace(/\bread\('([\w.]+)'\)/g, (_, file) => written(texts.get(file)));
      return { contents: IMPORT_BROTLI + code.slice(0, code.indexOf('function read(')), loader: 'ts' };
    });
  },
};

async function small(file) {
  const text = readFileSync(file, 'utf8');
  const loader = extname(file).slice(1);
  const isCode = loader === 'css' || loader === 'js';
  return isCode ? (await transform(text, { loader, minify: true, charset: 'utf8' })).code : text;
}

/** The words of the search and the Chinese texts are much text that is seldom needed: packed, and unpacked when it is first used. */
const packedTables = {
  name: 'packed-tables',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](?:search[\\/]tables|cli[\\/]language)[\\/][\w-]+\.json$/ }, ({ path }) => {
      const text = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
      const contents = `${IMPORT_BROTLI}export default JSON.parse(${packedText(text)});`;
      return { contents, loader: 'js' };
    });
  },
};

/** Packages that are seldom needed, with their entries. Each is bundled on its own, packed, and unpacked when it is first loaded. */
const PACKED = {
  '@jmespath-community/jmespath': ['@jmespath-community/jmespath'],
  ajv: ['ajv', 'ajv/dist/2020.js'],
  jose: ['jose'],
  oauth4webapi: ['oauth4webapi'],
  'smol-toml': ['smol-toml'],
  ws: ['ws'],
  yaml: ['yaml'],
};

/** The exports that are used, of packages whose other parts are large. */
const USED = { jose: '{ createLocalJWKSet, errors, jwtVerify }' };

/** `inputs` gets the files of the packed packages, which are part of the program too. */
const packedPackages = (inputs) => ({
  name: 'packed-packages',
  setup({ onResolve, onLoad }) {
    for (const [name, entries] of Object.entries(PACKED)) {
      onResolve({ filter: new RegExp(`^(?:${entries.join('|')})$`) }, () => {
        return { path: `node_modules/${name}`, namespace: 'packed' };
      });
    }
    onLoad({ filter: /^/, namespace: 'packed' }, async ({ path }) => {
      const name = path.replace('node_modules/', '');
      const contents = PACKED[name].map((entry) => `export ${USED[name] ?? '*'} from '${entry}';`).join('\n');
      const alone = { ...options(), legalComments: 'none', write: false };
      const { outputFiles, metafile } = await build({ ...alone, stdin: { contents, resolveDir: ROOT } });
      for (const [file, facts] of Object.entries(metafile.inputs)) if (file !== '<stdin>') inputs.set(file, facts);
      const packed = brotliCompressSync(inAscii(outputFiles[0].text)).toString('base64');
      const code = `require('node:zlib').brotliDecompressSync(Buffer.from('${packed}', 'base64')).toString('latin1')`;
      return { contents: `new Function('module', 'exports', 'require', ${code})(module, exports, require);` };
    });
  },
});

const options = (plugins = []) => ({
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  minify: true,
  // Pure ASCII becomes a one-byte string in memory, half the size. See `inAscii` for regular expressions.
  charset: 'ascii',
  // jsonc-parser's CommonJS form hides its requires from bundlers.
  mainFields: ['module', 'main'],
  legalComments: 'external',
  plugins,
  define: { __VERSION__: JSON.stringify(projectVersion()) },
  logLevel: 'warning',
  metafile: true,
});

/**
 * Escapes what is not ASCII. esbuild escapes strings, but no regular expressions, and the executable reads its script as
 * Latin-1, in which `/是/` matches other characters.
 */
export function inAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The package a bundled file belongs to; our own files count as `mcpx`. */
export function packageOf(path) {
  const parts = path.split('node_modules/');
  if (parts.length === 1) return 'mcpx';
  const [scope, name] = parts[parts.length - 1].split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

/** Bytes in the bundle per package, largest first. */
export function sizesByPackage(metafile) {
  const sizes = new Map();
  for (const output of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const name = packageOf(path);
      sizes.set(name, (sizes.get(name) ?? 0) + bytesInOutput);
    }
  }
  return [...sizes].sort(([a, bytesA], [b, bytesB]) => bytesB - bytesA || (a < b ? -1 : 1));
}

/** One line on the size of the bundle; a failure above the limit. */
export function sizeReport(metafile, bytes) {
  const parts = sizesByPackage(metafile).map(([name, share]) => `${name} ${formatSize(share)}`);
  if (bytes > SIZE_LIMIT) {
    throw new BuildError(`the bundle has ${bytes} bytes, the limit is ${SIZE_LIMIT}: ${parts.slice(0, 8).join(', ')}`, {
      hint: 'leave out the package that is not worth its size',
    });
  }
  return `${formatSize(bytes)} of at most ${formatSize(SIZE_LIMIT)}: ${parts.slice(0, 6).join(', ')}`;
}

/** Bundles one entry file and returns what esbuild knows of it. `define` adds constants; other options replace those of esbuild. */
async function bundleFile(entry, outfile, { define = {}, ...more } = {}) {
  try {
    const packed = new Map();
    const plugins = [textFiles, packedTables, packedPackages(packed)];
    const common = options(plugins);
    const constants = { ...common.define, ...define };
    const { metafile } = await build({ ...common, ...more, define: constants, entryPoints: [entry], outfile });
    writeFileSync(outfile, inAscii(readFileSync(outfile, 'utf8')));
    const own = Object.entries(metafile.inputs).filter(([file]) => !file.startsWith('packed:'));
    return { ...metafile, inputs: { ...Object.fromEntries(own), ...Object.fromEntries(packed) } };
  } catch (cause) {
    // esbuild has printed each error with its place.
    throw new BuildError(`"${entry}" cannot be bundled, see above`, { hint: 'npm run types', cause });
  }
}

/**
 * Writes into `folder`: app.js (the program, for node), app.script.js (the same as one function, for the executable),
 * boot.js (the executable's main script) and the esbuild metafile app.meta.json.
 */
export async function bundle(folder, { entry = 'src/main.ts' } = {}) {
  const app = join(folder, 'app.js');
  const metafile = await bundleFile(entry, app);
  // Errors of scripts that run in the executable quote lines of this file.
  await bundleFile('src/boot.ts', join(folder, 'boot.js'), { minify: false });
  const source = readFileSync(app, 'latin1');
  writeFileSync(join(folder, 'app.script.js'), WRAPPER.join(source), 'latin1');
  writeFileSync(join(folder, 'app.meta.json'), JSON.stringify(metafile));
  return { metafile, source, report: sizeReport(onlyApp(metafile), source.length) };
}

/** The metafile without the extracted legal comments, which are not part of the program. */
function onlyApp(metafile) {
  const outputs = Object.entries(metafile.outputs).filter(([path]) => path.endsWith('.js'));
  return { ...metafile, outputs: Object.fromEntries(outputs) };
}

/** Bundles the library of the npm package. `program` is the file with the command line in the same folder. */
export function bundleLibrary(outfile, { program }) {
  return bundleFile('src/library.ts', outfile, { define: { __PROGRAM__: JSON.stringify(program) } });
}
