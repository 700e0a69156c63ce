/** Servers are added with the executable: commands, URLs, a server.json, and bundles that the official packer made or that attack. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { buildZip, manifestText, type ZipEntry } from '../server-packages/zip-builder.ts';
import {
  EXECUTABLE,
  emptyPlace,
  fixture,
  type Place,
  run,
  serverScript,
  start,
  startHttp,
  WINDOWS,
} from './program.ts';
import { HAS_TERMINAL, onTerminal } from './pseudo-terminal.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const node = process.execPath;
const homeOf = (place: Place) => join(place.env.HOME ?? '', '.mcpx');
const bundlesOf = (place: Place) => {
  const folder = join(homeOf(place), 'bundles');
  return existsSync(folder) ? readdirSync(folder) : [];
};

test('real servers are added in an empty home, and work at once', { timeout: 120_000 }, async () => {
  const place = emptyPlace();
  symlinkSync(join(ROOT, 'node_modules'), join(place.cwd, 'node_modules'), 'junction');
  const offline = { ...place, env: { ...place.env, npm_config_offline: 'true' } };
  const npx = await run(['add', 'all', '--', 'npx', '-y', '@modelcontextprotocol/server-everything'], offline);
  expect(npx.stdout).toMatch(/^all: \d+ tools, \d+ ms\n$/);
  expect(npx.stderr).toContain(`added server "all" to ${join(homeOf(place), 'config.json')}`);
  const files = await run(['add', 'files', '--', node, serverScript('server-filesystem'), '.'], place);
  expect(files.stderr).toContain(`"." is relative, so the server runs in ${place.cwd}`);
  expect(files.stdout).toMatch(/^files: 14 tools/);
  writeFileSync(join(place.cwd, 'a.txt'), 'found');
  const elsewhere = { ...place, cwd: dirname(place.cwd) };
  const read = await run(['exec', 'files.read_text_file', `path=${join(place.cwd, 'a.txt')}`], elsewhere);
  expect(read.stdout).toContain('found');
});

test('an exported server works in a client', async () => {
  const place = emptyPlace();
  await run(['add', 'echo', '-e', 'A=1', '--', node, fixture('stdio.mjs')], place);
  const exported = await run(['export'], place);
  const { command, args, env } = JSON.parse(exported.stdout).mcpServers.echo;
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  await client.close();
});

test('a URL is tried, and a failure is classified', async () => {
  const place = emptyPlace();
  const { port, kill } = await startHttp();
  const url = `http://127.0.0.1:${port}/mcp`;
  const added = await run(['add', 'far', url, '-H', 'X-Team: blue'], place);
  expect(added.stdout).toMatch(/^far: 7 tools, \d+ ms\n$/);
  expect(JSON.parse((await run(['exec', 'far.headers'], place)).stdout)).toMatchObject({ 'x-team': 'blue' });
  await kill();
  const dead = await run(['add', 'dead', url], place);
  expect(dead.code).toBe(4);
  expect(dead.stderr).toMatch(
    /error: server "dead" [\s\S]*\n\nserver "dead" stays in the config; mcpx remove dead takes it out\n$/,
  );
});

test('a gateway with "watch" has a server as soon as it is added', async () => {
  const place = emptyPlace();
  await run(['add', 'one', '--no-check', '--', node, fixture('stdio.mjs')], place);
  const gateway = start(['serve', '--http', '--port', '0', '--watch'], place);
  await gateway.wrote('stderr', /listening on/);
  await run(['add', 'two', '--no-check', '--', node, fixture('stdio.mjs')], place);
  await gateway.wrote('stderr', 'added "two"');
  await run(['remove', 'one'], place);
  await gateway.wrote('stderr', 'removed "one"');
  gateway.child.kill('SIGTERM');
  await gateway.finished;
});

const SERVER = `
const lines = require('node:readline').createInterface({ input: process.stdin });
const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const { KEY, SYSTEM } = process.env;
  if (method === 'initialize') send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } });
  else if (method === 'tools/list') send(id, { tools: [{ name: 'show', inputSchema: { type: 'object' } }] });
  else if (method === 'tools/call') send(id, { content: [{ type: 'text', text: JSON.stringify({ args: process.argv.slice(2), KEY, SYSTEM, cwd: process.cwd() }) }] });
  else if (id !== undefined) send(id, {});
});
`;

const NOTES = {
  server: {
    type: 'node',
    entry_point: 'server/index.js',
    mcp_config: {
      command: 'node',
      args: ['${__dirname}/server/index.js', '${user_config.folders}', '${HOME}', '${user_config.none}'],
      env: { KEY: '${user_config.api_key}', SYSTEM: 'any' },
      platform_overrides: { [process.platform]: { env: { SYSTEM: 'this' } } },
    },
  },
  user_config: {
    folders: { type: 'directory', title: 'Folders', description: 'Folders with notes', multiple: true, required: true },
    api_key: { type: 'string', title: 'Key', description: 'The key', sensitive: true, required: true },
    none: { type: 'string', title: 'None', description: 'Not needed' },
  },
};

/** Packs a bundle with the program that authors use. */
function pack(place: Place, version: string): string {
  const folder = join(place.cwd, 'source');
  mkdirSync(join(folder, 'server'), { recursive: true });
  writeFileSync(join(folder, 'manifest.json'), manifestText({ ...NOTES, manifest_version: version }));
  writeFileSync(join(folder, 'server', 'index.js'), SERVER);
  writeFileSync(join(folder, 'server', 'tool.sh'), '#!/bin/sh\n', { mode: 0o755 });
  const file = join(place.cwd, 'notes.mcpb');
  const packer = join(ROOT, 'node_modules', '@anthropic-ai', 'mcpb', 'dist', 'cli', 'cli.js');
  execFileSync(node, [packer, 'pack', folder, file], { stdio: 'pipe', env: place.env });
  return file;
}

