/** Are the signatures of tools valid TypeScript? Renders them with the program's own code and asks the compiler. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { at } from '../project.mjs';

const FLAGS = [
  '--noEmit',
  '--strict',
  '--noImplicitAny',
  'false',
  '--target',
  'es2022',
  '--types',
  '',
  '--ignoreConfig',
];

/** How many signatures there are in both forms, and what the compiler says of them: nothing when all are valid. */
export async function invalidTypes(tools) {
  mkdirSync(at('.cache'), { recursive: true });
  const folder = mkdtempSync(at('.cache', 'types-'));
  try {
    const outfile = join(folder, 'typescript.mjs');
    const entryPoints = [at('src', 'render', 'typescript.ts')];
    await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
    const { renderTool } = await import(pathToFileURL(outfile).href);
    const bodies = tools.flatMap((tool) => ['full', 'short'].map((form) => declaration(renderTool, tool, form)));
    const written = bodies.filter((body) => body !== undefined);
    const source = written.map((body, index) => `declare namespace T${index} {\n${body}\n}`).join('\n');
    writeFileSync(join(folder, 'types.ts'), `${source}\nexport {};\n`);
    const tsc = at('node_modules', 'typescript', 'bin', 'tsc');
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...FLAGS, 'types.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { checked: written.length, said: `${stdout}${stderr}`.trim() };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The signature alone, since the description is prose; undefined where JSON was shorter. */
function declaration(renderTool, { inputSchema, outputSchema }, form) {
  const text = renderTool({ name: 'f', inputSchema, outputSchema }, { form });
  if (text.startsWith('{')) return undefined;
  return form === 'full' ? `function ${text}` : `function ${text.replace(/^f\((?!\))/, 'f(args: ')}`;
}
