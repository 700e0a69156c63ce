/** The launch of a server: placeholders, env files, the inherited environment, paths. */
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SERVER_DEFAULTS, type ServerSpec } from '../../src/config/config.ts';
import { type Launch, missingVariables, resolveLaunch, resolveTokens } from '../../src/config/env.ts';
import { inputVariable } from '../../src/config/expander.ts';
import { expand, hasPlaceholder } from '../../src/config/placeholders.ts';
import { createHome, failure } from './world.ts';

const BASE = { name: 's', disabled: false, ...SERVER_DEFAULTS, tools: {}, resources: {}, prompts: {} };

function stdio(fields: object, file = '/etc/mcpx/config.json'): ServerSpec {
  const place = { file, path: ['mcpServers', 's'] };
  return { ...BASE, type: 'stdio', command: 'x', args: [], env: {}, envFile: [], framing: 'newline', place, ...fields };
}

function remote(fields: object): ServerSpec {
  return {
    ...BASE,
    type: 'http',
    url: 'https://example.com',
    headers: {},
    place: { file: '/c.json', path: [] },
    ...fields,
  };
}

const CONTEXT = { inheritEnv: 'none', env: {}, home: '/home/me', cwd: '/folder', platform: 'linux' } as const;

function launch(spec: ServerSpec, context: object = {}): Extract<Launch, { type: 'stdio' }> {
  const { secrets: _, ...resolved } = resolveLaunch(spec, { ...CONTEXT, ...context });
  return resolved as Extract<Launch, { type: 'stdio' }>;
}

/** One argument, expanded. */
function arg(text: string, context: object = {}): string | undefined {
  return launch(stdio({ args: [text] }), context).args[0];
}

describe('placeholders', () => {
  const env = { A: '1', EMPTY: '', PASS: '${A} $env:A {env:A}', lower: 'l' };

  test.each([
    ['${A}', '1'],
    ['x${A}y${A}z', 'x1y1z'],
    ['${EMPTY}', ''],
    ['${NOPE:-default}', 'default'],
    ['${EMPTY:-used when empty}', 'used when empty'],
    ['${A:-unused}', '1'],
    ['${NOPE:-}', ''],
    ['${NOPE:-a:-b}', 'a:-b'],
    ['${env:A}', '1'],
    ['${env:NOPE:-x}', 'x'],
    ['$env:A', '1'],
    ['$env:A/rest', '1/rest'],
    ['{env:A}', '1'],
    ['${userHome}/x', '/home/me/x'],
    ['${workspaceFolder}', '/folder'],
    ['${workspaceFolderBasename}', 'folder'],
    ['${cwd}', '/folder'],
    ['a${pathSeparator}b${/}c', 'a/b/c'],
    ['${configDir}', '/etc/mcpx'],
    ['$${A}', '${A}'],
    ['$${A} ${A}', '${A} 1'],
    ['$A %A% ${', '$A %A% ${'],
    ['{"env": {"A": 1}}', '{"env": {"A": 1}}'],
    ['${a.b} ${} ${1}', '${a.b} ${} ${1}'],
    ['${PASS}', '${A} $env:A {env:A}'],
  ])('%s becomes %s', (text, expected) => {
    expect(arg(text, { env })).toBe(expected);
  });

  test('${workspaceFolder} is the first root of the client where it sent one', () => {
    expect(arg('${workspaceFolder}:${workspaceFolderBasename}', { workspaceFolder: '/repo/app' })).toBe(
      '/repo/app:app',
    );
  });

  test.each(['{file:secret.txt}', '${file:secret.txt}', '${file:./secret.txt}', '{file:~/cfg/secret.txt}'])(
    '%s is the text of that file without its last line break',
    (text) => {
      const home = createHome();
      home.write('cfg/secret.txt', '\uFEFFs3cret ${A}\r\n');
      const spec = stdio({ args: [text] }, home.path('cfg/config.json'));
      expect(launch(spec, { env, home: home.folder, platform: process.platform }).args).toEqual(['s3cret ${A}']);
    },
  );

  test('${input:id} comes from the environment, then from the secrets file', () => {
    const home = createHome();
    const context = { env: {}, home: home.folder, platform: process.platform };
    const spec = stdio({ args: ['${input:gh-token}', '${input:plain}'] });
    expect(missingVariables(spec, { ...CONTEXT, ...context })).toEqual(['MCPX_INPUT_GH_TOKEN', 'MCPX_INPUT_PLAIN']);
    home.write('.mcpx/secrets.env', 'MCPX_INPUT_GH_TOKEN=from-file\nplain="by id"\n');
    expect(launch(spec, context).args).toEqual(['from-file', 'by id']);
    expect(launch(spec, { ...context, env: { MCPX_INPUT_GH_TOKEN: 'from-env' } }).args[0]).toBe('from-env');
    expect(inputVariable('a.b-c d')).toBe('MCPX_INPUT_A_B_C_D');
  });

  test('the secrets file moves with MCPX_HOME', () => {
    const home = createHome();
    home.write('moved/secrets.env', 'k=v\n');
    const context = { env: { MCPX_HOME: home.path('moved') }, platform: process.platform };
    expect(arg('${input:k}', context)).toBe('v');
  });

  test.each(['${cmd: op read x}', '${{ secrets.X }}', '${command:x}', '${A:-${B}}'])(
    '%s is refused by name',
    (text) => {
      const error = failure(() => arg(text, { env }));
      expect(error.message).toContain('which mcpx does not expand');
      expect(error.hint).toContain('$${');
    },
  );

  test('names are case-insensitive on Windows only', () => {
    expect(arg('${path}', { env: { Path: 'C:\\bin' }, platform: 'win32' })).toBe('C:\\bin');
    expect(missingVariables(stdio({ args: ['${path}'] }), { ...CONTEXT, env: { Path: 'x' } })).toEqual(['path']);
    expect(arg('${ProgramFiles(x86)}', { env: { 'ProgramFiles(x86)': 'P' }, platform: 'win32' })).toBe('P');
    expect(arg('a${/}b', { platform: 'win32' })).toBe('a\\b');
  });

  const values = (known: Record<string, string>) => ({
    variable: (name: string) => (Object.hasOwn(known, name) ? known[name] : undefined),
    input: () => undefined,
    file: () => undefined,
    named: new Map<string, string>(),
  });
  const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);

  test('property: a text without placeholders is left alone', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        if (!hasPlaceholder(text)) expect(expand(text, values({})).text).toBe(text);
      }),
    );
  });

  test('property: escaped, any text comes back as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', ':', '-') }), (text) => {
        expect(
          expand(
            text.replaceAll('${', () => '$${'),
            values({}),
          ),
        ).toEqual({ text, gaps: [] });
      }),
    );
  });

  test('property: one pass: a value is never looked into', () => {
    fc.assert(
      fc.property(name, fc.string(), fc.string({ unit: fc.constantFrom('a', ' ', '/') }), (key, value, around) => {
        const { text } = expand(`${around}\${${key}}${around}{env:${key}}`, values({ [key]: value }));
        expect(text).toBe(`${around}${value}${around}${value}`);
      }),
    );
  });

  test('property: every missing variable is named, and only those', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 6 }), fc.uniqueArray(name, { maxLength: 6 }), (used, set) => {
        const known = Object.fromEntries(set.map((key) => [key, 'v']));
        const { gaps } = expand(used.map((key) => `\${${key}}`).join(' '), values(known));
        expect(gaps.map((gap) => gap.name)).toEqual(used.filter((key) => !set.includes(key)));
      }),
    );
  });
});

