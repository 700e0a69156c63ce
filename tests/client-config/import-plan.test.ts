/** The plan of an import: duplicates, clashes of names, meanings of other clients, literal secrets. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ClientId } from '../../src/client-config/client-table.ts';
import { loadEditor } from '../../src/client-config/edit-text.ts';
import { type FoundServer, serversOfClient, serversOfFile } from '../../src/client-config/found-servers.ts';
import { planImport } from '../../src/client-config/import-plan.ts';
import { moveSecrets, withSecrets } from '../../src/client-config/literal-secrets.ts';
import { readOwnConfig, withServers, writeOwnConfig, writeSecrets } from '../../src/client-config/own-config.ts';
import { resolveLaunch } from '../../src/config/env.ts';
import { loadConfig } from '../../src/config/load.ts';
import { makeFixtureHome } from './fixture-homes.ts';

const { world } = { world: { env: {}, home: '/home/me', cwd: '/work', platform: process.platform } };

const found = (client: ClientId, servers: unknown, key = 'mcpServers', more = {}): FoundServer[] =>
  serversOfClient({ [key]: servers, ...more }, `/home/me/${client}.json`, client).servers;

const plan = (servers: FoundServer[], movesSecrets = false) =>
  planImport(servers, { present: [], world, movesSecrets });
const entries = (servers: FoundServer[]) =>
  Object.fromEntries(plan(servers).additions.map(({ name, entry }) => [name, entry]));

test('the same server of two clients is imported once', () => {
  const one = found('cursor', { files: { command: 'npx', args: ['x'], env: { B: '2', A: '1' } } });
  const two = found('codex', { filesystem: { command: 'npx', args: ['x'], env: { A: '1', B: '2' } } }, 'mcp_servers');
  const { additions, notes } = plan([...one, ...two]);
  expect(additions).toEqual([
    { name: 'files', entry: { command: 'npx', args: ['x'], env: { A: '1', B: '2' } }, found: [one[0], two[0]] },
  ]);
  expect(notes).toEqual([]);
});

test('different servers of one name get different names, and it is said', () => {
  const servers = [
    ...found('cursor', { db: { command: 'a' } }),
    ...found('codex', { db: { command: 'b' } }, 'mcp_servers'),
    ...found('cursor', { db: { command: 'c' } }),
    ...found('cursor', { db: { command: 'd' } }),
  ];
  const { additions, notes } = plan(servers);
  expect(additions.map(({ name }) => name)).toEqual(['db', 'db-codex', 'db-cursor', 'db-2']);
  expect(notes[0]).toBe(
    'server "db" of Codex is imported as "db-codex", because another client has a different server of that name',
  );
});

test('servers of projects are named after their folder', () => {
  const projects = {
    '/srv/shop': { mcpServers: { db: { command: 'b' } } },
    '/srv/blog': { mcpServers: { db: { command: 'b' } } },
  };
  const servers = serversOfClient(
    { mcpServers: { db: { command: 'a' } }, projects },
    '/home/me/.claude.json',
    'claude-code',
  ).servers;
  expect(entries(servers)).toEqual({
    db: { command: 'a' },
    'db-shop': { command: 'b', cwd: '/srv/shop' },
    'db-blog': { command: 'b', cwd: '/srv/blog' },
  });
});

test.each([
  ['cline', { a: { command: 'x', timeout: 60 } }, 'mcpServers', { a: { command: 'x', timeout: '1m' } }],
  [
    'cline',
    { a: { url: 'https://x.example/sse' } },
    'mcpServers',
    { a: { type: 'sse', url: 'https://x.example/sse' } },
  ],
  [
    'roo',
    { a: { type: 'streamable-http', url: 'https://x.example/mcp' } },
    'mcpServers',
    { a: { type: 'http', url: 'https://x.example/mcp' } },
  ],
  [
    'gemini-cli',
    { a: { command: 'x', env: { K: '$TOKEN', L: '%OTHER%' } } },
    'mcpServers',
    { a: { command: 'x', env: { K: '${TOKEN}', L: '${OTHER}' } } },
  ],
  [
    'vscode',
    { a: { command: 'x', env: { K: '${input:key}' }, envFile: '/e' } },
    'servers',
    { a: { command: 'x', env: { K: '${input:key}' }, envFile: ['/e'] } },
  ],
  ['cursor', { a: { command: 'x', disabled: true } }, 'mcpServers', { a: { command: 'x', disabled: true } }],
  [
    'zed',
    { a: { command: { path: 'x', args: ['y'], env: {} } } },
    'context_servers',
    { a: { command: 'x', args: ['y'] } },
  ],
  [
    'goose',
    { a: { type: 'stdio', cmd: 'x', timeout: 300, envs: {} } },
    'extensions',
    { a: { command: 'x', timeout: '5m' } },
  ],
  [
    'opencode',
    { a: { type: 'local', command: ['x', 'y'], enabled: false } },
    'mcp',
    { a: { command: 'x', args: ['y'], disabled: true } },
  ],
] as const)('%s: %j becomes an entry of mcpx', (client, servers, key, expected) => {
  expect(entries(found(client, servers, key))).toEqual(expected);
});

test('Kimi Code: timeouts, filters and the variable of a token are carried over', () => {
  const servers = {
    a: {
      transport: 'stdio',
      command: 'x',
      startupTimeoutMs: 30_000,
      toolTimeoutMs: 90_000,
      enabledTools: ['r_*'],
      disabledTools: ['r_x'],
    },
    b: { transport: 'http', url: 'https://x.example/mcp', bearerTokenEnvVar: 'TOKEN' },
  };
  const kimi = found('kimi-code', servers);
  expect(entries(kimi)).toEqual({
    a: { command: 'x', startupTimeout: '30s', timeout: '90s', tools: { allow: ['r_*'], deny: ['r_x'] } },
    b: { type: 'http', url: 'https://x.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
  });
  expect(plan(kimi).notes).toEqual([]);
});

test('Gemini CLI: an excluded server is imported as disabled', () => {
  expect(entries(found('gemini-cli', { a: { command: 'x' } }, 'mcpServers', { mcp: { excluded: ['a'] } }))).toEqual({
    a: { command: 'x', disabled: true },
  });
});

test('parts that are not carried over are named, and entries that cannot run are left where they are', () => {
  const { servers, skipped, own } = serversOfClient(
    {
      mcpServers: {
        a: { command: 'x', autoApprove: ['t'] },
        b: { url: 'https://x.example', headers: { K: '${{ secrets.MY_KEY }}' } },
        broken: { args: [] },
        mcpx: { command: '/usr/bin/mcpx', args: ['serve'] },
        other: { command: 'C:\\mcpx.exe', args: ['serve', '--profile', 'p'] },
      },
    },
    '/home/me/x.json',
    'cline',
  );
  expect(plan(servers).notes).toEqual([
    '"autoApprove" of server "a" is ignored: the client approves calls, mcpx does not',
    'server "b": the secret "MY_KEY" of the client is now the variable MY_KEY, which has to be set',
  ]);
  expect(servers[1]?.spec).toMatchObject({ headers: { K: '${MY_KEY}' } });
  expect(skipped).toEqual([{ name: 'broken', reason: 'server "broken" has neither "command" nor "url"' }]);
  expect(own.map(({ path }) => path.at(-1))).toEqual(['mcpx', 'other']);
});

test('literal secrets move to the secrets file and come back at launch', async () => {
  const home = makeFixtureHome();
  const entry = {
    command: 'npx',
    args: ['-y', '--api-key', 'abcdef123456', 'https://user:p4ssw0rd99@host.example/x'],
    env: { GITHUB_TOKEN: `it's "quoted"`, LOG_LEVEL: 'debug', REF: '${ALREADY}', NOTE: 'hello' },
  };
  const servers = [
    ...serversOfFile({ mcpServers: { gh: entry } }, '/f.json').servers,
    ...serversOfFile(
      { mcpServers: { web: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer tok-1234567890' } } } },
      '/g.json',
    ).servers,
  ];
  const { additions, secrets } = planImport(servers, { present: [], world: home.world, movesSecrets: true });
  const written = JSON.stringify(additions.map((addition) => addition.entry));
  for (const secret of ['abcdef123456', 'p4ssw0rd99', 'quoted', 'tok-1234567890'])
    expect(written).not.toContain(secret);
  expect(additions[0]?.entry).toMatchObject({ env: { LOG_LEVEL: 'debug', REF: '${ALREADY}', NOTE: 'hello' } });
  expect(additions[1]?.entry).toMatchObject({ headers: { Authorization: 'Bearer ${input:web-Authorization}' } });

  await writeSecrets(secrets, home.world);
  const config = readOwnConfig([], home.world);
  await writeOwnConfig(config, withServers(config, additions, home.world).after, home.world);
  expect(statSync(join(home.own, 'secrets.env')).mode & 0o777).toBe(0o600);
  expect(readFileSync(config.file, 'utf8')).toContain('// The MCP servers');
  const context = { ...home.world, env: { ALREADY: 'set' }, inheritEnv: 'none' as const };
  const [gh, web] = loadConfig({ ...home.world, files: [config.file] }).config.profiles[0]!.servers;
  expect(resolveLaunch(gh!, context)).toMatchObject({ args: entry.args, env: { ...entry.env, REF: 'set' } });
  expect(resolveLaunch(web!, context)).toMatchObject({ headers: { Authorization: 'Bearer tok-1234567890' } });

  const again = planImport(servers, {
    present: readOwnConfig([], home.world).servers,
    world: home.world,
    movesSecrets: true,
  });
  expect(again.additions).toEqual([]);
  expect(again.known.map(({ name }) => name)).toEqual(['gh', 'web']);
});

test('lines of the secrets file stay, and a variable is replaced', () => {
  const text = withSecrets('# mine\nA=1\nMCPX_INPUT_B="old"\n', [{ variable: 'MCPX_INPUT_B', value: 'new' }]);
  expect(text).toBe("# mine\nA=1\nMCPX_INPUT_B='new'\n");
});

test('every secret of one URL moves', () => {
  const { entry, secrets } = moveSecrets('s', { url: 'https://me:pass-word-1@x.example/mcp?token=abc123def456' });
  expect(entry).toEqual({ url: 'https://me:${input:s-url-2}@x.example/mcp?token=${input:s-url}' });
  expect(secrets.map(({ value }) => value)).toEqual(['abc123def456', 'pass-word-1']);
});

test('two secrets whose names become one variable stay apart', () => {
  const { secrets } = moveSecrets('s', { env: { 'API-KEY': 'first-value-1', API_KEY: 'second-value-2' } });
  expect(new Set(secrets.map(({ variable }) => variable)).size).toBe(2);
});

test.each([
  ['json', '{"mcpServers": {"a": {"command": "x"}}}'],
  ['json', '{"a": {"command": "x"}}'],
  ['toml', '[mcp_servers.a]\ncommand = "x"\n'],
  ['yaml', 'mcpServers:\n  - name: a\n    command: x\n'],
] as const)('servers are read from any %s file', async (format, text) => {
  const data = (await loadEditor(format)).parse(text, 'f');
  expect(serversOfFile(data, 'f').servers.map(({ name, spec }) => [name, 'command' in spec && spec.command])).toEqual([
    ['a', 'x'],
  ]);
});

test('a file without servers is an error', () => {
  expect(() => serversOfFile({ a: 1 }, '/f.json')).toThrow('"/f.json" holds no servers');
  expect(() => serversOfFile([], '/f.json')).toThrow('"/f.json" holds no servers');
});
