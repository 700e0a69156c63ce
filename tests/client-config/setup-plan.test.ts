/** Every client, in the layout of three systems: its servers are read, mcpx is connected, the servers are taken out, and all of it is undone. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { applyEdits, applyUndo, planUndo } from '../../src/client-config/apply-edits.ts';
import { installedClients, installedPlaces, placesFor } from '../../src/client-config/client-places.ts';
import { CLIENT_IDS, type ClientId } from '../../src/client-config/client-table.ts';
import { loadEditor } from '../../src/client-config/edit-text.ts';
import { serversOfClient } from '../../src/client-config/found-servers.ts';
import type { Start } from '../../src/client-config/own-entry.ts';
import { planSetup, readClient } from '../../src/client-config/setup-plan.ts';
import { openJournal } from '../../src/client-config/undo-journal.ts';
import { FIXTURES, type FixtureHome, makeFixtureHome, SYSTEMS } from './fixture-homes.ts';

const START: Start = { command: '/opt/mcpx', args: ['serve'], env: {} };

const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Connects mcpx to the client and takes out all of its servers. */
async function connect({ world, own }: FixtureHome, client: ClientId, replace = true) {
  const [place] = installedPlaces(client, world).filter(({ isMain }) => isMain);
  const state = await readClient(place!);
  const edit = await planSetup(state, { start: START, remove: replace ? state.servers : [] });
  const journal = openJournal(own);
  const applied = edit === undefined ? [] : await applyEdits([edit], journal);
  return { state, edit, applied, journal };
}

async function contentsOf(file: string, client: ClientId) {
  const format = file.endsWith('.toml') ? 'toml' : file.endsWith('.yaml') ? 'yaml' : 'json';
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  return serversOfClient((await loadEditor(format)).parse(text, file), file, client);
}

const VARIANTS: [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['with a byte order mark', (text) => `\uFEFF${text}`],
  ['with CRLF', (text) => text.replaceAll('\n', '\r\n')],
];

describe.each(SYSTEMS)('in the layout of %s', (system) => {
  describe.each(VARIANTS)('a file %s', (_, vary) => {
    test.each(CLIENT_IDS)('%s is connected, and undone byte for byte', async (client) => {
      const home = makeFixtureHome(system);
      const { file: files, text } = FIXTURES[client];
      const file = home.write(files[system], vary(text));
      expect(installedClients(home.world)).toContain(client);
      const before = sha256(file);

      const { state, applied, journal } = await connect(home, client);
      expect(state.place.file).toBe(file);
      expect(state.skipped).toEqual([]);
      expect(state.servers.map(({ name }) => name)).toEqual(['files', 'web']);
      const [files_, web] = state.servers.map(({ spec }) => spec);
      expect(files_).toMatchObject({
        type: 'stdio',
        command: 'npx',
        args: ['-y', '@x/files', '/data'],
        env: { LEVEL: 'debug' },
      });
      expect(web).toMatchObject({ url: 'https://web.example/mcp' });

      expect(applied).toEqual([expect.objectContaining({ backup: expect.any(String) })]);
      const after = readFileSync(file, 'utf8');
      const now = await contentsOf(file, client);
      expect(now.servers).toEqual([]);
      expect(now.own).toHaveLength(1);
      expect(JSON.stringify(now.own[0]?.value)).toContain('/opt/mcpx');
      expect(after).toMatch(/keep"?(?:: | = )\[1, {2}2\]/);
      expect(after).toContain('mine');
      expect(after).toContain('the second');
      expect(after.startsWith('\uFEFF')).toBe(vary(text).startsWith('\uFEFF'));
      if (vary(text).includes('\r\n')) expect(after).not.toMatch(/(?<!\r)\n/);

      const again = await connect(home, client);
      expect(again.edit).toBeUndefined();

      await applyUndo(await planUndo(journal, [client]), journal);
      expect(sha256(file)).toBe(before);
      expect(journal.entries()).toEqual([]);
    });
  });

  test.each(CLIENT_IDS)('%s without a file gets one, and loses it by undo', async (client) => {
    const home = makeFixtureHome(system);
    const [place] = placesFor(client, 'user', home.world);
    expect(place?.exists).toBe(false);
    const edit = await planSetup(await readClient(place!), { start: START, remove: [] });
    const journal = openJournal(home.own);
    await applyEdits([edit!], journal);
    expect((await contentsOf(place!.file, client)).own).toHaveLength(1);
    await applyUndo(await planUndo(journal, [client]), journal);
    expect(existsSync(place!.file)).toBe(false);
  });
});

test.each(CLIENT_IDS)(
  '%s: an entry for another copy of mcpx is updated and keeps what the user added',
  async (client) => {
    const home = makeFixtureHome();
    const { file: files, text } = FIXTURES[client];
    const file = home.write(files.linux, text);
    await connect(home, client, false);
    const old = readFileSync(file, 'utf8').replaceAll('/opt/mcpx', '/old/mcpx');
    home.write(files.linux, old);
    await connect(home, client, false);
    const { own, servers } = await contentsOf(file, client);
    expect(JSON.stringify(own)).toContain('/opt/mcpx');
    expect(own).toHaveLength(1);
    expect(servers).toHaveLength(2);
  },
);

test('the arguments of an existing entry stay', async () => {
  const home = makeFixtureHome();
  const entry = { command: '/old/mcpx', args: ['serve', '--profile', 'work'], env: { A: '1' }, timeout: 5000 };
  const file = home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { gateway: entry } }));
  await connect(home, 'cursor');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    mcpServers: { gateway: { ...entry, command: '/opt/mcpx' } },
  });
});

