/** Credentials stay where they belong: those of clients with mcpx, those of a server with that server, and none in any file or line. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { emptyPlace, fixture, openSession, post, run, start, startHttp } from './program.ts';

const node = process.execPath;
const stdio = { command: node, args: [fixture('stdio.mjs')] };

/** Every file below a folder, with its text. */
function filesBelow(folder: string): [path: string, text: string][] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, readFileSync(path, 'utf8')]);
}

test('what a client sends to prove itself reaches no server, and no server gets what belongs to another', async () => {
  const place = emptyPlace();
  const [one, other] = [await startHttp(), await startHttp()];
  const web = (port: number, token: string) => ({
    type: 'http',
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { Authorization: `Bearer ${token}` },
  });
  const config = place.file('mcp.json', {
    mcpServers: {
      one: web(one.port, 'token-of-one'),
      other: web(other.port, 'token-of-other'),
      first: { ...stdio, env: { API_KEY: 'key-of-first' } },
      second: { ...stdio, env: { API_KEY: 'key-of-second' } },
    },
    http: { auth: { tokens: [{ name: 'me', token: 'token-of-client' }] } },
  });
  const env = { ...place.env, MY_PASSWORD: 'password-of-the-shell', NODE_OPTIONS: '--no-warnings' };
  const gateway = start(['serve', config, '--port', '0'], { cwd: place.cwd, env });
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (\S+)/)) as RegExpExecArray;
  const credentials = {
    authorization: 'Bearer token-of-client',
    cookie: 'session=cookie-of-client',
    'x-api-key': 'key-of-client',
  };
  const ask = async (server: string, tool: string) => {
    const params = { name: 'exec', arguments: { server_name: server, tool_name: tool } };
    return JSON.stringify((await post(url, 'tools/call', params, credentials)).result);
  };
  const check = async (server: string, tool: string, own: string) => {
    const seen = await ask(server, tool);
    expect(seen).toContain(own);
    const foreign = ['token-of-', 'key-of-', 'cookie-of-client', 'password-of-the-shell', '--no-warnings'];
    for (const secret of foreign) expect(seen.replaceAll(own, '')).not.toContain(secret);
  };
  await check('one', 'headers', 'token-of-one');
  await check('other', 'headers', 'token-of-other');
  await check('first', 'env', 'key-of-first');
  await check('second', 'env', 'key-of-second');
  expect((await post(url, 'tools/list')).error).toBeDefined();
  const status = await (await fetch(url.replace(/\/mcp$/, '/api/status'), { headers: credentials })).text();
  expect(status).toContain('"second"');
  expect(status).not.toMatch(/(?:token|key|cookie|password)-of-/);
  gateway.child.kill('SIGTERM');
  await gateway.finished;
});

test('a secret is in no log, error, status or file, however a server fails', async () => {
  const place = emptyPlace();
  const secret = 'hunter2-hunter2-hunter2';
  const leak = `process.stderr.write('connecting with ' + process.env.API_TOKEN + ' and ' + process.argv.at(-1) + '\\n'); process.exit(1);`;
  const session = await openSession(place, {
    mcpServers: {
      leaking: { command: node, args: ['-e', leak, '--', '--token', secret], env: { API_TOKEN: secret } },
      working: { ...stdio, env: { API_TOKEN: secret } },
      remote: { type: 'http', url: 'http://127.0.0.1:1/mcp', headers: { Authorization: `Bearer ${secret}` } },
    },
    log: { level: 'debug', file: join(place.cwd, 'mcpx.log') },
    connect: { firstListWait: '1s' },
  });
  const inspected = await session.request('tools/call', { name: 'inspect', arguments: {} });
  const answers = [
    JSON.stringify(inspected),
    (await session.exec('leaking', 'x')).text,
    (await session.exec('remote', 'x')).text,
    (await session.exec('working', 'exit', { code: 3, stderr: `bye ${secret}\n` })).text,
    (await session.exec('working', 'echo')).text,
  ];
  session.child.stdin?.end();
  const { stdout, stderr } = await session.finished;
  expect(answers[1]).toContain('connecting with ***');
  expect(answers[3]).toContain('bye ***');
  expect(stderr).toContain('connecting with ***');
  for (const said of [...answers, stdout, stderr]) expect(said).not.toContain(secret);

  const written = [...filesBelow(place.env.HOME ?? ''), ...filesBelow(place.cwd)];
  expect(written.some(([path]) => path.includes('cache'))).toBe(true);
  expect(written.some(([path]) => path.endsWith('mcpx.log'))).toBe(true);
  const config = join(place.cwd, 'mcp.json');
  expect(written.filter(([path, text]) => path !== config && text.includes(secret)).map(([path]) => path)).toEqual([]);
});

