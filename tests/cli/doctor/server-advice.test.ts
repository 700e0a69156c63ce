/** Every kind of failure of a server, with its reason and its command. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { flagsOf } from '../../../src/cli/command-line.ts';
import { serverFinding } from '../../../src/cli/doctor/server-advice.ts';
import type { ServerSpec } from '../../../src/config/config.ts';
import { environmentOf } from '../../../src/config/environment.ts';
import { type Fault, McpxError } from '../../../src/errors.ts';
import { httpSpec, stdioSpec } from '../../upstream/world.ts';

const flags = flagsOf({});
const place = { file: '/config.json', path: ['mcpServers', 'x'] };
const world = (env: Record<string, string> = {}, platform: NodeJS.Platform = 'linux') =>
  environmentOf({ env, home: '/home/ada', cwd: '/work', platform });

interface Case {
  error: McpxError;
  spec?: ServerSpec;
  stderr?: string[];
  env?: Record<string, string>;
  platform?: NodeJS.Platform;
}

function advise({ error, spec = stdioSpec('run', ['a'], { place }), stderr = [], env = {}, platform = 'linux' }: Case) {
  const { code, reason, command, server, level, area } = serverFinding(error, {
    spec,
    flags,
    world: world(env, platform),
    stderr,
  });
  expect({ server, level, area }).toEqual({ server: 'x', level: 'error', area: 'servers' });
  return { code, reason, command };
}

const failed = (fault: Fault, cause?: unknown) => new McpxError('unreachable', 'server "x" failed', { fault, cause });
const HEADERS = "-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'";
const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}';
const coded = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall });
const remote = (url: string, more = {}) => httpSpec(url, { place, ...more });

test.each<[string, Case, { code: string; reason?: RegExp; command: string }]>([
  [
    'DNS',
    { error: failed('dns'), spec: remote('https://no.example/mcp') },
    { code: 'dns', reason: /"no\.example"/, command: "mcpx config set mcpServers.x.url '<address>'" },
  ],
  [
    'no listener',
    { error: failed('no-listener'), spec: remote('http://127.0.0.1:9/mcp') },
    { code: 'refused', reason: /127\.0\.0\.1:9/, command: "mcpx config set mcpServers.x.url '<address>'" },
  ],
  [
    'no route',
    { error: failed('no-connection', coded('EHOSTUNREACH')), spec: remote('http://10.0.0.1/mcp?key=hunter2') },
    { code: 'unreachable', reason: /EHOSTUNREACH/, command: "curl -i 'http://10.0.0.1/mcp?key=<value>'" },
  ],
  [
    'a proxy',
    {
      error: failed('dns'),
      spec: remote('https://a.example/mcp'),
      env: { https_proxy: 'http://me:hunter2@proxy.example:1', NO_PROXY: 'b.example' },
    },
    { code: 'proxy', reason: /http:\/\/proxy\.example:1,/, command: 'export NO_PROXY=b.example,a.example' },
  ],
  [
    'an expired certificate',
    { error: failed('certificate', coded('CERT_HAS_EXPIRED')) },
    {
      code: 'tls',
      reason: /clock/,
      command: "export NODE_EXTRA_CA_CERTS='<file with the certificate of its authority>'",
    },
  ],
  [
    'an unknown authority',
    { error: failed('certificate', coded('SELF_SIGNED_CERT_IN_CHAIN')) },
    {
      code: 'tls',
      reason: /company proxy/,
      command: "export NODE_EXTRA_CA_CERTS='<file with the certificate of its authority>'",
    },
  ],
  [
    'TLS to a plain port',
    { error: failed('tls', coded('EPROTO')), spec: remote('https://a.example/mcp') },
    { code: 'tls', reason: /EPROTO/, command: 'mcpx config set mcpServers.x.url http://a.example/mcp' },
  ],
  [
    'TLS, and a secret in the URL',
    { error: failed('tls', coded('EPROTO')), spec: remote('https://a.example/mcp?token=hunter2') },
    { code: 'tls', command: "mcpx config set mcpServers.x.url '<address>'" },
  ],
  [
    'a wrong path',
    { error: failed('no-endpoint'), spec: remote('https://a.example/api?key=hunter2') },
    { code: 'no-endpoint', command: 'mcpx config set mcpServers.x.url https://a.example/mcp' },
  ],
  [
    'another status',
    { error: failed('status'), spec: remote('https://a.example/mcp') },
    { code: 'http-status', command: `curl -i https://a.example/mcp ${HEADERS} -d '${INITIALIZE}'` },
  ],
  [
    'a status, and headers',
    {
      error: failed('status'),
      spec: remote('https://a.example/mcp', { headers: { Authorization: 'Bearer ${env:KEY}', 'X-Token': 'hunter2' } }),
    },
    {
      code: 'http-status',
      command: `curl -i https://a.example/mcp ${HEADERS} -H "Authorization: Bearer \${KEY}" -H 'X-Token: <value>' -d '${INITIALIZE}'`,
    },
  ],
  [
    'a process that stays silent',
    {
      error: failed('slow'),
      spec: stdioSpec('run', ['--level', '${LEVEL}', 'a b'], {
        place,
        cwd: '/srv',
        env: { API_KEY: 'hunter2', MODE: 'x', GONE: null },
      }),
    },
    {
      code: 'silent',
      reason: /neither answered nor wrote anything/,
      command: `cd /srv && API_KEY='<value>' MODE=x run --level "\${LEVEL}" 'a b'`,
    },
  ],
  [
    'a silent script on a machine without Node',
    { error: failed('slow'), spec: stdioSpec('node', ['/a.mjs'], { place }) },
    { code: 'silent', command: 'mcpx __node /a.mjs' },
  ],
  [
    'a silent process on Windows',
    {
      error: failed('slow'),
      spec: stdioSpec('run', ['a'], { place, cwd: 'C:\\srv', env: { API_KEY: 'hunter2' } }),
      platform: 'win32',
    },
    { code: 'silent', command: 'cd /d "C:\\srv" && set "API_KEY=<value>" && run a' },
  ],
  [
    'a process that writes and does not answer',
    { error: failed('slow'), stderr: ['loading'] },
    { code: 'needs-more-time', command: 'mcpx config set mcpServers.x.startupTimeout 120s' },
  ],
  ['the handshake', { error: failed('handshake') }, { code: 'protocol', command: 'mcpx logs x' }],
  [
    'a list without an answer',
    { error: new McpxError('timeout', 'late') },
    { code: 'needs-more-time', reason: /list request/, command: 'mcpx config set mcpServers.x.timeout 1200s' },
  ],
  [
    'refused credentials',
    {
      error: failed('credentials'),
      spec: remote('https://a.example', { headers: { Authorization: 'Bearer ${env:A_TOKEN}' } }),
    },
    { code: 'credentials-refused', command: "export A_TOKEN='<value>'" },
  ],
  [
    'a program for headers that fails',
    {
      error: new McpxError('auth', 'the headersHelper of server "x" ended with exit code 1'),
      spec: remote('https://a.example', { headersHelper: ['vault', 'read', '--token', 'hunter2'] }),
    },
    { code: 'headers-helper', command: "vault read --token '<value>'" },
  ],
  [
    'refused credentials without a variable',
    {
      error: failed('credentials'),
      spec: remote('https://a.example', { headers: { Authorization: 'Bearer hunter2' } }),
    },
    { code: 'credentials-refused', command: "mcpx config set mcpServers.x.headers.Authorization 'Bearer ${TOKEN}'" },
  ],
  [
    'a missing input',
    { error: new McpxError('config', 'server "x" needs', { data: { missing: ['MCPX_INPUT_KEY'] } }) },
    { code: 'variable-missing', command: "echo 'MCPX_INPUT_KEY=<value>' >> /home/ada/.mcpx/secrets.env" },
  ],
  [
    'offline',
    { error: new McpxError('config', 'server "x" is not contacted: mcpx is offline') },
    { code: 'offline', command: 'mcpx config set offline false' },
  ],
  [
    'a download that offline forbids',
    {
      error: new McpxError('unreachable', 'server "x" exited with code 1', {
        fault: 'exited',
        hint: 'offline, npx uses only what it has stored: start the server once with "offline": false',
      }),
      stderr: ['npm error code ENOTCACHED'],
    },
    { code: 'offline', reason: /^offline, npx uses/, command: 'mcpx config set offline false' },
  ],
  [
    'a banner of npm',
    { error: failed('not-mcp'), spec: stdioSpec('npm', ['start'], { place }) },
    { code: 'noisy-stdout', reason: /banner/, command: `mcpx config set mcpServers.x.args '["--silent","start"]'` },
  ],
  [
    'too many requests',
    { error: new McpxError('overloaded', 'too many', { hint: 'later' }) },
    { code: 'overloaded', reason: /^later$/, command: 'mcpx logs x' },
  ],
  [
    'npx on macOS',
    {
      error: failed('exited', coded('ENOENT', 'spawn npx')),
      spec: stdioSpec('npx', [], { place }),
      platform: 'darwin',
    },
    { code: 'command-not-found', reason: /"npx" is not installed/, command: 'brew install node' },
  ],
  [
    'a folder that is gone',
    {
      error: failed('exited', coded('ENOENT', 'spawn run')),
      spec: stdioSpec('run', [], { place, cwd: '/no/such/folder' }),
    },
    { code: 'folder-not-found', command: "mkdir -p '/no/such/folder'" },
  ],
  [
    'a file that may not run',
    { error: failed('exited', coded('EACCES', 'spawn /a/b')), spec: stdioSpec('/a/b', [], { place }) },
    { code: 'not-executable', command: "chmod +x '/a/b'" },
  ],
  [
    'a path to nothing',
    { error: failed('exited', coded('ENOENT', 'spawn /a/b')), spec: stdioSpec('/a/b', [], { place }) },
    {
      code: 'command-not-found',
      reason: /no such file/,
      command: "mcpx config set mcpServers.x.command '<path of the program>'",
    },
  ],
])('%s', (_, given, { code, reason = /./, command }) => {
  expect(advise(given)).toEqual({ code, reason: expect.stringMatching(reason), command });
});

test.each<[string, string[], { code: string; reason?: RegExp; command: string }, Partial<Case>?]>([
  [
    'a variable that the shell has',
    ['Error: SLACK_BOT_TOKEN environment variable is required'],
    {
      code: 'variable-missing',
      reason: /set in this shell/,
      command: "mcpx config set mcpServers.x.env.SLACK_BOT_TOKEN '${SLACK_BOT_TOKEN}'",
    },
    { env: { SLACK_BOT_TOKEN: 'hunter2' } },
  ],
  [
    'a variable that nobody has',
    ['Please set GITHUB_PERSONAL_ACCESS_TOKEN'],
    { code: 'variable-missing', command: "mcpx config set mcpServers.x.env.GITHUB_PERSONAL_ACCESS_TOKEN '<value>'" },
  ],
  [
    'a variable that the entry has',
    ['API_KEY is missing'],
    { code: 'exited', command: 'mcpx logs x' },
    { spec: stdioSpec('run', [], { place, env: { API_KEY: 'y' } }) },
  ],
  [
    'Docker',
    ['docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.'],
    { code: 'docker-not-running', command: 'sudo systemctl start docker' },
  ],
  [
    'Docker on macOS',
    ['Cannot connect to the Docker daemon'],
    { code: 'docker-not-running', command: 'open -a Docker' },
    { platform: 'darwin' },
  ],
  [
    'a package of Node',
    ["Error: Cannot find module 'zod'"],
    { code: 'module-missing', command: 'cd /srv/app && npm install' },
    { spec: stdioSpec('node', ['/srv/app/server.js'], { place }) },
  ],
  [
    'a package of Python',
    ["ModuleNotFoundError: No module named 'mcp'"],
    { code: 'module-missing', command: 'python3 -m pip install mcp' },
    { spec: stdioSpec('python3', ['s.py'], { place }) },
  ],
  [
    'a download',
    ['npm error request to https://packages.example failed, reason: getaddrinfo ENOTFOUND'],
    { code: 'download-failed', command: 'npm ping' },
  ],
  [
    'a script that is gone',
    ["Error: Cannot find module '/srv/app/server.js'", "  code: 'MODULE_NOT_FOUND',", '  requireStack: []'],
    {
      code: 'script-not-found',
      reason: /no file "\/srv\/app\/server\.js"/,
      command: `mcpx config set mcpServers.x.args '["<path of the script>","--dir","/data"]'`,
    },
    { spec: stdioSpec('node', ['server.js', '--dir', '/data'], { place }) },
  ],
  [
    'a script of Python that is gone',
    ["python3: can't open file '/srv/s.py': [Errno 2] No such file or directory"],
    { code: 'script-not-found', command: `mcpx config set mcpServers.x.args '["<path of the script>"]'` },
    { spec: stdioSpec('python3', ['s.py'], { place }) },
  ],
  [
    'a module that its script asks for',
    ["Error: Cannot find module '/srv/lib.js'", 'Require stack:', "  requireStack: [ '/srv/app/server.js' ]"],
    { code: 'exited', command: 'mcpx logs x' },
    { spec: stdioSpec('node', ['/srv/app/server.js'], { place }) },
  ],
  ['other words', ['one', 'two'], { code: 'exited', reason: /: one \| two$/, command: 'mcpx logs x' }],
  ['nothing', [], { code: 'exited', reason: /wrote nothing/, command: 'run a' }],
])('an exit with %s on stderr', (_, stderr, { code, reason = /./, command }, more = {}) => {
  expect(advise({ error: failed('exited'), stderr, ...more })).toEqual({
    code,
    reason: expect.stringMatching(reason),
    command,
  });
});

test('a mistake in an entry opens the file at its line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-advice-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'c.json');
  writeFileSync(file, '{\n  "mcpServers": {\n    "x": { "command": "run" }\n  }\n}\n');
  const spec = stdioSpec('run', [], { place: { file, path: ['mcpServers', 'x'] } });
  const error = failed('not-mcp');
  expect(advise({ error, spec }).command).toBe(`\${EDITOR:-vi} +3 ${file}`);
  expect(advise({ error, spec, platform: 'win32' }).command).toBe(`notepad ${file}`);
});