test.each([
  [
    'cursor',
    '.cursor/mcp.json',
    '{"mcpServers": {"mcpx": {"command": "/old/mcpx", "args": ["serve"], "disabled": true, "env": {"A": "1"}}}}',
    { mcpServers: { mcpx: { command: '/opt/mcpx', args: ['serve'], env: { A: '1', MCPX_HOME: '/h' } } } },
  ],
  [
    'opencode',
    '.config/opencode/opencode.json',
    '{"mcp": {"mcpx": {"type": "local", "command": ["/old/mcpx", "serve"], "enabled": false, "environment": {"A": "1"}}}}',
    {
      mcp: {
        mcpx: {
          type: 'local',
          command: ['/opt/mcpx', 'serve'],
          enabled: true,
          environment: { A: '1', MCPX_HOME: '/h' },
        },
      },
    },
  ],
  [
    'cursor',
    '.cursor/mcp.json',
    '{"mcpServers": {"mcpx": {"url": "http://127.0.0.1:3095/mcp"}}}',
    { mcpServers: { mcpx: { url: 'http://127.0.0.1:3095/mcp' } } },
  ],
] as const)(
  '%s: an entry that is switched off is switched on, and one over HTTP stays',
  async (client, path, text, expected) => {
    const home = makeFixtureHome();
    const file = home.write(path, text);
    const [place] = installedPlaces(client, home.world);
    const edit = await planSetup(await readClient(place!), {
      start: { ...START, env: { MCPX_HOME: '/h' } },
      remove: [],
    });
    if (edit !== undefined) await applyEdits([edit], openJournal(home.own));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(expected);
  },
);

test('Claude Code loads mcpx always', async () => {
  const home = makeFixtureHome();
  const file = home.write('.claude.json', '{"numStartups": 3}');
  await connect(home, 'claude-code');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    numStartups: 3,
    mcpServers: { mcpx: { type: 'stdio', command: '/opt/mcpx', args: ['serve'], alwaysLoad: true } },
  });
});

test('servers of single projects of Claude Code are found with their folder', async () => {
  const home = makeFixtureHome();
  const file = home.write(
    '.claude.json',
    JSON.stringify({ projects: { '/srv/shop': { mcpServers: { db: { command: './db' } } } } }),
  );
  const { state } = await connect(home, 'claude-code');
  expect(state.servers).toEqual([
    expect.objectContaining({
      name: 'db',
      project: '/srv/shop',
      spec: expect.objectContaining({ cwd: '/srv/shop' }),
    }),
  ]);
  expect(JSON.parse(readFileSync(file, 'utf8')).projects['/srv/shop'].mcpServers).toEqual({});
});