test('whatever a server echoes of what it was given, no log, status, event, error or file shows it', async () => {
  const place = emptyPlace();
  const web = createServer((request, response) => {
    request.resume().once('end', () => {
      const said = `no route for ${request.url} with ${request.headers.authorization} and ${request.headers['x-team']}`;
      const isPlain = request.url?.startsWith('/plain');
      response.writeHead(404, { 'content-type': isPlain ? 'text/plain' : 'application/json' });
      response.end(
        isPlain ? said : JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: said } }),
      );
    });
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  onTestFinished(() => void web.close());
  const { port } = web.address() as AddressInfo;
  const secrets = ['hunter-of-pass', 'hunter-of-json', 'hunter-of-mystery', 'hunter-of-query', 'hunter-of-team'];
  const env = {
    MYSQL_PASS: 'hunter-of-pass',
    OPENAPI_MCP_HEADERS: '{"Authorization":"Bearer hunter-of-json"}',
    MYSTERY: '${MYSTERY}',
  };
  const forms = `const said = [env.MYSQL_PASS, env.OPENAPI_MCP_HEADERS, JSON.stringify(env.OPENAPI_MCP_HEADERS), Buffer.from('me:' + env.MYSTERY).toString('base64'), encodeURIComponent(env.MYSTERY + '/')].join(' ');`;
  const script = (body: string) => ['-e', `const { env } = process; ${forms} ${body}`];
  const replies = (handler: string) =>
    script(`require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const answer = (more) => id !== undefined && console.log(JSON.stringify({ jsonrpc: '2.0', id, ...more }));
      const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } };
      ${handler}
    });`);
  const remote = (path: string) => ({
    url: `http://127.0.0.1:${port}/${path}/9f8e7d6c5b4a39281706f5e4d3c2b1a0?key=hunter-of-query`,
    headers: {
      Authorization: `Basic ${Buffer.from('me:hunter-of-pass').toString('base64')}`,
      'X-Team': 'hunter-of-team',
    },
    type: 'http',
  });
  const servers = {
    ends: { command: node, args: script('process.stderr.write(said + "\\n", () => process.exit(1));'), env },
    noisy: { command: node, args: script('console.log(said); setInterval(() => {}, 1000);'), env, startupTimeout: 500 },
    refuses: { command: node, args: replies('answer({ error: { code: -32000, message: said, data: said } });'), env },
    unlisted: {
      command: node,
      args: replies(
        'answer(method === "initialize" ? { result: hello } : { error: { code: -32000, message: said } });',
      ),
      env,
    },
    plain: remote('plain'),
    worded: remote('worded'),
  };
  const log = join(place.cwd, 'mcpx.log');
  const config = place.file('mcp.json', {
    mcpServers: servers,
    log: { level: 'debug', file: log },
    audit: { file: join(place.cwd, 'audit.log'), values: true },
  });
  const gateway = start(['serve', config, '--port', '0'], {
    cwd: place.cwd,
    env: { ...place.env, MYSTERY: 'hunter-of-mystery' },
  });
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (\S+)/)) as RegExpExecArray;
  const base = url.replace(/\/mcp$/, '');
  const events = await fetch(`${base}/api/events`);
  const answers: string[] = [];
  for (const server of Object.keys(servers)) {
    const params = { name: 'exec', arguments: { server_name: server, tool_name: 'x' } };
    answers.push(JSON.stringify(await post(url, 'tools/call', params)));
    answers.push(
      JSON.stringify(await post(url, 'tools/call', { name: 'inspect', arguments: { server_name: server } })),
    );
  }
  const status = await (await fetch(`${base}/api/status`)).text();
  gateway.child.kill('SIGTERM');
  const { stderr } = await gateway.finished;
  const heard = await events.text().catch(() => '');
  const shown = await run(['config', 'show', '--config', config], place);
  const listed = await run(['list', '--config', config], place);
  const files = [...filesBelow(place.env.HOME ?? ''), ...filesBelow(place.cwd)].filter(([path]) => path !== config);

  // The quoted text is there, so that nothing was hidden by an empty message.
  for (const said of [answers[0], answers[4], answers[8], answers[10], status, stderr]) expect(said).toContain('***');
  expect(heard).toContain('event: state');
  const every: [string, string][] = [
    ...answers.map((answer): [string, string] => ['answer', answer]),
    ...files,
    ...Object.entries({ status, stderr, heard, shown: shown.stdout, listed: listed.stdout }),
  ];
  const encoded = [...secrets, 'hunter-of-mystery/'].flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(`me:${secret}`).toString('base64').slice(4, -4),
  ]);
  for (const secret of [...encoded, '9f8e7d6c5b4a39281706f5e4d3c2b1a0']) {
    expect(every.filter(([, text]) => text.includes(secret)).map(([where]) => `${where} shows ${secret}`)).toEqual([]);
  }
});

