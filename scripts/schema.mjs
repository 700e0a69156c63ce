/** Writes mcpx.schema.json from the table of config fields; with --check it only says whether the file is fresh. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url);
const target = fileURLToPath(new URL('mcpx.schema.json', root));

const bundle = await build({
  entryPoints: [fileURLToPath(new URL('src/config/json-schema.ts', root))],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  mainFields: ['module', 'main'],
});
const code = Buffer.from(bundle.outputFiles[0].contents).toString('base64');
const { schemaText } = await import(`data:text/javascript;base64,${code}`);
const fresh = schemaText();

if (process.argv.includes('--check')) {
  if (read(target) === fresh) process.exit(0);
  console.error('mcpx.schema.json is stale; run: npm run schema');
  process.exit(1);
}
writeFileSync(target, fresh);
console.error(`wrote ${target}`);

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