test.each([
  [
    'opencode',
    '.config/opencode/opencode.json',
    '{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}}}',
    ['mcp', 'servers', 'mcpx'],
  ],
  [
    'opencode',
    '.config/opencode/opencode.jsonc',
    '{"mcp": {"a": {"type": "local", "command": ["x"]}}}',
    ['mcp', 'mcpx'],
  ],
  ['copilot-cli', '.copilot/mcp-config.json', '{"a": {"type": "local", "command": "x", "args": []}}', ['mcpx']],
  ['continue', '.continue/mcpServers/mcpx.json', '{}', ['mcpServers', 'mcpx']],
] as const)('%s: %s with %s has its entry at %j', async (client, path, text, expected) => {
  const home = makeFixtureHome();
  home.write(path, text);
  const { edit } = await connect(home, client, false);
  expect(edit?.changes.map((change) => change.path)).toEqual([[...expected]]);
});

test('Continue keeps servers in several files, and mcpx in one', async () => {
  const home = makeFixtureHome();
  home.write('.continue/config.yaml', FIXTURES.continue.text);
  home.write('.continue/mcpServers/one.yaml', 'name: one\nversion: 1\nmcpServers:\n  - name: one\n    command: one\n');
  home.write('.continue/mcpServers/two.json', '{"mcpServers": {"two": {"command": "two"}}}');
  const places = installedPlaces('continue', home.world);
  expect(places.map(({ isMain }) => isMain)).toEqual([true, false, false]);
  const states = await Promise.all(places.map(readClient));
  expect(states.flatMap(({ servers }) => servers.map(({ name }) => name))).toEqual(['files', 'web', 'one', 'two']);
});

test.each([
  ['codex', { CODEX_HOME: '/x/codex' }, '/x/codex/config.toml'],
  ['copilot-cli', { COPILOT_HOME: '/x/copilot' }, '/x/copilot/mcp-config.json'],
  ['claude-code', { CLAUDE_CONFIG_DIR: '/x/claude' }, '/x/claude/.claude.json'],
  ['kimi-code', { KIMI_CODE_HOME: '/x/kimi' }, '/x/kimi/mcp.json'],
  ['grok', { GROK_HOME: '/x/grok' }, '/x/grok/config.toml'],
  ['cline-cli', { CLINE_DIR: '/x/cline' }, '/x/cline/data/settings/cline_mcp_settings.json'],
  ['amp', { XDG_CONFIG_HOME: '/x/config' }, '/x/config/amp/settings.json'],
  ['claude-desktop', { XDG_CONFIG_HOME: '/x/config' }, '/x/config/Claude/claude_desktop_config.json'],
] as const)('%s follows %j', (client, env, file) => {
  const { world } = makeFixtureHome('linux', env);
  expect(placesFor(client, 'user', world)[0]?.file).toBe(join(file));
});

test('Windows paths have backslashes, and Claude Desktop of the Microsoft Store is found', () => {
  const env = { APPDATA: 'C:\\Users\\me\\AppData\\Roaming', LOCALAPPDATA: 'C:\\Users\\me\\AppData\\Local' };
  const world = { env, home: 'C:\\Users\\me', cwd: 'C:\\', platform: 'win32' as const };
  expect(placesFor('vscode', 'user', world)[0]?.file).toBe('C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json');
  expect(placesFor('cursor', 'user', world)[0]?.file).toBe('C:\\Users\\me\\.cursor\\mcp.json');
  const home = makeFixtureHome('win32');
  const store = 'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json';
  const file = home.write(store, '{}');
  expect(installedPlaces('claude-desktop', home.world).map((place) => place.file)).toEqual([file]);
});

test('the file of a project is in the working directory', () => {
  const { world } = makeFixtureHome();
  const file = (client: ClientId) => placesFor(client, 'project', world)[0]?.file;
  expect(file('cursor')).toBe(join(world.cwd, '.cursor/mcp.json'));
  expect(file('claude-code')).toBe(join(world.cwd, '.mcp.json'));
  expect(file('claude-desktop')).toBeUndefined();
});