describe('a server whose variables are missing', () => {
  test('names every one of them, once, with a command to run', () => {
    const spec = stdio({
      command: '${CMD}',
      args: ['${B}', '${CMD}'],
      env: { X: '${env:C}', Y: null },
      cwd: '${D}',
      envFile: ['${E}'],
    });
    const error = failure(() => launch(spec));
    expect(error.message).toBe('server "s" needs CMD, B, C, E and D, which are not set');
    expect(error.hint).toBe(
      'export CMD=… B=… C=… E=… D=…, and restart mcpx if it is running; or write ${file:path} in the config, which is read at every start of the server',
    );
    expect(error.data).toEqual({ missing: ['CMD', 'B', 'C', 'E', 'D'] });
    expect(missingVariables(spec, CONTEXT)).toEqual(['CMD', 'B', 'C', 'E', 'D']);
  });

  test('of another kind says so too', () => {
    const spec = remote({
      url: 'https://${HOST}',
      headers: { A: 'Bearer {env:TOKEN}', B: '{file:/nowhere/x}' },
      oauth: { clientSecret: '${S}', scopes: ['${T}'], n: 1 },
    });
    expect(failure(() => launch(spec)).message).toBe(
      'server "s" needs HOST, TOKEN, S and T, which are not set, and needs the file "/nowhere/x", which cannot be read',
    );
    expect(failure(() => launch(remote({ headers: { A: '{file:/nowhere/x}' } }))).hint).toContain('create the file');
    expect(failure(() => launch(stdio({ args: ['${A}', '${B}'] }), { platform: 'win32' })).hint).toMatch(
      /^set A=… && set B=…, and restart mcpx if it is running; or write \$\{file:path\}/,
    );
  });

  test('an empty value is a value', () => {
    expect(missingVariables(stdio({ args: ['${A}'] }), { ...CONTEXT, env: { A: '' } })).toEqual([]);
  });
});

