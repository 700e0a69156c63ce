/** From files, environment and flags to one Config: which files, which value wins, what is said. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS, mainProfile } from '../../src/config/config.ts';
import { warningText } from '../../src/config/diagnostics.ts';
import { demoConfig, loadConfig } from '../../src/config/load.ts';
import { createHome, failure } from './world.ts';

const ONE = { mcpServers: { one: { command: 'one' } } };
const TWO = { mcpServers: { two: { command: 'two' } } };

function names(config: ReturnType<typeof demoConfig>): string[] {
  return config.profiles.flatMap(({ servers }) => servers.map(({ name }) => name));
}

describe('the files', () => {
  test('~/.mcpx/config.json is the default place', () => {
    const home = createHome();
    const file = home.write('.mcpx/config.json', ONE);
    const config = home.load();
    expect(config.files).toEqual([file]);
    expect(names(config)).toEqual(['one']);
  });

  test('MCPX_HOME moves the folder', () => {
    const home = createHome({ MCPX_HOME: 'elsewhere' });
    home.write('.mcpx/config.json', ONE);
    home.write('elsewhere/config.json', TWO);
    expect(names(home.load())).toEqual(['two']);
  });

  test('MCPX_CONFIG names another file, and --config wins over it', () => {
    const home = createHome({ MCPX_CONFIG: 'named.json' });
    home.write('.mcpx/config.json', ONE);
    home.write('named.json', TWO);
    home.write('flag.json', { mcpServers: { three: { command: 'three' } } });
    expect(names(home.load())).toEqual(['two']);
    expect(names(home.load({ files: ['flag.json'] }))).toEqual(['three']);
  });

  test('several --config are merged, the last one on top', () => {
    const home = createHome();
    home.write('one.json', ONE);
    home.write('two.json', TWO);
    const config = home.load({ files: ['one.json', 'two.json'] });
    expect(names(config)).toEqual(['one', 'two']);
    expect(config.files).toEqual([home.path('one.json'), home.path('two.json')]);
  });

  test('~/.mcps-proxy/config.json is read when it is the only one', () => {
    const home = createHome();
    home.write('.mcps-proxy/config.json', { schemas: { default: ONE } });
    expect(names(home.load())).toEqual(['one']);
    expect(names(home.load({ env: { MCPX_HOME: home.path('moved') } }))).toEqual([]);
    home.write('.mcpx/config.json', TWO);
    expect(names(home.load())).toEqual(['two']);
  });

  test('a config in the working directory is never loaded by itself', () => {
    const home = createHome();
    for (const name of ['config.json', 'mcpx.json', '.mcp.json', '.mcpx.json']) home.write(name, ONE);
    expect(names(home.load())).toEqual([]);
  });

  test('with no file at all there is one empty profile and the defaults', () => {
    const config = createHome().load();
    expect(config).toEqual({
      files: [],
      settings: DEFAULTS,
      profiles: [{ name: 'default', enabled: true, servers: [], tools: {}, resources: {}, prompts: {} }],
      warnings: [],
    });
    expect(config.settings).not.toBe(DEFAULTS);
    expect(config.settings.http).not.toBe(DEFAULTS.http);
  });

  test('a named file that does not exist, or is a folder, is an error', () => {
    const home = createHome({ MCPX_CONFIG: 'nowhere.json' });
    expect(failure(() => home.load())).toMatchObject({
      code: 'config',
      message: `config file "${home.path('nowhere.json')}" does not exist`,
      hint: 'create it with the text {"mcpServers": {}}, or name another file with --config or MCPX_CONFIG',
    });
    expect(failure(() => home.load({ files: ['.'], bootstrap: true })).message).toBe(
      `config file "${home.folder}" is a folder`,
    );
  });

  test('the real surroundings are used when none are given', () => {
    expect(loadConfig().config.files).toEqual([]);
  });
});

describe('file < environment < flags', () => {
  const FILE = {
    http: { host: '127.0.0.2', port: 1 },
    front: { kind: 'aggregate' },
    log: { level: 'error', file: 'a.log' },
    offline: false,
    profiles: { a: { front: 'aggregate' }, b: {} },
  };
  const ENV = {
    ...{
      MCPX_HOST: '127.0.0.3',
      MCPX_PORT: '2',
      MCPX_FRONT: 'compact',
      MCPX_LOG_LEVEL: 'warn',
      MCPX_LOG_FILE: 'b.log',
    },
    ...{ MCPX_OFFLINE: '1', MCPX_PROFILE: 'b' },
  };
  const FLAGS = {
    ...{
      host: '127.0.0.4',
      port: '3',
      front: 'aggregate',
      logLevel: 'debug',
      logFile: 'c.log',
      offline: false,
      profile: 'a',
      watch: true,
    },
  };

  function view(env: Record<string, string>, overrides: object) {
    const home = createHome(env);
    home.write('.mcpx/config.json', FILE);
    const config = home.load({ overrides });
    const { http, front, log, offline, watch } = config.settings;
    return {
      ...{ host: http.host, port: http.port, front: front.kind, offline, watch, level: log.level },
      file: log.file?.replace(home.folder, '').replaceAll('\\', '/'),
      main: mainProfile(config)?.name,
      fronts: config.profiles.map((profile) => profile.front),
    };
  }

  test('the file says', () => {
    expect(view({}, {})).toEqual({
      ...{ host: '127.0.0.2', port: 1, front: 'aggregate', offline: false, watch: false, level: 'error' },
      ...{ file: '/.mcpx/a.log', main: 'a', fronts: ['aggregate', undefined] },
    });
  });

  test('the environment says otherwise', () => {
    expect(view(ENV, {})).toEqual({
      ...{ host: '127.0.0.3', port: 2, front: 'compact', offline: true, watch: false, level: 'warn' },
      ...{ file: '/b.log', main: 'b', fronts: ['compact', 'compact'] },
    });
  });

  test('flags have the last word', () => {
    expect(view(ENV, FLAGS)).toEqual({
      ...{ host: '127.0.0.4', port: 3, front: 'aggregate', offline: false, watch: true, level: 'debug' },
      ...{ file: '/c.log', main: 'a', fronts: ['aggregate', 'aggregate'] },
    });
  });

  test('an empty variable is not set', () => {
    expect(view({ MCPX_PORT: '', MCPX_PROFILE: '', MCPX_OFFLINE: '' }, {})).toEqual(view({}, {}));
  });

  test('a wrong variable is a config error, a wrong flag a usage error', () => {
    const home = createHome({ MCPX_PORT: 'many' });
    expect(failure(() => home.load())).toMatchObject({
      code: 'config',
      message: '"MCPX_PORT" must be a whole number from 0 to 65535, not "many"',
    });
    expect(failure(() => createHome().load({ overrides: { logLevel: 'loud' } }))).toMatchObject({
      code: 'usage',
      message: '"--log-level" must be "silent", "error", "warn", "info" or "debug", not "loud"',
    });
    expect(failure(() => createHome({ MCPX_OFFLINE: 'perhaps' }).load()).message).toContain('must be true or false');
    expect(createHome({ MCPX_OFFLINE: 'off' }).load().settings.offline).toBe(false);
  });

  test('MCPX_TOKEN adds a token whose secret stays in the environment', () => {
    const home = createHome({ MCPX_TOKEN: 'very-secret' });
    home.write('.mcpx/config.json', { http: { auth: { tokens: [{ name: 'ci', token: 'x' }] } } });
    const { tokens } = home.load().settings.http.auth;
    expect(tokens.map(({ name, token }) => [name, token])).toEqual([
      ['ci', 'x'],
      ['MCPX_TOKEN', '${env:MCPX_TOKEN}'],
    ]);
    expect(JSON.stringify(tokens)).not.toContain('very-secret');
  });

  test('a misspelled variable is warned about, a foreign one is not', () => {
    const { warnings } = createHome({
      MCPX_PROT: '1',
      MCPX_SOMETHING_ELSE: '1',
      MCPX_INPUT_POTR: '1',
      MCPX_LANG: 'zh',
    }).load();
    expect(warnings.map(warningText)).toEqual(['mcpx does not know the variable MCPX_PROT (did you mean MCPX_PORT?)']);
  });
});

describe('the profile asked for', () => {
  const home = () => {
    const made = createHome();
    made.write('.mcpx/config.json', { profiles: { work: {}, off: { enabled: false } } });
    return made;
  };

  test('must exist', () => {
    expect(failure(() => home().load({ overrides: { profile: 'wrok' } }))).toMatchObject({
      code: 'not_found',
      message: 'there is no profile "wrok"',
      hint: 'did you mean "work"?',
    });
    expect(failure(() => home().load({ overrides: { profile: 'zzz' } })).hint).toBe('the profiles are: work, off');
  });

  test('must be enabled', () => {
    expect(failure(() => home().load({ overrides: { profile: 'off' } }))).toMatchObject({
      code: 'config',
      message: 'profile "off" is disabled',
    });
  });
});

describe('settings', () => {
  function settings(document: object, env: Record<string, string> = {}) {
    const home = createHome(env);
    home.write('.mcpx/config.json', document);
    return { home, load: () => home.load() };
  }

  test('log and audit files are expanded and belong to the folder of the config', () => {
    const { home, load } = settings(
      { log: { file: 'logs/${NAME}.log' }, audit: { file: '~/audit.jsonl' } },
      { NAME: 'n' },
    );
    const { log, audit } = load().settings;
    expect(log.file).toBe(home.path('.mcpx/logs/n.log'));
    expect(audit.file).toBe(home.path('audit.jsonl'));
  });

  test('a log file with a missing variable is an error at its place', () => {
    const { message } = failure(settings({ log: { file: '${NOPE}' } }).load);
    expect(message).toMatch(/^"log\.file" needs NOPE, which is not set\n {2}at .*:3:13\n/);
  });

  test('tokens get the fields that they left out, and a place', () => {
    const [token] = settings({ http: { auth: { tokens: [{ name: 'a', token: 'b', profiles: ['defualt'] }] } } }).load()
      .settings.http.auth.tokens;
    expect(token).toMatchObject({ tools: {}, resources: {}, prompts: {}, admin: false });
    expect(token?.place?.path).toEqual(['http', 'auth', 'tokens', 0]);
  });

  test('a token for a profile that does not exist is warned about', () => {
    const { warnings } = settings({
      http: { auth: { tokens: [{ name: 'a', token: 'b', profiles: ['defualt'] }] } },
    }).load();
    expect(warnings).toMatchObject([
      { message: 'token "a" names the profile "defualt", which does not exist', hint: 'did you mean "default"?' },
    ]);
  });

  test('two tokens of one name are an error: everything else knows them by it', () => {
    const tokens = [
      { name: 'a', token: 'b' },
      { name: 'a', token: 'c' },
    ];
    const { message } = failure(settings({ http: { auth: { tokens } } }).load);
    expect(message).toMatch(/^two tokens are called "a"\n {2}at /);
  });

  test.each<[object, string]>([
    [{ cors: { origins: ['*'] } }, '"http.cors.origins" has "*", which is not a valid origin'],
    [
      { cors: { origins: ['https://a.example/'] } },
      '"http.cors.origins" has "https://a.example/", which is not a valid origin',
    ],
    [{ cors: { origins: ['null'] } }, '"http.cors.origins" has "null", which any web page can send'],
    [{ hosts: ['https://a.example'] }, '"http.hosts" has "https://a.example", which is not a host name'],
  ])('%j is warned about', (http, message) => {
    expect(settings({ http }).load().warnings).toMatchObject([{ message }]);
  });

  test('origins and hosts as they should be are not', () => {
    const cors = {
      origins: ['https://a.example', 'http://localhost:5173', 'vscode-webview://x', 'chrome-extension://abc'],
    };
    expect(
      settings({ http: { cors, hosts: ['a.example', 'a.example:8443', '::1', '[::1]:80'] } }).load().warnings,
    ).toEqual([]);
  });

  test('an empty section changes nothing', () => {
    expect(settings({ http: { auth: {} }, log: {}, naming: {} }).load().settings).toEqual(DEFAULTS);
  });

  test('the environment that servers inherit may be a list', () => {
    expect(settings({ connect: { inheritEnv: ['PATH'] } }).load().settings.connect.inheritEnv).toEqual(['PATH']);
  });
});

test('the demo has three built-in servers and listens to flags', () => {
  const config = demoConfig({ env: {}, overrides: { port: 0 } });
  expect(names(config)).toEqual(['time', 'math', 'memory']);
  expect(config.profiles[0]?.servers.every(({ type }) => type === 'builtin')).toBe(true);
  expect(config.settings.http.port).toBe(0);
  expect(config.files).toEqual([]);
});
