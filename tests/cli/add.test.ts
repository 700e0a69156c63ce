/** `mcpx add`, `remove`, `enable`, `disable`, `get` and `export` on a config: what they write, and what they refuse. */
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { buildZip, manifestText } from '../server-packages/zip-builder.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();
let home = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'add-'));
  for (const name of ['HOME', 'USERPROFILE']) vi.stubEnv(name, home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

function write(path: string, content: string | Buffer): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const configFile = () => join(home, '.mcpx', 'config.json');
const config = () => readFileSync(configFile(), 'utf8');
const entry = (name: string) =>
  JSON.parse(
    config()
      .replace(/^\s*\/\/.*$/gm, '')
      .replace(/,(\s*[}\]])/g, '$1'),
  ).mcpServers[name];

const COMMENTED = `{
    // mine
    "mcpServers": {
        "one": { "command": "a" }, // first
    },
    "profiles": {
        "default": { "servers": ["*"] },
        "open": {},
        "few": { "servers": ["one"] }
    }
}
`;

describe('mcpx add', () => {
  test('creates the config, keeps its comments, and tries the server', async () => {
    expect(await mcpx('add', 'clock', 'time', '--type', 'builtin')).toBe(0);
    expect(shown.stdout).toMatch(/^clock: \d+ tools, \d+ ms\n$/);
    expect(shown.stderr).toContain(`added server "clock" to ${configFile()}`);
    expect(shown.stderr).toContain('POST /api/reload');
    expect(config()).toContain('// The MCP servers that mcpx puts behind its two tools.');
    expect(entry('clock')).toEqual({ type: 'builtin', builtin: 'time' });
  });

  test('writes the words after "--" unchanged', async () => {
    const words = [
      'node',
      '--name',
      '007',
      '12345678901234567890',
      '--camelCase=x',
      '--',
      '-y',
      '',
      '--json',
      '-e',
      'A=b',
    ];
    expect(await mcpx('add', 'x', '--no-check', '-e', 'N=007', '--env=B=1', '--', ...words)).toBe(0);
    expect(entry('x')).toEqual({ command: 'node', args: words.slice(1), env: { N: '007', B: '1' } });
    expect(shown.stdout).toBe('');
  });

  test('runs a command with relative paths in the working directory', async () => {
    const envFile = write('.env', 'A=1\n');
    expect(await mcpx('add', 'x', '--no-check', '--env-file', envFile, '--', 'node', './package.json', '/abs')).toBe(0);
    expect(entry('x')).toEqual({
      command: 'node',
      args: ['./package.json', '/abs'],
      envFile: [envFile],
      cwd: process.cwd(),
    });
    expect(shown.stderr).toContain(`"./package.json" is relative, so the server runs in ${process.cwd()}`);
  });

  test('writes URLs with their type and headers', async () => {
    expect(
      await mcpx(
        'add',
        'x',
        'https://a.example/mcp',
        '--no-check',
        '--type',
        'streamable-http',
        '-H',
        'X-A: 1',
        '-H',
        'X-B:2',
      ),
    ).toBe(0);
    expect(entry('x')).toEqual({ type: 'http', url: 'https://a.example/mcp', headers: { 'X-A': '1', 'X-B': '2' } });
  });

  test('says when a secret is written as it is, and moves it if asked', async () => {
    expect(
      await mcpx('add', 'x', 'https://a.example/mcp', '--no-check', '-H', 'Authorization: Bearer abcdef123456'),
    ).toBe(0);
    expect(shown.stderr).toContain('--move-secrets puts them into');
    expect(
      await mcpx(
        'add',
        'y',
        'https://b.example/mcp',
        '--no-check',
        '--move-secrets',
        '-H',
        'Authorization: Bearer abcdef123456',
      ),
    ).toBe(0);
    expect(entry('y').headers).toEqual({ Authorization: 'Bearer ${input:y-Authorization}' });
    const secrets = join(home, '.mcpx', 'secrets.env');
    expect(readFileSync(secrets, 'utf8')).toBe("MCPX_INPUT_Y_AUTHORIZATION='abcdef123456'\n");
    if (process.platform !== 'win32') expect(statSync(secrets).mode & 0o777).toBe(0o600);
  });

  test.each<[string[], number, RegExp]>([
    [
      ['one', '--', 'x'],
      2,
      /there is a server "one" already[\s\S]*hint: mcpx get one shows it, mcpx remove one removes it/,
    ],
    [['ONE', '--', 'x'], 2, /there is a server "one" already/],
    [['x', '--type', 'ws', 'https://a.example/'], 2, /cannot have the type "ws"/],
    [['x', '--type', 'htp', 'https://a.example/'], 2, /no type "htp"[\s\S]*did you mean "http"/],
    [['x', '--type', 'http', '--', 'npx'], 2, /a server with a command has the type "stdio"/],
    [['x', '-e', 'A=1', 'https://a.example/'], 2, /a URL takes no --env/],
    [['x', '-H', 'A: 1', '--', 'npx'], 2, /a command takes no --header/],
    [['x', '--set', 'a=1', '--', 'npx'], 2, /a command takes no --set/],
    [['x', '--env-file', 'gone.env', '--', 'npx'], 2, /gone\.env" does not exist/],
    [['x', '--profile', 'fow', '--', 'npx'], 7, /no profile "fow"[\s\S]*did you mean "few"/],
    [['x', '--bogus', '--', 'npx'], 2, /put the command of the server after "--"/],
  ])('refuses %j', async (words, code, message) => {
    write('.mcpx/config.json', COMMENTED);
    expect(await mcpx('add', ...words)).toBe(code);
    expect(shown.stderr).toMatch(message);
    expect(config()).toBe(COMMENTED);
  });

  test('adds to one profile, which keeps the servers that it had', async () => {
    write('.mcpx/config.json', COMMENTED);
    expect(await mcpx('add', 'two', '--no-check', '--profile', 'open', '--', 'b')).toBe(0);
    expect(await mcpx('add', 'one', '--no-check', '--profile', 'few', '--', 'c')).toBe(0);
    expect(config()).toContain('"one": { "command": "a" }, // first');
    shown.stdout = '';
    expect(await mcpx('list', '--json')).toBe(0);
    const rows: { profile: string; name: string; target: string }[] = JSON.parse(shown.stdout);
    expect(rows.map(({ profile, name, target }) => `${profile} ${name} ${target}`)).toEqual([
      ...['default one a', 'open one a', 'open two b', 'few one c'],
    ]);
    expect(await mcpx('add', 'one', '--profile', 'few', '--', 'd')).toBe(2);
  });

  test('needs a schema where every server belongs to one', async () => {
    const file = write('schemas.json', '{"schemas": {"default": {"mcpServers": {}}, "work": {"mcpServers": {}}}}');
    expect(await mcpx('add', 'x', '--no-check', '-c', file, '--', 'y')).toBe(2);
    expect(shown.stderr).toContain('belongs to a schema\n\nhint: name one with --profile: default, work');
    expect(await mcpx('add', 'x', '--no-check', '-c', file, '--profile', 'work', '--', 'y')).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8')).schemas.work.mcpServers).toEqual({ x: { command: 'y' } });
  });

  test('that a client would not run is written and not tried', async () => {
    const file = write('gemini.json', '{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "b"}}}');
    expect(await mcpx('add', 'x', '-c', file, '--', 'y')).toBe(0);
    expect(shown.stderr).toContain('server "x" was not tried, because it is disabled or in no enabled profile');
    expect(await mcpx('enable', 'x', '-c', file)).toBe(1);
    expect(shown.stderr).toContain('is switched by another part of the config');
  });

  test('names the sign-in that a URL needs', async () => {
    const server = createServer((_, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const file = write('other.json', '{"mcpServers": {}}');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    expect(await mcpx('add', 'x', url, '--config', file)).toBe(3);
    expect(shown.stderr).toContain('error: server "x" needs sign-in\n\nhint: mcpx login x');
    expect(shown.stderr).toContain(`mcpx remove --config ${file} x takes it out`);
  });

  test('refuses an entry that would start mcpx itself', async () => {
    const script = process.argv[1] ?? '';
    expect(await mcpx('add', 'x', '--no-check', '--', process.execPath, script, 'serve')).toBe(2);
    expect(shown.stderr).toContain('server "x" would start mcpx itself');
    expect(existsSync(configFile())).toBe(false);
  });

  test('keeps the entry if the server fails, and exits with the code of the failure', async () => {
    expect(await mcpx('add', 'x', '--', 'no-such-program-of-mcpx')).toBe(4);
    expect(shown.stderr).toMatch(
      /was not found[\s\S]*hint: install[\s\S]*server "x" stays in the config; mcpx remove x takes it out/,
    );
    shown.stdout = '';
    expect(await mcpx('add', 'y', '--json', '-e', 'KEY=${NO_SUCH_VARIABLE}', '--', 'x')).toBe(6);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      name: 'y',
      file: configFile(),
      entry: { type: 'stdio', command: 'x' },
      check: { ok: false, code: 'config', error: expect.stringContaining('NO_SUCH_VARIABLE') },
    });
  });
});

describe('a bundle', () => {
  const launch = {
    command: 'node',
    args: ['${__dirname}/server.js', '${user_config.folder}'],
    env: { KEY: '${user_config.key}' },
  };
  const fields = {
    name: 'My Notes',
    server: { type: 'node', entry_point: 'server.js', mcp_config: launch },
    user_config: {
      folder: { type: 'directory', title: 'Folder', description: 'Where notes are', required: true },
      key: { type: 'string', title: 'Key', description: '', required: true, sensitive: true },
    },
  };
  const bundle = (more: Record<string, unknown> = {}) =>
    write(
      'notes.mcpb',
      buildZip([
        { path: 'manifest.json', content: manifestText({ ...fields, ...more }) },
        { path: 'server.js', content: '' },
      ]),
    );
  const bundles = () => (existsSync(join(home, '.mcpx', 'bundles')) ? readdirSync(join(home, '.mcpx', 'bundles')) : []);

  test('is unpacked, and its secrets are stored; remove deletes its folder', async () => {
    expect(
      await mcpx(
        'add',
        bundle(),
        '--no-check',
        '--json',
        '--set',
        'folder=/data',
        '--set',
        'key=s3cret-value',
        '-e',
        'MORE=1',
      ),
    ).toBe(0);
    const [name = ''] = bundles();
    const folder = join(home, '.mcpx', 'bundles', name);
    const { sha256, ...rest } = JSON.parse(shown.stdout);
    expect(sha256).toMatch(/^[\da-f]{64}$/);
    expect(rest).toMatchObject({ name: 'My-Notes', version: '1.0.0', folder, secrets: ['MCPX_INPUT_MY_NOTES_KEY'] });
    expect(shown.stderr).toContain(`sha256 ${sha256}`);
    expect(shown.stderr).toContain(`it runs node ${folder}/server.js /data`);
    expect(entry('My-Notes')).toEqual({
      command: 'node',
      args: [join(folder, 'server.js').replaceAll('\\', '/'), '/data'].map((arg, index) =>
        index === 0 ? `${folder}/server.js` : arg,
      ),
      env: { KEY: '${input:My-Notes-key}', MORE: '1' },
      cwd: folder,
    });
    expect(readdirSync(folder).sort()).toEqual(['manifest.json', 'server.js']);
    expect(config() + shown.stdout + shown.stderr).not.toContain('s3cret-value');
    expect(await mcpx('remove', 'My-Notes')).toBe(0);
    expect(shown.stderr).toContain(`removed the folder of its bundle: ${folder}`);
    expect(shown.stderr).toContain('MCPX_INPUT_MY_NOTES_KEY');
    expect(bundles()).toEqual([]);
  });

  test('that lacks values names them with their options, and writes nothing', async () => {
    const file = bundle();
    expect(await mcpx('add', file, '--set', 'folder=/data')).toBe(2);
    expect(shown.stderr).toContain('server "My-Notes" needs key (Key)');
    expect(shown.stderr).toContain(`mcpx add My-Notes ${file} --set folder=/data --set key=…`);
    expect(await mcpx('add', file, '--set', 'fodler=/data')).toBe(2);
    expect(shown.stderr).toContain('has no setting "fodler"\n\nhint: did you mean "folder"?');
    expect(existsSync(configFile())).toBe(false);
    expect(bundles()).toEqual([]);
  });

  test('for another system is refused', async () => {
    const file = bundle({ compatibility: { platforms: ['aix'] } });
    expect(await mcpx('add', file)).toBe(1);
    expect(shown.stderr).toContain(`"My Notes" runs on aix, not on ${process.platform}`);
  });

  test('leaves no folder if another program changes the config meanwhile', async () => {
    const file = bundle();
    write('.mcpx/config.json', '{"mcpServers": {}}');
    write('.mcpx/config.json.lock', JSON.stringify({ pid: process.pid, host: 'elsewhere', id: 'x' }));
    const adding = mcpx('add', file, '--no-check', '--set', 'folder=/data', '--set', 'key=${KEY}');
    await expect.poll(() => bundles().filter((name) => name.startsWith('My')).length).toBe(1);
    write('.mcpx/config.json', '{"mcpServers": {"x": {"command": "y"}}}');
    rmSync(`${configFile()}.lock`);
    expect(await adding).toBe(1);
    expect(shown.stderr).toContain('was changed by another program just now');
    expect(config()).toBe('{"mcpServers": {"x": {"command": "y"}}}');
    expect(bundles()).toEqual([]);
  });

  test('of a server.json lies beside it and has its digest', async () => {
    bundle();
    const packed = (sha256: string, name = 'notes.mcpb') => ({
      name: 'io.x/notes',
      packages: [
        {
          registryType: 'mcpb',
          identifier: `https://example.com/v1/${name}`,
          fileSha256: sha256,
          transport: { type: 'stdio' },
        },
      ],
    });
    const file = write('server.json', JSON.stringify(packed('0'.repeat(64))));
    expect(await mcpx('add', file, '--no-check')).toBe(1);
    expect(shown.stderr).toMatch(/has the sha256 [\da-f]{64}, but its server\.json says 0{64}/);
    write('server.json', JSON.stringify(packed('0'.repeat(64), 'gone.mcpb')));
    expect(await mcpx('add', file, '--no-check')).toBe(2);
    expect(shown.stderr).toContain(`curl -L -o ${join(home, 'gone.mcpb')} https://example.com/v1/gone.mcpb`);
  });
});

describe('a server.json', () => {
  const SERVER = {
    name: 'io.example/weather',
    version: '2.0.0',
    packages: [
      {
        registryType: 'npm',
        identifier: 'weather-mcp',
        version: '2.0.0',
        transport: { type: 'stdio' },
        environmentVariables: [
          { name: 'API_KEY', description: 'Key of the service', isRequired: true, isSecret: true },
        ],
      },
      { registryType: 'oci', identifier: 'x/weather:2', transport: { type: 'stdio' } },
    ],
    remotes: [
      {
        type: 'streamable-http',
        url: 'https://weather.example/mcp',
        headers: [{ name: 'X-Key', isRequired: true, isSecret: true }],
      },
    ],
  };

  test('becomes the command of its first package, and names the others', async () => {
    const file = write('server.json', JSON.stringify(SERVER));
    expect(await mcpx('add', file, '--no-check', '-e', 'API_KEY=abcdef123456', '-e', 'MORE=1')).toBe(0);
    expect(entry('weather')).toEqual({
      command: 'npx',
      args: ['-y', 'weather-mcp@2.0.0'],
      env: { API_KEY: '${input:weather-API_KEY}', MORE: '1' },
    });
    expect(shown.stderr).toContain(
      'used npm weather-mcp; there is also --type oci (oci x/weather:2), --type http (http https://weather.example/mcp)',
    );
    expect(await mcpx('add', 'far', file, '--no-check', '--type', 'http', '-H', 'x-key: ${WEATHER}')).toBe(0);
    expect(entry('far')).toEqual({
      type: 'http',
      url: 'https://weather.example/mcp',
      headers: { 'X-Key': '${WEATHER}' },
    });
  });

  test('whose packages start HTTP servers of their own is refused', async () => {
    const [npm] = SERVER.packages;
    const packages = [{ ...npm, transport: { type: 'streamable-http', url: 'http://localhost:1/mcp' } }];
    const file = write('server.json', JSON.stringify({ ...SERVER, packages, remotes: [] }));
    expect(await mcpx('add', file)).toBe(1);
    expect(shown.stderr).toContain('start an HTTP server of their own');
  });

  test('with several packages uses the first one whose launcher is installed', async () => {
    const file = write('server.json', JSON.stringify(SERVER));
    write('bin/docker', '');
    chmodSync(join(home, 'bin', 'docker'), 0o755);
    vi.stubEnv('PATH', join(home, 'bin'));
    vi.stubEnv('PATHEXT', '');
    expect(await mcpx('add', file, '--no-check')).toBe(0);
    expect(entry('weather')).toEqual({ command: 'docker', args: ['run', '-i', '--rm', 'x/weather:2'] });
    expect(shown.stderr).toContain('it runs docker run -i --rm x/weather:2');
  });

  test('that lacks values names them with the options to pass', async () => {
    const file = write('server.json', JSON.stringify(SERVER));
    expect(await mcpx('add', file, '--no-check')).toBe(2);
    expect(shown.stderr).toContain('server "weather" needs API_KEY (Key of the service)');
    expect(shown.stderr).toContain(`hint: mcpx add weather ${file} -e API_KEY=…`);
    expect(await mcpx('add', file, '--no-check', '--type', 'pypi')).toBe(2);
    expect(shown.stderr).toContain('use --type npm or --type oci or --type http');
    expect(await mcpx('add', file, '--no-check', '-H', 'A: b')).toBe(2);
    expect(shown.stderr).toContain('describes a program, which takes no --header');
  });
});

describe('a server of the config', () => {
  beforeEach(() => void write('.mcpx/config.json', COMMENTED));

  test('is switched off and on, and its comments stay', async () => {
    expect(await mcpx('disable', 'one', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toEqual({ name: 'one', file: configFile(), enabled: false, changed: true });
    expect(config()).toContain('"one": { "command": "a", "disabled": true }, // first');
    expect(readFileSync(`${configFile()}.bak`, 'utf8')).toBe(COMMENTED);
    expect(await mcpx('disable', 'one')).toBe(0);
    expect(shown.stderr).toContain('server "one" is disabled already');
    expect(await mcpx('enable', 'one')).toBe(0);
    expect(config()).toBe(COMMENTED);
  });

  test('with "enabled" keeps this key', async () => {
    write('.mcpx/config.json', '{"mcpServers": {"x": {"command": "a", "enabled": false}}}');
    expect(await mcpx('enable', 'x')).toBe(0);
    expect(config()).toBe('{"mcpServers": {"x": {"command": "a", "enabled": true}}}');
    expect(await mcpx('disable', 'x')).toBe(0);
    expect(config()).toBe('{"mcpServers": {"x": {"command": "a", "enabled": false}}}');
  });

  test('that an earlier file has and a later one switches off is not switched on silently', async () => {
    const first = write('a.json', '{"mcpServers": {"x": {"command": "a", "disabled": true}}}');
    const second = write('b.json', '{"mcpServers": {"x": {"disabled": true}}}');
    expect(await mcpx('enable', 'x', '-c', first, '-c', second)).toBe(1);
    expect(shown.stderr).toContain('is switched by another part of the config');
    expect(readFileSync(first, 'utf8')).toContain('"disabled": true');
  });

  test('is removed, also from the lists of profiles', async () => {
    expect(await mcpx('remove', 'one', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toEqual({ name: 'one', file: configFile(), secrets: [] });
    expect(config()).toContain('// mine');
    expect(config()).toContain('"few": { "servers": [] }');
    expect(config()).not.toContain('first');
  });

  test('that belongs to several profiles is not changed through one of them', async () => {
    expect(await mcpx('remove', 'one', '--profile', 'few')).toBe(2);
    expect(shown.stderr).toContain('does not belong to profile "few" alone');
    expect(config()).toBe(COMMENTED);
  });

  test.each(['remove', 'enable', 'disable', 'get', 'export'])('is found by its nearest name: %s', async (command) => {
    expect(await mcpx(command, 'onne')).toBe(7);
    expect(shown.stderr).toContain('no server is called "onne"\n\nhint: did you mean "one"?');
  });

  test('is shown with its place and its secrets masked', async () => {
    const entry = {
      command: 'a',
      args: ['b c', '--token', 'abcdef123456'],
      env: { A: 'sk-live-abcdefgh12345678abcd', B: null },
    };
    write('.mcpx/config.json', JSON.stringify({ mcpServers: { x: entry } }));
    expect(await mcpx('get', 'x')).toBe(0);
    expect(shown.stdout.split('\n')).toEqual([
      ...['name      x', 'state     enabled', 'command   a "b c" --token "***"', 'type      stdio', 'env       A=***'],
      ...['          B is removed', 'profiles  default', `file      ${configFile()}:1`, ''],
    ]);
    shown.stdout = '';
    expect(await mcpx('get', 'x', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      name: 'x',
      enabled: true,
      line: 1,
      profiles: ['default'],
      missing: [],
    });
    expect(shown.stdout).not.toMatch(/abcdef|sk-live/);
  });
});

const SHAPES = join(import.meta.dirname, '..', 'fixtures', 'config', 'shapes');
/** Files whose servers are switched by another key, belong to schemas, or have no place for servers yet. */
const OTHER_SHAPES = /expected|gemini|schemas|mcp-list-disabled|empty/;

test.each(readdirSync(SHAPES).filter((file) => !OTHER_SHAPES.test(file)))(
  'a server is added to %s, switched, and removed without a trace',
  async (name) => {
    const text = readFileSync(join(SHAPES, name), 'utf8');
    const file = write(name, text);
    expect(await mcpx('add', 'zz', '--no-check', '-e', 'A=1', '-c', file, '--', 'foo', '--bar')).toBe(0);
    for (const command of ['get', 'disable', 'enable', 'remove']) expect(await mcpx(command, 'zz', '-c', file)).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(text);
  },
);

describe('mcpx export', () => {
  const SECRET = 'sk-live-abcdefgh12345678abcd';
  const SERVERS = {
    tool: {
      command: './bin/tool',
      args: ['${userHome}/x', '--key', SECRET],
      env: { KEY: SECRET, PIN: 'xk', NONE: null, OWN: '${VAR:-info}' },
      cwd: '.',
      timeout: '1m',
    },
    far: { url: 'https://a.example/mcp?key=abcdef123456', headers: { Authorization: 'Bearer ${input:far}' } },
    off: { command: 'a', disabled: true },
    clock: { type: 'builtin', builtin: 'time' },
  };
  beforeEach(() => {
    write('.mcpx/config.json', JSON.stringify({ mcpServers: SERVERS }));
    write('.mcpx/secrets.env', "MCPX_INPUT_FAR='from-the-file'\n");
  });

  test('prints entries for any client, without secrets', async () => {
    expect(await mcpx('export')).toBe(0);
    const { mcpServers } = JSON.parse(shown.stdout);
    expect(mcpServers).toEqual({
      tool: {
        command: join(home, '.mcpx', 'bin', 'tool'),
        args: [`${home}/x`, '--key', '${MCPX_INPUT_TOOL_KEY}'],
        env: { KEY: '${MCPX_INPUT_TOOL_KEY}', PIN: '${MCPX_INPUT_TOOL_PIN}', OWN: '${VAR:-info}' },
        cwd: join(home, '.mcpx'),
      },
      far: {
        type: 'http',
        url: 'https://a.example/mcp?key=${MCPX_INPUT_FAR_URL}',
        headers: { Authorization: 'Bearer ${MCPX_INPUT_FAR}' },
      },
    });
    expect(shown.stderr).toContain('"timeout" and "env: null" of server "tool" are left out');
    expect(shown.stderr).toContain('server "off" is left out: it is disabled; mcpx export off prints it');
    expect(shown.stderr).toContain('server "clock" is left out: only mcpx can run a server of type "builtin"');
    expect(shown.stderr).toContain(
      'secrets are placeholders: set MCPX_INPUT_TOOL_KEY, MCPX_INPUT_TOOL_PIN, MCPX_INPUT_FAR_URL, MCPX_INPUT_FAR for the client',
    );
    expect(shown.stdout + shown.stderr).not.toContain('***');
    expect(shown.stdout + shown.stderr).not.toMatch(/sk-live|abcdef123456/);
  });

  test('prints secrets if asked, and only the named servers; the result can be imported', async () => {
    expect(await mcpx('export', 'far', 'off', '--secrets')).toBe(0);
    const text = shown.stdout;
    expect(JSON.parse(text).mcpServers).toEqual({
      far: { type: 'http', url: SERVERS.far.url, headers: { Authorization: 'Bearer from-the-file' } },
      off: { command: 'a' },
    });
    rmSync(configFile());
    expect(await mcpx('import', write('export.json', text), '--yes')).toBe(0);
    expect(shown.stderr).toContain('imported 2 servers');
  });
});