describe('rule 6: the inherited environment', () => {
  const env = {
    ...{ HOME: 'h', LOGNAME: 'l', PATH: 'p', SHELL: 's', TERM: 't', USER: 'u' },
    ...{ http_proxy: '1', HTTPS_PROXY: '2', no_proxy: '3', NODE_EXTRA_CA_CERTS: '4', SSL_CERT_FILE: '5' },
    ...{ LANG: 'zh_CN.UTF-8', LC_ALL: 'C', TZ: 'UTC', TMPDIR: '/t', XDG_CACHE_HOME: '/c', npm_config_registry: 'r' },
    ...{ NPM_CONFIG_CACHE: 'n', UV_INDEX_URL: 'u', PIP_INDEX_URL: 'p' },
  };
  const others = {
    ...{
      AWS_SECRET_ACCESS_KEY: 'x',
      GITHUB_TOKEN: 'x',
      NODE_OPTIONS: 'x',
      LD_PRELOAD: 'x',
      SSH_AUTH_SOCK: 'x',
      APPDATA: 'a',
    },
  };
  const own = { MCPX_TOKEN: 'secret', MCPX_INPUT_A: 'secret' };
  const envWith = (inheritEnv: unknown, more: object = {}) =>
    launch(stdio({}), { inheritEnv, env: { ...env, ...others, ...own }, ...more }).env;

  test('safe: who and where one is, proxies, CAs, locale, temp, XDG, package mirrors', () => {
    expect(envWith('safe')).toEqual(env);
  });

  test('safe on Windows: the Windows ones too, whatever their case', () => {
    const given = {
      Path: 'p',
      SystemRoot: 'C:\\Windows',
      APPDATA: 'a',
      'ProgramFiles(x86)': 'x',
      Secret: 's',
      windir: 'w',
      TEMP: 't',
    };
    const { Secret: _, ...expected } = given;
    expect(envWith('safe', { env: given, platform: 'win32' })).toEqual(expected);
  });

  test('all, none, a list of names and of beginnings', () => {
    expect(envWith('all')).toEqual({ ...env, ...others });
    expect(envWith('none')).toEqual({});
    expect(envWith(['GITHUB_TOKEN', 'AWS_*', 'MCPX_TOKEN'])).toEqual({ AWS_SECRET_ACCESS_KEY: 'x', GITHUB_TOKEN: 'x' });
  });

  test('a function that a shell exported is not passed on', () => {
    expect(envWith('all', { env: { A: '() { :; }', B: 'b' } })).toEqual({ B: 'b' });
  });

  test('on Windows Path and PATH are one variable', () => {
    const spec = stdio({ env: { PATH: 'mine', Gone: null } });
    const context = { inheritEnv: 'all', env: { Path: 'theirs', GONE: 'x' }, platform: 'win32' };
    expect(launch(spec, context).env).toEqual({ Path: 'mine' });
    expect(launch(spec, { ...context, platform: 'linux' }).env).toEqual({ Path: 'theirs', PATH: 'mine', GONE: 'x' });
  });

  test('a variable may be called __proto__', () => {
    const spec = stdio({ env: JSON.parse('{"__proto__": "x"}') });
    expect(Object.entries(launch(spec).env)).toEqual([['__proto__', 'x']]);
  });
});

describe('rule 11: relative paths belong to the file that defines them', () => {
  test.each([
    [{ command: './bin/server' }, 'command', '/etc/mcpx/bin/server'],
    [{ command: 'bin/server' }, 'command', '/etc/mcpx/bin/server'],
    [{ command: '~/bin/server' }, 'command', '/home/me/bin/server'],
    [{ command: '/abs/server' }, 'command', '/abs/server'],
    [{ command: 'server' }, 'command', 'server'],
    [{ cwd: 'sub' }, 'cwd', '/etc/mcpx/sub'],
    [{ cwd: '${userHome}' }, 'cwd', '/home/me'],
    [{ cwd: '~' }, 'cwd', '/home/me'],
    [{}, 'cwd', undefined],
  ] as const)('%j: %s is %s', (fields, key, expected) => {
    expect(launch(stdio(fields))[key]).toBe(expected);
  });

  test('a module too', () => {
    const spec: ServerSpec = {
      ...BASE,
      type: 'module',
      module: './tools.mjs',
      place: { file: '/etc/mcpx/config.json', path: [] },
    };
    expect(launch(spec)).toEqual({ type: 'module', module: '/etc/mcpx/tools.mjs', env: {} });
  });

  test('without a file they belong to the working directory', () => {
    expect(launch(stdio({ command: './x' }, '')).command).toBe('/folder/x');
  });

  test('on Windows with backslashes', () => {
    const spec = (command: string) => stdio({ command }, 'C:\\cfg\\config.json');
    expect(launch(spec('.\\x.exe'), { platform: 'win32' }).command).toBe('C:\\cfg\\x.exe');
    expect(launch(spec('x.exe'), { platform: 'win32' }).command).toBe('x.exe');
  });
});

