/** Every rule of the config file that concerns reading, by its number and in its own words. */
import { chmodSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { mainProfile, type StdioServer } from '../../src/config/config.ts';
import { resolveLaunch } from '../../src/config/env.ts';
import { createHome, failure, type Home, serversOf } from './world.ts';

function loadAll(home: Home, ...documents: object[]) {
  return home.load({ files: documents.map((document, index) => home.write(`${index}.json`, document)) });
}

/** The warnings of one document, as text. */
function warningsOf(document: object | string, options = {}): string[] {
  const home = createHome();
  const config = home.load({ files: [home.write('config.json', document)], ...options });
  return config.warnings.map(({ message, hint }) => `${message}${hint === undefined ? '' : ` (${hint})`}`);
}

function errorOf(document: object | string, options = {}) {
  const home = createHome();
  return failure(() => home.load({ files: [home.write('config.json', document)], ...options }));
}

describe('rule 1: the same name twice in one file', () => {
  test('identical, whatever the case, is one server', () => {
    const document = {
      mcpServers: { GitHub: { command: 'x', args: [] } },
      mcp_servers: [{ name: 'github', command: 'x' }],
    };
    expect([...serversOf(document).keys()]).toEqual(['GitHub']);
  });

  test('identical under the very same key is one server and no warning', () => {
    expect(warningsOf('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "x"}}}')).toEqual([]);
  });

  test('different is an error that names both places', () => {
    const { message } = errorOf('{"mcpServers": {\n"a": {"command": "x"},\n"A": {"command": "y"}}}');
    expect(message).toMatch(/first at .*config\.json:2:1\n {2}at .*config\.json:3:1\n/);
  });

  test('in two profiles the same name may mean different things', () => {
    const home = createHome();
    const profile = (command: string) => ({ mcpServers: { fs: { command } } });
    const { profiles } = loadAll(home, { schemas: { one: profile('a'), two: profile('b') } });
    expect(profiles.map(({ servers }) => (servers[0] as StdioServer).command)).toEqual(['a', 'b']);
  });
});

describe('rule 2: with several files', () => {
  test('a later file replaces the whole entry of that name', () => {
    const config = loadAll(
      createHome(),
      { mcpServers: { a: { command: 'x', env: { A: '1' }, timeout: '5s' }, b: { command: 'b' } } },
      { mcpServers: { A: { command: 'y' } } },
    );
    const [first, second] = config.profiles[0]?.servers ?? [];
    expect(first).toMatchObject({ name: 'A', command: 'y', env: {}, timeout: 600_000 });
    expect(second?.name).toBe('b');
  });

  test('limits.callTimeout of any file holds for servers without a timeout of their own', () => {
    const config = loadAll(
      createHome(),
      { mcpServers: { a: { command: 'x', timeout: '5s' }, b: { command: 'b' } } },
      { limits: { callTimeout: '2m' }, profiles: { p: { servers: ['*'], mcpServers: { c: { command: 'c' } } } } },
    );
    const timeouts = config.profiles[0]?.servers.map(({ name, timeout }) => [name, timeout]);
    expect(timeouts).toEqual([
      ['a', 5000],
      ['b', 120_000],
      ['c', 120_000],
    ]);
  });

  test('an entry that is only {"disabled": true} switches the lower one off', () => {
    const off = [{ disabled: true }, { enabled: false }];
    for (const entry of off) {
      const config = loadAll(createHome(), { mcpServers: { a: { command: 'x' } } }, { mcpServers: { a: entry } });
      expect(config.profiles[0]?.servers).toMatchObject([{ name: 'a', command: 'x', disabled: true }]);
    }
  });

  test('switching off what no earlier file defines is only a warning', () => {
    expect(warningsOf({ mcpServers: { a: { disabled: true } } })).toEqual([
      'server "a" is disabled, but no earlier file defines it',
    ]);
  });

  test('settings merge one by one, lists are replaced, profiles are replaced as a whole', () => {
    const config = loadAll(
      createHome(),
      {
        http: { port: 1, hosts: ['a'] },
        mcpServers: { x: { command: 'x' } },
        profiles: { p: { tools: { deny: ['a'] } } },
      },
      { http: { hosts: ['b'] }, profiles: { P: { servers: ['x'] } } },
    );
    expect(config.settings.http).toMatchObject({ port: 1, hosts: ['b'] });
    expect(config.profiles).toMatchObject([{ name: 'P', tools: {} }]);
  });

  test('what a shape implies gives way to what any file says', () => {
    const config = loadAll(createHome(), { naming: { separator: '_' } }, { servers: [{ id: 'a', command: ['x'] }] });
    expect(config.settings.naming.separator).toBe('_');
  });
});

describe('rule 3: the type', () => {
  test.each([
    [{ command: 'x' }, 'stdio'],
    [{ url: 'https://example.com' }, 'auto'],
    [{ httpUrl: 'https://example.com' }, 'http'],
    [{ module: './x.mjs' }, 'module'],
    [{ builtin: 'math' }, 'builtin'],
    [{ type: 'LOCAL', command: 'x' }, 'stdio'],
    [{ type: 'Streamable-HTTP', url: 'https://example.com' }, 'http'],
    [{ type: 'remote', url: 'https://example.com' }, 'http'],
    [{ type: 'websocket', url: 'ws://example.com' }, 'ws'],
    [{ type: 'http', url: 'https://example.com', command: 'x' }, 'http'],
  ])('%j is of type %s', (entry, type) => {
    expect(serversOf({ mcpServers: { math: entry } }).get('math')?.type).toBe(type);
  });

  test('command and URL together need a type', () => {
    expect(errorOf({ mcpServers: { a: { command: 'x', url: 'https://example.com' } } }).hint).toContain('"type"');
  });

  test('two URL fields that disagree are an error', () => {
    const { message } = errorOf({ mcpServers: { a: { url: 'https://a.example', uri: 'https://b.example' } } });
    expect(message).toMatch(/^"url" and "uri" have different values\n/);
  });

  test('an unknown type lists the known ones', () => {
    const { message } = errorOf({ mcpServers: { a: { type: 'grpc', url: 'https://a.example' } } });
    expect(message).toContain('the types are stdio, http, sse, ws, auto, module and builtin');
  });

  test('a built-in server of an earlier version is an error that says what to do', () => {
    const { message, hint } = errorOf({ mcpServers: { json: { type: 'builtin' } } });
    expect(message).toMatch(/^there is no builtin server "json" any more/);
    expect(hint).toBe(
      'the toolboxes are time, math and memory; remove the entry of server "json", or run an MCP server from npm instead',
    );
  });

  test('a type without what it needs says so', () => {
    expect(errorOf({ mcpServers: { a: { type: 'sse', uri1: 'x' } } }).message).toMatch(
      /^server "a" of type "sse" needs "url"/,
    );
    expect(errorOf({ mcpServers: { a: { type: 'module', modul: 'x' } } }).hint).toBe(
      'did you mean "module" instead of "modul"?',
    );
  });
});

describe('rule 4: a command with spaces', () => {
  test('no args and no slash in its first word: split on spaces with a warning', () => {
    const spec = serversOf({ mcpServers: { a: { command: ' npx  -y foo ' } } }).get('a');
    expect(spec).toMatchObject({ command: 'npx', args: ['-y', 'foo'] });
    expect(warningsOf({ mcpServers: { a: { command: 'npx -y foo' } } })[0]).toContain('was split at its spaces');
  });

  test.each([
    [{ command: '/opt/my tools/run' }, '/opt/my tools/run', []],
    [{ command: 'C:\\Program Files\\x.exe' }, 'C:\\Program Files\\x.exe', []],
    [{ command: 'my tool', args: ['a'] }, 'my tool', ['a']],
    [{ command: ['my tool', 'a b'], args: ['c'] }, 'my tool', ['a b', 'c']],
  ])('%j stays whole', (entry, command, args) => {
    expect(serversOf({ mcpServers: { a: entry } }).get('a')).toMatchObject({ command, args });
  });

  test('no shell, ever: shell characters are ordinary text', () => {
    expect(serversOf({ mcpServers: { a: { command: 'echo $HOME;rm' } } }).get('a')).toMatchObject({
      command: 'echo',
      args: ['$HOME;rm'],
    });
  });
});

describe('rule 5: variables', () => {
  function envOf(home: Home, entry: object, env: Record<string, string>): Record<string, string> {
    const config = home.load({ files: [home.write('config.json', { mcpServers: { a: { command: 'x', ...entry } } })] });
    const launch = resolveLaunch(config.profiles[0]?.servers[0] as StdioServer, {
      inheritEnv: 'all',
      env,
      home: home.folder,
    });
    return (launch as { env: Record<string, string> }).env;
  }

  test('env > later envFile > earlier envFile > inherited, and null removes', () => {
    const home = createHome();
    home.write('one.env', 'A=one\nB=one\nC=one\nGONE_TOO=x\n');
    home.write('two.env', 'export A="two"\nB=two # note\n');
    const entry = { envFile: ['./one.env', 'two.env'], env: { A: 'own', GONE: null, GONE_TOO: null } };
    const inherited = { A: 'inherited', B: 'inherited', C: 'inherited', D: 'inherited', GONE: 'x' };
    expect(envOf(home, entry, inherited)).toEqual({ A: 'own', B: 'two', C: 'one', D: 'inherited' });
  });

  test('env_vars and env_keys become "${X}" and give way to env', () => {
    const spec = serversOf({
      mcp_servers: { a: { command: 'x', env: { A: 'own' }, env_vars: ['A', 'B'], env_keys: ['C'] } },
    }).get('a');
    expect(spec).toMatchObject({ env: { A: 'own', B: '${B}', C: '${C}' } });
  });

  test('two maps of variables that contradict each other are an error', () => {
    const { message } = errorOf({ mcpServers: { a: { command: 'x', env: { A: '1' }, environment: { A: '2' } } } });
    expect(message).toMatch(/^"env" and "environment" have different values/);
  });
});

test('rule 7: enabled and disabled that contradict are an error, and agree quietly otherwise', () => {
  expect(errorOf({ mcpServers: { a: { command: 'x', enabled: false, disabled: false } } }).message).toContain(
    'contradict',
  );
  const agreed = {
    a: { command: 'x', enabled: false, disabled: true },
    b: { command: 'x', enabled: true, disabled: false },
  };
  expect([...serversOf({ mcpServers: agreed }).values()].map(({ disabled }) => disabled)).toEqual([true, false]);
  expect(warningsOf({ mcpServers: agreed })).toEqual([]);
});

test('rule 8: a bare timeout below 1000 earns the warning that it is milliseconds', () => {
  expect(warningsOf({ mcpServers: { a: { command: 'x', timeout: 999 } } })).toEqual([
    '"timeout" of server "a" is 999 milliseconds (write "999s" if you meant seconds)',
  ]);
  for (const timeout of [1000, '500ms', '1s']) {
    expect(warningsOf({ mcpServers: { a: { command: 'x', timeout } } })).toEqual([]);
  }
  expect(warningsOf({ mcp_servers: { a: { command: 'x', tool_timeout_sec: 60 } } })).toEqual([]);
});

describe('rule 9: server names', () => {
  test.each(['a', 'A1', '9lives', 'with_under-score', 'x'.repeat(64), '天气', 'naïve café', 'a:b'])(
    '%s is a name',
    (name) => {
      const spec = serversOf({ mcpServers: { [name]: { command: 'x' } } }).get(name);
      expect(spec).toBeDefined();
      expect(spec?.title).toBeUndefined();
    },
  );

  test.each([
    ['a.b', 'a-b'],
    [' spaced  out ', 'spaced-out'],
    ['--flag', 'flag'],
    ['a/b:c', 'a-b:c'],
    ['x'.repeat(70), 'x'.repeat(64)],
  ])('%j is changed and keeps its own as title', (title, name) => {
    expect(serversOf({ mcpServers: { [title]: { command: 'x' } } }).get(name)).toMatchObject({ name, title });
  });

  test('names of tools get an ASCII form of it, another one for every server of a profile', () => {
    const config = loadAll(createHome(), {
      mcpServers: { 天气: { command: 'x' }, 'server-1': { command: 'x' }, 'Wetter 天气': { command: 'x' } },
      profiles: { p: { servers: ['*'], mcpServers: { 天気: { command: 'x' }, 'Wetter 天気': { command: 'x' } } } },
    });
    const labels = config.profiles[0]?.servers.map(({ name, label }) => label ?? name);
    expect(labels).toEqual(['server-2', 'server-1', 'Wetter', 'server-4', 'Wetter-5']);
  });
});

describe('rule 10: an entry that would start this executable, or whose URL is our own, is skipped with a warning', () => {
  function kept(entry: object, self: object, { home = createHome(), http = {} } = {}) {
    const document = { mcpServers: { loop: entry, other: { command: 'other' } }, http };
    const config = home.load({
      files: [home.write('config.json', document)],
      self: { execPath: '/nowhere/mcpx', ...self },
    });
    expect(config.warnings.length).toBe(config.profiles[0]?.servers.length === 1 ? 1 : 0);
    return config.profiles[0]?.servers.map(({ name }) => name);
  }

  test('by path, through links, and by name on PATH', () => {
    const home = createHome();
    const mcpx = home.write('bin/mcpx', '');
    chmodSync(mcpx, 0o755);
    symlinkSync(mcpx, home.path('link'));
    const self = { execPath: mcpx };
    expect(kept({ command: mcpx, args: ['serve'] }, self, { home })).toEqual(['other']);
    expect(kept({ command: './bin/mcpx' }, self, { home })).toEqual(['other']);
    expect(kept({ command: './link' }, self, { home })).toEqual(['other']);
    const withPath = {
      ...home,
      load: (options = {}) => home.load({ ...options, env: { PATH: `/none:${home.path('bin')}` } }),
    };
    expect(kept({ command: 'mcpx' }, self, { home: withPath })).toEqual(['other']);
    expect(kept({ command: 'mcpx' }, { execPath: '/elsewhere/mcpx' }, { home: withPath })).toEqual(['loop', 'other']);
  });

  test('node is us only with our own script', () => {
    const self = { execPath: '/usr/bin/node', script: '/app/mcpx.cjs' };
    expect(kept({ command: '/usr/bin/node', args: ['/app/mcpx.cjs', 'serve'] }, self)).toEqual(['other']);
    expect(kept({ command: '/usr/bin/node', args: ['/app/other.js'] }, self)).toEqual(['loop', 'other']);
  });

  test('node without a Node on PATH is the executable of this process', () => {
    const home = createHome();
    const withPath = { ...home, load: (options = {}) => home.load({ ...options, env: { PATH: home.path('none') } }) };
    const embedded = { execPath: '/opt/mcpx', script: '/app/mcpx.cjs' };
    const entry = { command: 'node', args: ['/app/mcpx.cjs'] };
    expect(kept(entry, embedded, { home: withPath })).toEqual(['other']);
    expect(kept({ ...entry, args: ['/app/server.js'] }, embedded, { home: withPath })).toEqual(['loop', 'other']);
    expect(kept(entry, { execPath: '/opt/mcpx' }, { home: withPath })).toEqual(['loop', 'other']);
  });

  test.each<[url: string, host: string, port: number, loop: boolean]>([
    ['http://localhost:3095/mcp', '127.0.0.1', 3095, true],
    ['http://[::1]:3095/mcp/work', '127.0.0.1', 3095, true],
    ['http://localhost:4000/mcp', '::1', 4000, true],
    ['http://localhost:3096/mcp', '127.0.0.1', 3095, false],
    ['https://example.com:3095/mcp', '127.0.0.1', 3095, false],
    ['http://${HOST}:3095/mcp', '127.0.0.1', 3095, false],
    ['https://example.com/mcp', 'example.com', 443, true],
    ['http://example.com/mcp', 'example.com', 80, true],
  ])('%s where this process serves at %s:%i: %s', (url, host, port, loop) => {
    const http = { host, port };
    expect(kept({ url }, { http: true }, { http })).toEqual(loop ? ['other'] : ['loop', 'other']);
    expect(kept({ url }, {}, { http })).toEqual(['loop', 'other']);
  });

  test.runIf(process.platform === 'win32')('on Windows with the endings of PATHEXT', () => {
    const home = createHome();
    const execPath = home.write('mcpx.EXE', '');
    const env = { Path: home.folder, PATHEXT: '.COM;.EXE' };
    const load = (options = {}) => home.load({ ...options, env, platform: 'win32' });
    expect(kept({ command: 'mcpx' }, { execPath }, { home: { ...home, load } })).toEqual(['other']);
  });
});

describe('rule 12: unknown keys', () => {
  test('are ignored with a warning that has a place and the nearest known key', () => {
    const home = createHome();
    const file = home.write('config.json', '{\n  "mcpServers": {"a": {"command": "x", "arg": []}},\n  "conect": {}\n}');
    const { warnings } = home.load({ files: [file] });
    expect(warnings).toMatchObject([
      { message: 'unknown key "arg" in server "a"', hint: 'did you mean "args"?', line: 2, column: 40 },
      { message: 'unknown key "conect"', hint: 'did you mean "connect"?', line: 3, column: 3 },
    ]);
  });

  test('--strict makes them errors', () => {
    const document = { mcpServers: { a: { command: 'x', arg: [] } }, http: { prot: 1 } };
    expect(errorOf(document, { strict: true }).message).toContain('there are 2 mistakes');
  });

  test('keys starting x-, _ or // are silent everywhere, even with --strict', () => {
    const notes = { 'x-a': 1, _b: 2, '//': 3, '// c': 4 };
    const document = {
      ...notes,
      mcpServers: { a: { command: 'x', ...notes }, ...notes },
      profiles: { default: { servers: ['*'], ...notes }, ...notes },
      http: { ...notes, auth: { tokens: [{ name: 'n', token: 't', ...notes }] } },
    };
    expect(warningsOf(document, { strict: true })).toEqual([]);
  });
});

test('rule 14: a bad file is an error of code config with file:line:column, the line, a caret and a hint', () => {
  const error = errorOf('{\n  "http": { "port": 70000 }\n}');
  expect(error.code).toBe('config');
  expect(error.message.replace(/at .*config/, 'at config')).toBe(
    [
      '"http.port" must be a whole number from 0 to 65535, not 70000',
      '  at config.json:2:21',
      '  2 |   "http": { "port": 70000 }',
      '    |                     ^^^^^',
    ].join('\n'),
  );
  expect(error.hint).toBe('the port; 0 picks a free one');
  expect(error.data).toMatchObject([{ path: ['http', 'port'], line: 2, column: 21 }]);
});

describe('rule 15: profiles', () => {
  test('"*" means the top-level servers; its own always belong to it and to no other', () => {
    const config = loadAll(createHome(), {
      mcpServers: { a: { command: 'a' }, b: { command: 'b' } },
      profiles: {
        all: { servers: ['*'] },
        some: { servers: ['B'] },
        own: { mcpServers: { c: { command: 'c' } } },
        both: { servers: ['*'], mcpServers: { a: { command: 'own-a' } } },
        none: { servers: [] },
        neither: {},
      },
    });
    const names = config.profiles.map(({ name, servers }) => [name, servers.map((spec) => spec.name).join()]);
    expect(Object.fromEntries(names)).toEqual({
      all: 'a,b',
      some: 'b',
      own: 'c',
      both: 'b,a',
      none: '',
      neither: 'a,b',
    });
  });

  test.each(['servers', 'status', 'reload', 'events', 'openapi.json'])('%s is a reserved name', (name) => {
    expect(errorOf({ profiles: { [name]: {} } }).message).toContain(`a profile cannot be called "${name}"`);
  });

  test('a server may be named by its title', () => {
    const config = loadAll(createHome(), {
      mcpServers: { 'my.files': { command: 'x' } },
      profiles: { p: { servers: ['my.files'] } },
    });
    expect(config.profiles[0]?.servers[0]?.name).toBe('my-files');
  });

  test('a server in no profile is warned about', () => {
    const document = { mcpServers: { a: { command: 'x' }, b: { command: 'x' } }, profiles: { p: { servers: ['a'] } } };
    expect(warningsOf(document)[0]).toMatch(/^server "b" is in no profile/);
  });

  test('without a name the main one is default, else the first that is enabled', () => {
    const profiles = (names: object) => loadAll(createHome(), { profiles: names });
    expect(mainProfile(profiles({ a: {}, default: {} }))?.name).toBe('default');
    expect(mainProfile(profiles({ a: { enabled: false }, b: {}, c: {} }))?.name).toBe('b');
    expect(mainProfile(profiles({ a: { enabled: false } }))).toBeUndefined();
  });
});

test('rule 16: reconnect.interval is the first delay and maxRetries bounds the tries', () => {
  const entry = { url: 'https://example.com', reconnect: { interval: '2s', maxRetries: 3 } };
  expect(serversOf({ mcpServers: { a: entry } }).get('a')?.reconnect).toEqual({ interval: 2000, maxRetries: 3 });
  const other = { url: 'https://example.com', reconnectInterval: 250 };
  expect(serversOf({ mcpServers: { a: other } }).get('a')?.reconnect).toEqual({ interval: 250, maxRetries: 10 });
});

test('rule 18: normalise first: a typo in "command" is told once', () => {
  const error = errorOf({ mcpServers: { a: { commnad: 'npx', args: ['-y'] } } });
  expect(error.message.split('\n')[0]).toBe('server "a" has neither "command" nor "url"');
  expect(error.hint).toBe('did you mean "command" instead of "commnad"?');
});

describe('separators that some clients refuse', () => {
  const message = (separator: string) =>
    `tool names contain "${separator}", which Claude Desktop and OpenAI models reject (every client accepts "__" as "naming.separator")`;
  const list = { servers: [{ id: 'a', command: ['x'] }] };
  test.each<[title: string, document: object, expected: string[]]>([
    ['is written down', { naming: { separator: '.' } }, [message('.')]],
    [
      'is that of the shape, and tools are shown under such names',
      { ...list, front: { kind: 'aggregate' } },
      [message('::')],
    ],
    ['is that of the shape, and no tool is', list, []],
    ['is between nothing', { naming: { separator: '::', style: 'plain' } }, []],
    ['is taken by all', { naming: { separator: '-' } }, []],
  ])('a warning where it %s, else none', (_, document, expected) => {
    expect(warningsOf(document)).toEqual(expected);
  });

  test('the warning says where', () => {
    const home = createHome();
    const file = home.write('config.json', '{\n  "naming": { "separator": "." }\n}');
    expect(home.load({ files: [file] }).warnings).toMatchObject([{ line: 2, column: 28 }]);
  });
});