test('temporary files of a killed mcpx, which hold the text of a config, are gone after the next start', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', { mcpServers: { math: { builtin: 'math' } } });
  const dead = start(['--version'], place);
  await dead.finished;
  const home = join(place.env.HOME ?? '', '.mcpx');
  for (const folder of ['run', 'setup', 'sessions/shown']) mkdirSync(join(home, folder), { recursive: true });
  const left = [
    join(place.cwd, `.mcp.json.${dead.child.pid}.0a1b2c3d.tmp`),
    join(home, `.config.json.${dead.child.pid}.0a1b2c3d.tmp`),
    join(home, 'run', `.1-2.json.${dead.child.pid}.0a1b2c3d.tmp`),
    join(home, 'setup', `.2026-01-02-zed-settings.json.${dead.child.pid}.0a1b2c3d.tmp`),
    join(home, 'sessions', 'shown', `.0a.json.${dead.child.pid}.0a1b2c3d.tmp`),
  ];
  const foreign = join(place.cwd, `.notes.txt.${dead.child.pid}.0a1b2c3d.tmp`);
  for (const file of [...left, foreign]) writeFileSync(file, 'hunter2');
  expect((await run(['exec', 'math.calculate', 'expression=1+1', '--config', config], place)).code).toBe(0);
  expect([...left, foreign].filter((file) => existsSync(file))).toEqual([foreign]);
});

test('a home that cannot be written is said once, with what does not work, and calls work', async () => {
  const place = emptyPlace();
  const blocked = join(place.file('in-the-way', ''), 'home');
  const config = place.file('mcp.json', { mcpServers: { one: stdio, math: { builtin: 'math' } } });
  const gateway = start(['serve', config, '--port', '0'], { ...place, env: { ...place.env, MCPX_HOME: blocked } });
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (\S+)/)) as RegExpExecArray;
  const params = { name: 'exec', arguments: { server_name: 'one', tool_name: 'echo', arguments: { n: 1 } } };
  expect(JSON.stringify(await post(url, 'tools/call', params))).toContain('n');
  const status = (await (await fetch(url.replace(/\/mcp$/, '/api/status'))).json()) as { problems?: string[] };
  gateway.child.kill('SIGTERM');
  const { stderr } = await gateway.finished;
  const warnings = stderr.split('\n').filter((line) => /warn|error/.test(line));
  expect(warnings).toEqual([expect.stringMatching(/the folder ".*home" cannot be written \(ENOTDIR\).*MCPX_HOME/)]);
  expect(status.problems).toEqual([expect.stringContaining('cannot be written')]);
});