test('a secrets file that cannot be read is named', () => {
  const home = createHome();
  home.write('.mcpx/secrets.env/inner', 'a folder where the file should be');
  const context = { home: home.folder, platform: process.platform };
  expect(failure(() => arg('${input:x}', context)).message).toBe(
    `the secrets in "${home.path(join('.mcpx', 'secrets.env'))}" cannot be read`,
  );
});

test('an env file that cannot be read is named', () => {
  const error = failure(() => launch(stdio({ envFile: ['nowhere.env'] })));
  expect(error.message).toBe('env file "/etc/mcpx/nowhere.env" of server "s" cannot be read');
  expect(error.code).toBe('config');
});

test('an env file may begin with a byte order mark', () => {
  const home = createHome();
  home.write('a.env', '\uFEFFA=1\n');
  const spec = stdio({ envFile: ['a.env'] }, home.path('config.json'));
  expect(launch(spec, { platform: process.platform }).env).toEqual({ A: '1' });
});

test('a command that expands to nothing is an error', () => {
  expect(failure(() => launch(stdio({ command: '${A}' }), { env: { A: ' ' } })).message).toBe(
    'server "s" has an empty command',
  );
});

test('a remote server gets its URL, headers and OAuth client expanded', () => {
  const spec = remote({
    url: '${BASE}/mcp',
    headers: { Authorization: 'Bearer $env:T' },
    oauth: { clientId: null, clientSecret: '${T}' },
  });
  expect(launch(spec, { env: { BASE: 'https://a.example', T: 'tok' } })).toEqual({
    type: 'http',
    url: 'https://a.example/mcp',
    headers: { Authorization: 'Bearer tok' },
    oauth: { clientId: null, clientSecret: 'tok' },
  });
});

test('a URL that is wrong once expanded is told as written, without its secrets', () => {
  const error = failure(() => launch(remote({ url: '${SECRET}' }), { env: { SECRET: 'not a url' } }));
  expect(error.message).toBe('the URL of server "s" is not valid: "${SECRET}"');
});

test('a builtin server needs nothing', () => {
  const spec: ServerSpec = { ...BASE, type: 'builtin', builtin: 'time', place: { file: '', path: [] } };
  expect(launch(spec)).toEqual({ type: 'builtin', builtin: 'time' });
  expect(missingVariables(spec, { inheritEnv: 'safe' })).toEqual([]);
});

describe('HTTP tokens', () => {
  const token = { name: 'ci', token: '${CI_TOKEN}', tools: {}, resources: {}, prompts: {}, admin: false };

  test('get their secrets, from files relative to the config too', () => {
    const home = createHome();
    home.write('token', 'from-file\n');
    const place = { file: join(home.folder, 'config.json'), path: [] };
    const tokens = [token, { ...token, token: '{file:token}', place }];
    const resolved = resolveTokens(tokens, { env: { CI_TOKEN: 'abc' } });
    const { token: _, ...rest } = token;
    expect(resolved).toEqual([
      { ...rest, secret: 'abc' },
      { ...rest, secret: 'from-file' },
    ]);
  });

  test('without a secret are an error, never an open door', () => {
    expect(failure(() => resolveTokens([token], { env: {} })).message).toBe(
      'token "ci" needs CI_TOKEN, which is not set',
    );
    expect(failure(() => resolveTokens([token], { env: { CI_TOKEN: '' } })).message).toBe('token "ci" is empty');
  });

  test('a token that cannot be sent, or that two of the file share, is an error', () => {
    const place = { file: '/c.json', path: [] };
    const named = (name: string, token: string, more = {}) => ({
      ...{ name, token, tools: {}, resources: {}, prompts: {}, admin: false },
      ...more,
    });
    for (const secret of ['two words', 'ünï', 'line\nbreak'])
      expect(failure(() => resolveTokens([named('a', secret)], { env: {} })).message).toBe(
        'token "a" has characters that an HTTP header cannot carry',
      );
    const [a, b] = [named('a', 'x', { place }), named('b', '${B}', { place })];
    expect(failure(() => resolveTokens([a, b], { env: { B: 'x' } })).message).toBe(
      'token "b" has the same secret as "a"',
    );
    const shell = named('MCPX_TOKEN', '${B}');
    expect(resolveTokens([a, shell], { env: { B: 'x' } })).toHaveLength(2);
  });
});
