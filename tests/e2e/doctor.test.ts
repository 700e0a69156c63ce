/** `mcpx doctor` names planted faults, and the commands that it names mend them. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { browse, protectedWorld } from '../upstream/oauth-world.ts';
import { EXECUTABLE, emptyPlace, fixture, type Place, run, serverScript, start, WINDOWS } from './program.ts';

const node = process.execPath;

interface Finding {
  code: string;
  level: string;
  server?: string;
  client?: string;
  message: string;
  reason: string;
  command: string;
}

/** A place whose PATH has mcpx, node and the programs of the system. */
function placeWithPath(): Place {
  const place = emptyPlace();
  const bin = join(place.cwd, 'bin');
  mkdirSync(bin);
  symlinkSync(EXECUTABLE, join(bin, 'mcpx'));
  symlinkSync(node, join(bin, 'node'));
  place.env.PATH = [bin, '/usr/bin', '/bin'].join(delimiter);
  return place;
}

async function doctor(
  place: Place,
  ...args: string[]
): Promise<{ code: number | null; ok: boolean; findings: Finding[]; stdout: string }> {
  const { code, stdout, stderr } = await run(['doctor', '--json', ...args], place);
  if (stdout === '') throw new Error(stderr);
  const { ok, findings } = JSON.parse(stdout);
  return { code, ok, findings, stdout };
}

/** Runs a command that doctor names, in a shell; `value` takes the place of the part in angle brackets. */
function mend(command: string, place: Place, value = ''): void {
  const line = command.replace(/<[^>]+>/, value);
  const [, name] = /^export (\w+)=/.exec(line) ?? [];
  const shown = name === undefined ? '' : `; printf %s "$${name}"`;
  const said = execFileSync('sh', ['-c', `${line}${shown}`], {
    cwd: place.cwd,
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (name !== undefined) place.env[name] = String(said);
}

/** Answers as an MCP server does. */
const answer: RequestListener = async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  const { id, method } = text === '' ? {} : JSON.parse(text);
  if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
  const hello = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } };
  const results: Record<string, unknown> = {
    initialize: hello,
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  };
  const result = results[method];
  const body = result === undefined ? { error: { code: -32601, message: 'no' } } : { result };
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
};