test.each(['0.2', '0.3', '0.4'])('a bundle of the official packer runs: manifest %s', async (version) => {
  const place = emptyPlace();
  const file = pack(place, version);
  const asked = await run(['add', file], place);
  expect(asked.code).toBe(2);
  expect(asked.stderr).toContain(`hint: mcpx add notes ${file} --set folders=… --set api_key=…`);
  expect(bundlesOf(place)).toEqual([]);
  const secret = 'sk-live-abcdefgh12345678abcd';
  const words = ['add', './notes.mcpb', '--set', 'folders=.', '--set', 'folders=/b', '--set', `api_key=${secret}`];
  const added = await run(words, place);
  expect(added.stdout).toMatch(/^notes: 1 tool, \d+ ms\n$/);
  expect(added.stderr).toMatch(/notes 1\.0\.0, sha256 [\da-f]{64}\n/);
  const [name = ''] = bundlesOf(place);
  const folder = join(homeOf(place), 'bundles', name);
  const shown = JSON.parse((await run(['exec', 'notes.show'], place)).stdout);
  expect(shown).toEqual({ args: [place.cwd, '/b', place.env.HOME], KEY: secret, SYSTEM: 'this', cwd: folder });
  expect(readFileSync(join(homeOf(place), 'config.json'), 'utf8') + added.stdout + added.stderr).not.toContain(secret);
  if (!WINDOWS) {
    expect(statSync(join(homeOf(place), 'secrets.env')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'server', 'tool.sh')).mode & 0o777).toBe(0o700);
  }
  const removed = await run(['remove', 'notes'], place);
  expect(removed.stderr).toContain(`removed the folder of its bundle: ${folder}`);
  expect(bundlesOf(place)).toEqual([]);
});

const manifest: ZipEntry = { path: 'manifest.json', content: manifestText() };
const HOSTILE: [name: string, entries: ZipEntry[], reason: string][] = [
  ['a path that leaves its folder', [manifest, { path: '../../../evil', content: 'x' }], 'it leaves its folder'],
  ['an absolute path', [manifest, { path: '/tmp/evil-of-mcpx', content: 'x' }], 'it is absolute'],
  [
    'a symbolic link',
    [manifest, { path: 'a', content: '/etc', mode: 0o120777 }, { path: 'a/evil', content: 'x' }],
    'it is a symbolic link',
  ],
  ['a bomb', [manifest, { path: 'zero', content: Buffer.alloc(48 * 1024 * 1024) }], 'more than 100 times its size'],
  [
    'a false size',
    [manifest, { path: 'server.js', content: 'x'.repeat(100_000), declared: 10 }],
    '"server.js" is damaged',
  ],
  ['one path twice', [manifest, { path: 'a' }, { path: 'a' }], 'it has "a" twice'],
  ['no manifest', [{ path: 'a' }], 'it has no manifest.json'],
  [
    'a huge manifest',
    [{ path: 'manifest.json', content: ' '.repeat(2 * 1024 * 1024) }],
    'manifest.json is larger than 1mb',
  ],
  [
    'another version',
    [{ path: 'manifest.json', content: manifestText({ manifest_version: '9.0' }) }],
    'mcpx reads 0.1 to 0.4',
  ],
];

test.each(HOSTILE)('a bundle with %s is refused, and leaves nothing behind', async (_name, entries, reason) => {
  const place = emptyPlace();
  writeFileSync(join(place.cwd, 'x.mcpb'), buildZip(entries));
  const added = await run(['add', './x.mcpb'], place);
  expect(added.stderr).toContain(reason);
  expect(added.stderr).toContain('mcpx has written nothing');
  expect(added.code).toBe(1);
  expect(bundlesOf(place)).toEqual([]);
  expect(existsSync(join(homeOf(place), 'config.json'))).toBe(false);
  for (const path of [join(place.cwd, '..', 'evil'), '/tmp/evil-of-mcpx', join(place.env.HOME ?? '', 'evil')]) {
    expect(existsSync(path)).toBe(false);
  }
});

test.runIf(HAS_TERMINAL)(
  'values of a bundle are asked for on a terminal, where script is installed; secrets are not shown',
  async () => {
    const place = emptyPlace();
    const file = pack(place, '0.3');
    const terminal = onTerminal([EXECUTABLE, 'add', file], place);
    await terminal.until(/folders \(Folders with notes\), an empty line ends the list: /);
    terminal.type('/a\r');
    await terminal.until(/(?:ends the list: [\s\S]*){2}/);
    terminal.type('\r');
    await terminal.until(/api_key \(The key\): /);
    terminal.type('s3cret-value\r');
    const { code, shown } = await terminal.finished;
    expect(code).toBe(0);
    expect(shown).toMatch(/notes: 1 tool, \d+ ms/);
    expect(shown).not.toContain('s3cret-value');
    expect(readFileSync(join(homeOf(place), 'secrets.env'), 'utf8')).toBe("MCPX_INPUT_NOTES_API_KEY='s3cret-value'\n");
  },
);

test.runIf(HAS_TERMINAL)('Ctrl-C at a question adds nothing, where script is installed', async () => {
  const place = emptyPlace();
  const terminal = onTerminal([EXECUTABLE, 'add', pack(place, '0.3')], place);
  await terminal.until(/folders .*: /);
  terminal.type('\x03');
  const { code, shown } = await terminal.finished;
  expect(code).toBe(130);
  expect(shown).toContain('interrupted: nothing was added');
  expect(bundlesOf(place)).toEqual([]);
  expect(existsSync(join(homeOf(place), 'config.json'))).toBe(false);
});
