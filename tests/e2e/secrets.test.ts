/** Credentials stay where they belong: those of clients with mcpx, those of a server with that server, and none in any file or line. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptyPlace, fixture, openSession, post, start, startHttp } from './program.ts';

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