async function listening(server: ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const openServer = () => listening(createServer(answer));
const guardedServer = (secret: string) =>
  listening(
    createServer((request, response) => {
      if (request.headers.authorization === `Bearer ${secret}`) return answer(request, response);
      return response.writeHead(401).end();
    }),
  );

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function program(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

/** A shell script that is an MCP server. */
const server = (file: string) => program(file, `#!/bin/sh\nexec ${node} ${fixture('stdio.mjs')}\n`);

/** An editor that replaces one text in the file that it opens. */
function editor(place: Place, from: string, to: string): void {
  const script = place.file(
    'edit.mjs',
    `
    import { readFileSync, writeFileSync } from 'node:fs';
    const file = process.argv.at(-1);
    if (!/^\\+\\d+$/.test(process.argv.at(-2))) throw new Error('no line');
    writeFileSync(file, readFileSync(file, 'utf8').replace(${JSON.stringify(from)}, ${JSON.stringify(to)}));
  `,
  );
  place.env.EDITOR = `node ${script}`;
}

describe.skipIf(WINDOWS)('each finding has a command (needs a POSIX shell)', () => {
  test('ten faults of servers and of the port are named, and their commands mend all of them', async () => {
    const place = placeWithPath();
    const home = place.env.HOME ?? '';
    const needsVariable = `if (!process.env.DATABASE_URL) { console.error('Error: DATABASE_URL is not set'); process.exit(3); } import(${JSON.stringify(fixture('stdio.mjs'))})`;
    server(join(home, '.local', 'bin', 'local-server'));
    const elsewhere = server(join(place.cwd, 'opt', 'server'));
    const [open, guarded, closed, taken, docs] = [
      await openServer(),
      await guardedServer('fresh'),
      await closedPort(),
      await listening(createTcpServer()),
      await protectedWorld(),
    ];
    Object.assign(place.env, { DATABASE_URL: 'postgres://x', API_KEY: 'stale' });
    place.file('c.json', {
      mcpServers: {
        crash: { command: 'node', args: ['-e', needsVariable] },
        slow: {
          command: 'sh',
          args: ['-c', `echo loading >&2; exec node ${fixture('stdio.mjs')} late-init=4000`],
          startupTimeout: '0.3s',
        },
        noisy: { command: 'sh', args: ['-c', 'echo Welcome; sleep 30'], startupTimeout: '3s' },
        local: { command: 'local-server' },
        gone: { command: 'no-such-program-here' },
        refused: { type: 'http', url: `http://127.0.0.1:${closed}/mcp` },
        guarded: {
          type: 'http',
          url: `http://127.0.0.1:${guarded}/mcp`,
          headers: { Authorization: 'Bearer ${API_KEY}' },
        },
        unset: { command: 'node', args: [fixture('stdio.mjs')], env: { REGION: '${NOT_SET_HERE}' } },
        docs: { type: 'http', url: docs.url },
      },
      http: { port: taken },
    });
    const before = await doctor(place, '-c', 'c.json');
    expect([before.code, before.ok]).toEqual([1, false]);
    expect(before.stdout).not.toContain('stale');
    const set = (key: string, value: string) => `mcpx config set ${key} ${value} --config c.json`;
    const named = Object.fromEntries(
      before.findings.map(({ server, code, message, command }) => [server ?? code, { code, message, command }]),
    );
    expect(named).toEqual({
      crash: {
        code: 'variable-missing',
        message: 'server "crash" exited with code 3',
        command: set('mcpServers.crash.env.DATABASE_URL', "'${DATABASE_URL}'"),
      },
      slow: {
        code: 'needs-more-time',
        message: 'server "slow" did not start within 300 ms',
        command: set('mcpServers.slow.startupTimeout', '60s'),
      },
      noisy: {
        code: 'noisy-stdout',
        message: 'server "noisy" did not start within 3000 ms: it wrote "Welcome", which is not MCP',
        command: expect.stringMatching(/^\$\{EDITOR:-vi\} \+\d+ \/.*\/c\.json$/),
      },
      local: {
        code: 'command-not-on-path',
        message: 'server "local" could not be started: command "local-server" was not found',
        command: set('mcpServers.local.env.PATH', `'${home}/.local/bin:\${PATH}'`),
      },
      gone: {
        code: 'command-not-found',
        message: 'server "gone" could not be started: command "no-such-program-here" was not found',
        command: set('mcpServers.gone.command', "'<path of the program>'"),
      },
      refused: {
        code: 'refused',
        message: `server "refused" cannot be reached at "http://127.0.0.1:${closed}/mcp": ECONNREFUSED`,
        command: set('mcpServers.refused.url', "'<address>'"),
      },
      guarded: {
        code: 'credentials-refused',
        message: 'server "guarded" wants other credentials (HTTP 401 Unauthorized)',
        command: "export API_KEY='<value>'",
      },
      unset: {
        code: 'variable-missing',
        message: 'server "unset" needs NOT_SET_HERE, which is not set',
        command: "export NOT_SET_HERE='<value>'",
      },
      docs: {
        code: 'needs-sign-in',
        message: 'server "docs" needs sign-in',
        command: 'mcpx login docs --config c.json',
      },
      'port-taken': {
        code: 'port-taken',
        message: `another program uses 127.0.0.1:${taken}, the address of the gateway`,
        command: expect.stringMatching(/^mcpx config set http\.port \d+ --config c\.json$/),
      },
    });

    const values: Record<string, string> = {
      gone: elsewhere,
      refused: `http://127.0.0.1:${open}/mcp`,
      guarded: 'fresh',
      unset: 'eu',
    };
    editor(place, 'echo Welcome; sleep 30', `exec node ${fixture('stdio.mjs')}`);
    for (const [name, { command }] of Object.entries(named)) {
      if (name === 'docs') await signIn(place, command);
      else mend(command, place, values[name]);
    }
    const after = await doctor(place, '-c', 'c.json');
    expect(after.findings).toEqual([]);
    expect([after.code, after.ok]).toEqual([0, true]);
  });

  test('a mistake in the config opens at its line, and other areas are examined all the same', async () => {
    const place = placeWithPath();
    place.file(
      'c.json',
      `{\n  "mcpServers": {\n    "x": { "comand": "node", "args": ["${fixture('stdio.mjs')}"] }\n  }\n}\n`,
    );
    const { code, findings, stdout } = await doctor(place, '-c', 'c.json');
    expect(code).toBe(1);
    expect(findings[0]).toMatchObject({
      code: 'config-mistake',
      message: expect.stringContaining('"x"'),
      reason: expect.stringContaining('c.json:3'),
    });
    expect(JSON.parse(stdout).facts.home).toBeDefined();
    editor(place, '"comand"', '"command"');
    mend(findings[0]?.command ?? '', place);
    expect((await doctor(place, '-c', 'c.json')).code).toBe(0);
    const broken = place.file('broken.json', '{\n  "mcpServers": {\n');
    expect((await doctor(place, '-c', 'broken.json')).findings).toMatchObject([
      {
        code: 'config-mistake',
        reason: expect.stringContaining(`${broken}:2`),
        command: `\${EDITOR:-vi} +2 ${broken}`,
      },
    ]);
    const missing = await doctor(place, '-c', 'missing.json');
    expect(missing.findings).toMatchObject([
      { code: 'config-missing', message: expect.stringContaining('does not exist') },
    ]);
    mend(missing.findings[0]?.command ?? '', place);
    expect((await doctor(place, '-c', 'missing.json')).findings).toMatchObject([
      { code: 'no-servers', command: 'mcpx init --config missing.json' },
    ]);
  });

  test('an application of the desktop does not find a program that a shell finds', async () => {
    const place = placeWithPath();
    const folder = join(place.cwd, 'tools');
    server(join(folder, 'shell-only-server'));
    Object.assign(place.env, { DISPLAY: ':0', PATH: [folder, place.env.PATH].join(delimiter) });
    place.file('c.json', { mcpServers: { x: { command: 'shell-only-server' } } });
    const { code, findings } = await doctor(place, '-c', 'c.json');
    expect(code).toBe(0);
    expect(findings).toMatchObject([
      {
        code: 'hidden-from-desktop',
        level: 'warning',
        server: 'x',
        command: `mcpx config set mcpServers.x.env.PATH '${folder}:\${PATH}' --config c.json`,
      },
    ]);
    mend(findings[0]?.command ?? '', place);
    place.env.PATH = [join(place.cwd, 'bin'), '/usr/bin', '/bin'].join(delimiter);
    expect((await doctor(place, '-c', 'c.json')).findings).toEqual([]);
  });

  test('without mcpx on PATH every command names the executable; a silent program, an echo and a broken client file', async () => {
    const place = emptyPlace();
    place.env.PATH = ['/usr/bin', '/bin'].join(delimiter);
    const cursor = join(place.env.HOME ?? '', '.cursor', 'mcp.json');
    mkdirSync(dirname(cursor), { recursive: true });
    writeFileSync(cursor, '{\n  "mcpServers": {\n');
    place.file('c.json', {
      mcpServers: {
        silent: { command: 'sleep', args: ['30'], env: { API_KEY: 'hunter2' }, startupTimeout: '1s' },
        echo: { command: 'cat', startupTimeout: '5s' },
        crash: { command: 'sh', args: ['-c', 'echo broken >&2; exit 9'] },
      },
    });
    const { findings } = await doctor(place, '-c', 'c.json', '--clients');
    const named = findings.map(({ server, client, code, command }) => [server ?? client ?? '', code, command]);
    expect(named).toEqual(
      expect.arrayContaining([
        ['silent', 'silent', "API_KEY='<value>' sleep 30"],
        ['echo', 'noisy-stdout', expect.stringContaining('c.json')],
        ['crash', 'exited', `${EXECUTABLE} logs crash --config c.json`],
        ['cursor', 'file-unreadable', `\${EDITOR:-vi} +2 ${cursor}`],
      ]),
    );
    expect(findings.find(({ server }) => server === 'echo')?.message).toBe(
      'server "echo" sends its input back, so it is not an MCP server',
    );
    const crash = findings.find(({ server }) => server === 'crash')?.command ?? '';
    expect(execFileSync('sh', ['-c', crash], { cwd: place.cwd, env: place.env, encoding: 'utf8' })).toContain('broken');
  });

  test('a home that is a file is moved away', async () => {
    const place = placeWithPath();
    const blocked = join(place.env.HOME ?? '', '.mcpx');
    writeFileSync(blocked, '');
    place.file('c.json', { mcpServers: { x: { command: 'node', args: [fixture('stdio.mjs')] } } });
    const { code, findings } = await doctor(place, '-c', 'c.json');
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      {
        code: 'home-not-writable',
        message: `the folder "${blocked}" cannot be written`,
        command: `mv ${blocked} ${blocked}.old`,
      },
    ]);
    mend(findings[0]?.command ?? '', place);
    expect((await doctor(place, '-c', 'c.json')).code).toBe(0);
    expect(existsSync(`${blocked}.old`)).toBe(true);
  });

  test('a client that starts the same server itself, and one whose entry names an mcpx that is gone', async () => {
    const place = placeWithPath();
    const memory = { command: node, args: [serverScript('server-memory')] };
    const write = (path: string, content: unknown) => {
      const file = join(place.env.HOME ?? '', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(content));
      return file;
    };
    write('.mcpx/config.json', { mcpServers: { memory } });
    const cursor = write('.cursor/mcp.json', {
      mcpServers: { mcpx: { command: EXECUTABLE, args: ['serve'] }, memory },
    });
    const windsurf = write('.codeium/windsurf/mcp_config.json', {
      mcpServers: { mcpx: { command: '/no/such/mcpx', args: ['serve'] } },
    });
    const unread = await doctor(place);
    expect([unread.code, unread.findings]).toEqual([0, []]);

    const { code, findings } = await doctor(place, '--clients');
    expect(code).toBe(1);
    expect(findings.map(({ client, code, message, command }) => ({ client, code, message, command }))).toEqual([
      {
        client: 'cursor',
        code: 'still-enabled',
        message: 'Cursor still starts itself what mcpx has: memory',
        command: 'mcpx setup cursor --replace',
      },
      { client: 'windsurf', code: 'moved', message: 'Windsurf cannot start mcpx', command: 'mcpx setup windsurf' },
    ]);
    // Without a terminal nobody can answer the question of setup.
    for (const { command } of findings) mend(`${command} --yes`, place);
    expect(readFileSync(cursor, 'utf8')).not.toContain('server-memory');
    expect(readFileSync(windsurf, 'utf8')).toContain(EXECUTABLE);
    expect((await doctor(place, '--clients')).findings).toEqual([]);
  });

  test('a working server that writes other lines to stdout, and one that is called by its name', async () => {
    const place = placeWithPath();
    place.file('c.json', {
      mcpServers: {
        banner: { command: 'node', args: [fixture('stdio.mjs'), 'banner'] },
        other: { command: 'no-such-program-here' },
      },
    });
    const { stdout, stderr, code } = await run(['doctor', 'banner', '-c', 'c.json'], place);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^servers +banner +ready +spawn \d+ ms, initialize \d+ ms, list \d+ ms, \d+ tools$/m);
    expect(stdout).toContain('1. warning: server "banner" wrote 1 line to stdout that is not MCP');
    expect(stdout).toContain('run: mcpx logs banner --config c.json');
    expect(stdout).not.toContain('no-such-program-here');
    expect((await run(['logs', 'banner', '-c', 'c.json'], place)).stdout).toContain('Welcome to the fixture!');
    const unknown = await run(['doctor', 'baner', '-c', 'c.json'], place);
    expect([unknown.code, unknown.stderr]).toEqual([7, expect.stringContaining('did you mean "banner"?')]);
  });

  test('the report for an issue names no secret, no home folder and no token', async () => {
    const place = placeWithPath();
    const script = `console.error('login with hunter2-hunter2 failed'); process.exit(1)`;
    place.file('c.json', {
      mcpServers: { x: { command: 'node', args: ['-e', script], env: { TOKEN: 'hunter2-hunter2' } } },
    });
    const { code, stdout, stderr } = await run(['doctor', '--report', '-c', 'c.json'], place);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^### mcpx doctor\n\n```text\ninstall .*```\n$/s);
    expect(stdout).toContain('why: its last lines on stderr: login with *** failed');
    expect(stdout).not.toMatch(/hunter2/);
    expect(stdout).not.toContain(place.env.HOME);
    expect(stderr).toContain('read the text before you publish it');
  });
});

