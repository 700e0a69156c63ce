/** Manifests of bundles, versions 0.1 to 0.4: what is read from them, which entry they become, and what is refused. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { readBundle, unpackBundle } from '../../src/server-packages/bundle.ts';
import { bundleEntry } from '../../src/server-packages/bundle-entry.ts';
import { bundleFolderOf } from '../../src/server-packages/bundle-folder.ts';
import { readManifest } from '../../src/server-packages/manifest.ts';
import { buildZip, manifestText, type ZipEntry } from './zip-builder.ts';

const WORLD: Environment = { env: {}, home: '/home/ada', cwd: '/work', platform: 'linux' };
const server = (type: string, launch?: unknown) => ({
  server: { type, entry_point: 'src/main', ...(launch !== undefined && { mcp_config: launch }) },
});

function entryFrom(
  fields: Record<string, unknown>,
  values: Record<string, string[]> = {},
  given: Partial<Environment> = {},
) {
  const world = { ...WORLD, ...given };
  const manifest = readManifest(manifestText(fields), world.platform);
  const folder = world.platform === 'win32' ? 'C:\\b' : '/b';
  const byId = new Map(Object.entries(values).map(([key, list]) => [`set:${key}`, list]));
  return bundleEntry(manifest, { folder, values: byId, world });
}

const setting = (fields: Record<string, unknown> = {}) => ({ type: 'string', title: 'T', description: 'D', ...fields });

describe('the entry of a bundle', () => {
  test.each(['0.1', '0.2', '0.3', '0.4'])('of version %s has the command of the manifest', (version) => {
    expect(entryFrom({ manifest_version: version })).toEqual({ command: 'node', args: ['/b/server.js'], cwd: '/b' });
    expect(entryFrom({ manifest_version: undefined, dxt_version: version }).command).toBe('node');
  });

  test('has the folders of the user', () => {
    const args = [
      '${HOME}',
      '${DESKTOP}',
      '${DOCUMENTS}',
      '${DOWNLOADS}',
      'a${/}b${pathSeparator}c',
      '${OTHER}',
      '${user_config.gone}',
    ];
    const launch = server('node', { command: 'node', args });
    expect(entryFrom(launch).args).toEqual([
      ...['/home/ada', '/home/ada/Desktop', '/home/ada/Documents', '/home/ada/Downloads', 'a/b/c', '${OTHER}'],
      '${user_config.gone}',
    ]);
    const moved = entryFrom(launch, {}, { env: { XDG_DOCUMENTS_DIR: '/docs' } });
    expect(moved.args).toContain('/docs');
  });

  test('has one argument for each value of a setting, and none for a setting without a value', () => {
    const launch = server('node', {
      command: 'node',
      args: ['${user_config.dirs}', '--x=${user_config.one}', '${user_config.none}', '--list=${user_config.dirs}'],
      env: { ONE: '${user_config.one}', NONE: '${user_config.none}', MIXED: 'a${user_config.none}b' },
    });
    const inputs = {
      dirs: setting({ type: 'directory', multiple: true }),
      one: setting({ default: '${HOME}/x' }),
      none: setting(),
    };
    const entry = entryFrom({ ...launch, user_config: inputs }, { dirs: ['/x', '/y'] });
    expect(entry.args).toEqual(['/x', '/y', '--x=/home/ada/x', '--list=/x,/y']);
    expect(entry.env).toEqual({ ONE: '/home/ada/x', MIXED: 'ab' });
  });

  test('has the overrides of this system', () => {
    const launch = server('python', {
      command: 'python3',
      args: ['main.py'],
      env: { A: '1', B: '1' },
      platform_overrides: { linux: { env: { B: '2' } }, win32: { command: 'py', args: ['-3', 'main.py'] } },
    });
    expect(entryFrom(launch)).toEqual({ command: 'python3', args: ['main.py'], env: { A: '1', B: '2' }, cwd: '/b' });
    expect(entryFrom(launch, {}, { platform: 'win32' })).toMatchObject({ command: 'py', args: ['-3', 'main.py'] });
  });

  test('runs python3 where there is no python', () => {
    const folder = mkdtempSync(join(tmpdir(), 'path-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const launch = server('python', { command: 'python' });
    expect(entryFrom(launch, {}, { env: { PATH: folder } }).command).toBe('python3');
    writeFileSync(join(folder, 'python'), '', { mode: 0o755 });
    expect(entryFrom(launch, {}, { env: { PATH: folder } }).command).toBe('python');
    expect(entryFrom(launch, {}, { env: { PATH: '' }, platform: 'win32' }).command).toBe('python');
  });

  test('runs a binary from the bundle, and Python with uv', () => {
    expect(entryFrom(server('binary', { command: 'bin/tool' })).command).toBe('/b/bin/tool');
    expect(entryFrom(server('binary', { command: '${__dirname}/bin/tool' })).command).toBe('/b/bin/tool');
    expect(entryFrom({ manifest_version: '0.4', ...server('uv') })).toEqual({
      command: 'uv',
      args: ['run', '--directory', '/b', 'src/main'],
      cwd: '/b',
    });
  });
});

test('the texts of a manifest have no escape sequence and no second line', () => {
  const manifest = readManifest(
    manifestText({
      display_name: '\u001b[31mRed\u0007',
      version: '1\n2',
      user_config: { a: setting({ description: 'x\u001b]0;y\u0007\nz' }) },
    }),
    'linux',
  );
  expect(manifest).toMatchObject({ title: '[31mRed', version: '1 2', inputs: [{ doc: 'x]0;y z' }] });
});

test.each<[Record<string, unknown>, RegExp]>([
  [{ manifest_version: '1.0' }, /version "1\.0": mcpx reads 0\.1 to 0\.4/],
  [{ manifest_version: undefined }, /no "manifest_version"/],
  [{ name: '' }, /no "name"/],
  [{ version: 3 }, /no "version"/],
  [{ server: [] }, /"server" is not an object/],
  [server('ruby', { command: 'x' }), /"server\.type" is one of node, python, binary, uv/],
  [server('node'), /"server\.mcp_config" is not an object/],
  [server('node', { args: [] }), /command" is missing/],
  [server('node', { command: 'x', args: 'y' }), /args" is not a list/],
  [server('node', { command: 'x', env: { A: 1 } }), /env" has a value that is not text/],
  [{ user_config: { a: setting({ type: 'colour' }) } }, /"user_config\.a\.type" is one of string, number/],
  [{ user_config: { 'a\u001b[2J': setting() } }, /key with invisible characters/],
])('a manifest with %j is refused', (fields, message) => {
  expect(() => readManifest(manifestText(fields), 'linux')).toThrow(message);
});

describe('the file of a bundle', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function read(...entries: ZipEntry[]) {
    const file = join(folder, 'x.mcpb');
    writeFileSync(file, buildZip(entries));
    return readBundle(file, { platform: 'linux' });
  }

  test.each<[string, ZipEntry[], RegExp]>([
    ['no manifest', [{ path: 'a' }], /no manifest\.json/],
    ['a manifest in a folder', [{ path: 'x/manifest.json', content: manifestText() }], /no manifest\.json/],
    ['a huge manifest', [{ path: 'manifest.json', content: ' '.repeat(1024 * 1024 + 1) }], /larger than 1mb/],
    ['a manifest that is not JSON', [{ path: 'manifest.json', content: '{' }], /manifest\.json is not JSON/],
    [
      'a manifest that lies about its size',
      [{ path: 'manifest.json', content: manifestText(), declared: 5 }],
      /is damaged/,
    ],
    [
      'a missing entry point',
      [{ path: 'manifest.json', content: manifestText() }],
      /entry point "server\.js" is not in it/,
    ],
    [
      'an entry point outside its folder',
      [
        {
          path: 'manifest.json',
          content: manifestText({
            server: { type: 'node', entry_point: '../../evil.js', mcp_config: { command: 'node', args: [] } },
          }),
        },
      ],
      /entry point "\.\.\/\.\.\/evil\.js" cannot be used: it leaves its folder/,
    ],
    ['two manifests', [{ path: 'manifest.json', content: manifestText() }, { path: 'manifest.json' }], /twice/],
  ])('with %s is refused', async (_name, entries, message) => {
    await expect(read(...entries)).rejects.toMatchObject({ code: 'refused', message: expect.stringMatching(message) });
  });

  test('gives its digest and the platforms that it runs on', async () => {
    const content = `\uFEFF${manifestText({ compatibility: { platforms: ['darwin'] } })}`;
    const bundle = await read({ path: 'manifest.json', content }, { path: 'server.js' });
    expect(bundle.sha256).toMatch(/^[\da-f]{64}$/);
    expect(bundle.manifest).toMatchObject({ name: 'notes', title: 'notes', platforms: ['darwin'] });
  });
});

test.skipIf(process.platform === 'win32')(
  'a binary becomes executable, also if the bundle has no modes (needs POSIX modes)',
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'bundle-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const launch = server('binary', { command: '${__dirname}/bin/tool' });
    const file = join(home, 'x.mcpb');
    writeFileSync(
      file,
      buildZip([
        { path: 'manifest.json', content: manifestText(launch) },
        ...['src/main', 'bin/tool', 'data'].map((path) => ({ path, content: 'x' })),
      ]),
    );
    const world = { ...WORLD, home };
    const bundle = await readBundle(file, world);
    const folder = await unpackBundle(bundle, { server: 'x', world, signal: new AbortController().signal });
    const modes = ['src/main', 'bin/tool', 'data'].map((path) => statSync(join(folder, path)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    const again = await unpackBundle(bundle, { server: 'x', world, signal: new AbortController().signal });
    expect(again).toBe(`${folder}-2`);
  },
);

test('what a killed process left half unpacked is removed by the next bundle', async () => {
  const home = mkdtempSync(join(tmpdir(), 'bundle-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const bundles = join(home, '.mcpx', 'bundles');
  for (const name of ['.unpack-old', '.unpack-new', 'kept']) mkdirSync(join(bundles, name), { recursive: true });
  for (const name of ['.unpack-old', 'kept']) utimesSync(join(bundles, name), 1, 1);
  const file = join(home, 'x.mcpb');
  writeFileSync(file, buildZip([{ path: 'manifest.json', content: manifestText() }, { path: 'server.js' }]));
  const world = { ...WORLD, home, platform: process.platform };
  const folder = await unpackBundle(await readBundle(file, world), {
    server: 'x',
    world,
    signal: new AbortController().signal,
  });
  expect(readdirSync(bundles).sort()).toEqual(['.unpack-new', 'kept', basename(folder)]);
});

test('the folder of a bundle is found in the entry of its server, and only below the folder of bundles', () => {
  const base = {
    name: 'x',
    disabled: false,
    env: {},
    envFile: [],
    framing: 'newline' as const,
    place: { file: '', path: [] },
  };
  const rest = {
    timeout: 1,
    startupTimeout: 1,
    concurrency: 1,
    reconnect: { interval: 1, maxRetries: 1 },
    tools: {},
    resources: {},
    prompts: {},
  };
  const found = (command: string, args: string[] = [], cwd?: string) =>
    bundleFolderOf({ ...base, ...rest, type: 'stdio', command, args, ...(cwd !== undefined && { cwd }) }, WORLD);
  const bundles = join('/home/ada', '.mcpx', 'bundles');
  expect(found('node', [join(bundles, 'x-1', 'a.js')])).toBe(join(bundles, 'x-1'));
  expect(found('node', [], join(bundles, 'x-1'))).toBe(join(bundles, 'x-1'));
  expect(found('node', [bundles])).toBeUndefined();
  expect(found('node', [`${bundles}/../secret`])).toBeUndefined();
  expect(found('node', ['/home/ada/x'])).toBeUndefined();
});
