/** The npm package: the bundle as a command, and the same code as a library with types. It has no install scripts and no dependencies. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, readJson } from '../project.mjs';
import { bundleLibrary } from '../release/bundle.mjs';
import { gzip, tar } from './archives.mjs';
import { extras, sourceTime } from './contents.mjs';

export const NPM_NAME = '@mcpx/mcpx';
const SCRIPT = 'mcpx.cjs';
const LIBRARY = 'library.cjs';

/** package.json of the package; only facts of the project's own package.json are in it. */
export function manifest() {
  const { version, description, license, engines } = readJson(at('package.json'));
  return {
    name: NPM_NAME,
    version,
    description,
    license,
    keywords: ['mcp', 'model-context-protocol', 'gateway', 'aggregator', 'proxy'],
    engines,
    type: 'commonjs',
    bin: { mcpx: SCRIPT },
    man: 'man/mcpx.1',
    main: LIBRARY,
    types: 'library.d.ts',
    exports: {
      '.': { types: './library.d.ts', default: `./${LIBRARY}` },
      './mcpx.schema.json': './mcpx.schema.json',
      './package.json': './package.json',
    },
    publishConfig: { access: 'public' },
    // Yarn would leave the files in a zip, and Node cannot start a program from there: modules run in a child process.
    preferUnplugged: true,
  };
}

/** The bytes of the tarball that `npm install` takes. `dist` is the folder with mcpx.cjs and THIRD_PARTY_NOTICES. */
export async function npmPackage(dist, buildFolder) {
  const library = join(buildFolder, LIBRARY);
  await bundleLibrary(library, { program: SCRIPT });
  const text = (name, file, mode) => ({ name: `package/${name}`, data: readFileSync(file), mode });
  const man = extras(join(dist, SCRIPT)).filter(({ name }) => name.startsWith('man/'));
  const entries = [
    { name: 'package/package.json', data: Buffer.from(`${JSON.stringify(manifest(), null, 2)}\n`) },
    text(SCRIPT, join(dist, SCRIPT), 0o755),
    text(LIBRARY, library),
    text('library.d.ts', at('packaging', 'npm', 'library.d.ts')),
    text('mcpx.schema.json', at('mcpx.schema.json')),
    text('README.md', at('packaging', 'npm', 'README.md')),
    ...man.map(({ name, data }) => ({ name: `package/${name}`, data })),
    text('LICENSE', at('LICENSE')),
    text('THIRD_PARTY_NOTICES', join(dist, 'THIRD_PARTY_NOTICES')),
  ];
  return gzip(tar(entries, sourceTime()));
}