/** Signs in with the command, as a user with a browser does. */
async function signIn(place: Place, command: string): Promise<void> {
  const running = start([...command.split(' ').slice(1), '--json'], place);
  const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
  await browse((JSON.parse(line) as { url: string }).url);
  expect((await running.finished).code).toBe(0);
}

const folder = mkdtempSync(join(tmpdir(), 'mcpx-doctor-'));
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

function hasOpenssl(): boolean {
  try {
    openssl('version');
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasOpenssl() || WINDOWS)(
  'a certificate that is not trusted, and a proxy that is not there (needs openssl)',
  async () => {
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    openssl(
      'req',
      '-x509',
      ...key,
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    );
    const port = await listening(
      createTlsServer(
        { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) },
        answer,
      ),
    );
    const place = placeWithPath();
    const proxy = `http://127.0.0.1:${await closedPort()}`;
    place.env.HTTPS_PROXY = proxy;
    place.file('c.json', { mcpServers: { far: { type: 'http', url: `https://127.0.0.1:${port}/mcp` } } });

    const hidden = await doctor(place, '-c', 'c.json', 'far');
    expect(hidden.findings).toMatchObject([
      { code: 'proxy', reason: expect.stringContaining(proxy), command: 'export NO_PROXY=127.0.0.1' },
    ]);
    mend(hidden.findings[0]?.command ?? '', place);

    const untrusted = await doctor(place, '-c', 'c.json', 'far');
    expect(untrusted.findings).toMatchObject([
      {
        code: 'tls',
        message: 'server "far" has a certificate that is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT',
        reason: expect.stringContaining('signed its certificate itself'),
      },
    ]);
    mend(untrusted.findings[0]?.command ?? '', place, join(folder, 'cert.pem'));
    expect((await doctor(place, '-c', 'c.json', 'far')).code).toBe(0);
  },
);
