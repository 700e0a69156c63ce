/** The npm package and the bill of materials, made from a bundle of this checkout: the command, the library, and what is inside. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXTRAS, extras } from '../../../scripts/packages/contents.mjs';
import { NPM_NAME, npmPackage } from '../../../scripts/packages/npm-package.mjs';
import { sbom } from '../../../scripts/packages/sbom.mjs';
import { at, hostTarget, projectVersion } from '../../../scripts/project.mjs';
import { bundle } from '../../../scripts/release/bundle.mjs';
import { nodeLock } from '../../../scripts/release/node.mjs';
import { tarEntries } from '../../../scripts/release/tar.mjs';

const root = mkdtempSync(join(tmpdir(), 'mcpx-npm-'));
const home = join(root, 'home');
const installed = join(root, 'program', 'node_modules', NPM_NAME);
const names: string[] = [];
let metafile: { inputs: Record<string, unknown> };
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  const build = join(root, 'build');
  for (const folder of [build, home]) mkdirSync(folder);
  const bundled = await bundle(build);
  metafile = bundled.metafile;
  writeFileSync(join(build, 'mcpx.cjs'), `#!/usr/bin/env node\n${bundled.source}`, 'latin1');
  writeFileSync(join(build, 'THIRD_PARTY_NOTICES'), 'notices');
  for (const { name, data } of tarEntries(gunzipSync(await npmPackage(build, build)))) {
    const file = join(installed, name.replace(/^package\//, ''));
    names.push(name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, data, { mode: 0o755 });
  }
}, 60_000);

const run = (...args: string[]) =>
  execFileSync(process.execPath, args, {
    cwd: join(root, 'program'),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, USERPROFILE: home },
  });

const PROGRAM = `
const config = { mcpServers: { math: { type: 'builtin' }, own: { module: './own.mjs' } } };
const app = createApp(config);
const { structuredContent } = await app.call('math.convert_base', { number: '255', to: 16 });
const { content } = await app.call('own.hello');
console.log(JSON.stringify([structuredContent.number, content[0].text, typeof VERSION]));
await app.stop();
`;

describe('the npm package', () => {
  test('has a command, a library with types, and nothing that runs at installation', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ name: NPM_NAME, version: projectVersion(), bin: { mcpx: 'mcpx.cjs' } });
    expect(manifest.engines.node).toBe('>=20');
    for (const key of ['scripts', 'dependencies', 'private']) expect(manifest[key]).toBeUndefined();
    for (const file of [manifest.main, manifest.types, manifest.bin.mcpx, manifest.man])
      expect(names).toContain(`package/${file}`);
  });

  test('runs as a command', () => {
    const line = run(join(installed, 'mcpx.cjs'), '--version');
    expect(line).toContain(`mcpx/${projectVersion()} `);
  });

  test.each([
    ['import', 'mjs', `import { createApp, VERSION } from '${NPM_NAME}';\n${PROGRAM}`],
    ['require', 'cjs', `const { createApp, VERSION } = require('${NPM_NAME}');\n(async () => {${PROGRAM}})();`],
  ])('gives createApp to %s, also for servers that are local modules', (_way, ending, text) => {
    const own = `export const tools = [{ name: 'hello', inputSchema: { type: 'object' }, handler: () => 'hi' }];`;
    writeFileSync(join(root, 'program', 'own.mjs'), own);
    writeFileSync(join(root, 'program', `program.${ending}`), text);
    expect(JSON.parse(run(`program.${ending}`))).toEqual(['ff', 'hi', 'string']);
  });
});

test('archives and packages have completions and the man page where shells and man look for them', () => {
  const files = extras(join(installed, 'mcpx.cjs'));
  expect(files.map(({ name }: { name: string }) => name)).toEqual(EXTRAS);
  const contents = files.map(({ system, data }: { system: string; data: Buffer }) => [system, data.toString()]);
  expect(Object.fromEntries(contents)).toEqual({
    'usr/share/bash-completion/completions/mcpx': expect.stringContaining('complete -o nospace -F _mcpx mcpx'),
    'usr/share/zsh/vendor-completions/_mcpx': expect.stringMatching(/^#compdef mcpx\n/),
    'usr/share/fish/vendor_completions.d/mcpx.fish': expect.stringContaining('complete -c mcpx'),
    'usr/share/man/man1/mcpx.1': expect.stringMatching(/^\.TH MCPX 1 /),
  });
});

describe('the bill of materials', () => {
  // The build has fetched the embedded Node. It lists libraries that it was built without; other versions of Node do not.
  const embedded = at('.cache', 'node', nodeLock().version, hostTarget(), 'node');
  const nodeFile = existsSync(embedded) ? embedded : process.execPath;
  const read = () => JSON.parse(sbom(metafile, { lock: nodeLock(), nodeFile, time: 1_700_000_000 }));

  test('has every bundled package with its licence and hash, and no package that is not bundled', () => {
    const { components, bomFormat, specVersion } = read();
    expect([bomFormat, specVersion]).toEqual(['CycloneDX', '1.6']);
    const packages = components.filter(({ purl }: { purl: string }) => purl.startsWith('pkg:npm/'));
    const found = packages.map(({ name }: { name: string }) => name);
    expect(found).toEqual(expect.arrayContaining(['ajv', 'ws', 'jsonc-parser', '@jmespath-community/jmespath']));
    for (const name of ['typescript', 'vitest', 'esbuild']) expect(found).not.toContain(name);
    for (const { name, licenses, hashes } of packages) {
      expect(licenses, name).toHaveLength(1);
      expect(hashes?.[0].content, name).toMatch(/^[0-9a-f]{128}$/);
    }
  });

  test('has Node with the hash of each binary, and the libraries inside it', () => {
    const node = read().components.find(({ name }: { name: string }) => name === 'node');
    expect(node.version).toBe(nodeLock().version);
    const { targets } = nodeLock();
    expect(node.properties.map(({ value }: { value: string }) => value)).toEqual(
      Object.values(targets).map(({ sha256, download, binary }) => `${sha256} ${download ?? binary}`),
    );
    for (const { version, name } of node.components) expect(version, name).not.toBe('');
    const inside = node.components.map(({ name }: { name: string }) => name);
    expect(inside).toEqual(expect.arrayContaining(['v8', 'openssl', 'uv', 'zlib']));
  });

  test('every reference leads to a component, once', () => {
    const { components, dependencies, metadata } = read();
    const refs = [metadata.component, ...components].map((component) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    expect(
      dependencies
        .flatMap(({ ref, dependsOn = [] }: any) => [ref, ...dependsOn])
        .every((ref: string) => refs.includes(ref)),
    ).toBe(true);
  });

  test('is the same in every build', () => {
    expect(read()).toEqual(read());
  });
});
