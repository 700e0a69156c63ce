/** The gateway as a team runs it: tokens, REST, administration, metrics, events and the audit log, with the executable. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseMetrics } from '../observe/prometheus.ts';
import { emptyPlace, fixture, run, start, startHttp } from './program.ts';

const stdio = { command: process.execPath, args: [fixture('stdio.mjs')] };

test('a script calls tools, an admin adds a server, and everything is counted, shown and written down', async () => {
  const place = emptyPlace();
  const { port } = await startHttp();
  const tokens = [
    { name: 'ci', token: '${CI_TOKEN}' },
    { name: 'boss', token: 'boss-secret', admin: true },
  ];
  const file = place.file('mcp.json', {
    ...{
      mcpServers: { a: stdio },
      audit: { file: './audit.jsonl' },
      log: { format: 'json' },
      http: { auth: { tokens } },
    },
  });
  const env = { ...place.env, CI_TOKEN: 'ci-secret' };
  const running = start(['serve', file, '--http', '--port', '0'], { ...place, env });
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const ask = (method: string, path: string, secret?: string, body?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  const json = (response: Response): Promise<any> => response.json();
  const events = (await ask('GET', '/api/events', 'ci-secret')).body?.pipeThrough(new TextDecoderStream()).getReader();
  const called = await ask('POST', '/api/default/tools/a/echo', 'ci-secret', { password: 'hunter2' });
  expect([called.status, (await json(called)).content[0].text]).toEqual([200, '{"password":"hunter2"}']);
  const id = called.headers.get('x-request-id');
  let seen = '';
  while (!seen.includes('call_ended')) seen += (await events?.read())?.value ?? '';
  expect(seen).toContain(`"request":"${id}"`);
  expect(seen).not.toContain('hunter2');
  await events?.cancel();

  expect((await ask('POST', '/api/default/tools/a/echo')).status).toBe(401);
  expect((await ask('POST', '/api/servers', 'ci-secret', { name: 'far', url: 'http://127.0.0.1:1' })).status).toBe(403);
  const far = { name: 'far', url: `http://127.0.0.1:${port}/mcp` };
  const added = await ask('POST', '/api/servers', 'boss-secret', far);
  expect([added.status, (await json(added)).added]).toEqual([201, ['far']]);
  expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.far).toEqual({ url: far.url });
  const { tools } = await json(await ask('GET', '/api/default/tools?server=far', 'ci-secret'));
  expect(tools.length).toBeGreaterThan(0);

  const metrics = parseMetrics(await (await ask('GET', '/metrics', 'ci-secret')).text());
  expect(metrics.get('mcpx_calls_total')?.samples).toContainEqual(
    expect.objectContaining({ labels: { profile: 'default', server: 'a', tool: 'echo', outcome: 'ok' }, value: 1 }),
  );
  for (const path of ['/healthz', '/readyz']) expect((await ask('GET', path)).status).toBe(200);

  running.child.kill('SIGTERM');
  expect((await running.finished).code).toBe(0);
  const audit = readFileSync(join(place.cwd, 'audit.jsonl'), 'utf8');
  const entries = audit
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries.find(({ type }) => type === 'call')).toMatchObject({
    ...{ request: id, token: 'ci', server: 'a', name: 'echo', decision: 'allowed', outcome: 'ok' },
  });
  expect(entries.filter(({ type }) => type === 'request').map(({ status }) => status)).toEqual([401, 403]);
  expect(entries.find(({ type }) => type === 'admin')).toMatchObject({
    action: 'add',
    target: 'far',
    token: 'boss',
    ok: true,
  });
  const lines = running.said.stderr.split('\n').filter((line) => line !== '');
  expect(lines.map((line) => JSON.parse(line)).find(({ request }) => request === id)).toMatchObject({
    ...{ level: 'info', message: 'POST /api/default/tools/a/echo 200', token: 'ci' },
  });
  for (const text of [audit, running.said.stderr]) expect(text).not.toMatch(/hunter2|ci-secret|boss-secret/);
});

test('an admin token runs no program, sends no secret elsewhere, and leaves the file as it was when it fails', async () => {
  const place = emptyPlace();
  const before = `{
  // what the team uses
  "mcpServers": {
    "math": { "type": "builtin" }, // arithmetic
    "paid": { "url": "http://127.0.0.1:9/mcp", "headers": { "Authorization": "Bearer \${PAID_KEY}" } }
  },
  "http": { "auth": { "tokens": [{ "name": "boss", "token": "boss-secret", "admin": true }] } }
}
`;
  const file = place.file('mcp.jsonc', before);
  const env = { ...place.env, PAID_KEY: 'hunter2' };
  const running = start(['serve', file, '--http', '--port', '0'], { ...place, env });
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: 'Bearer boss-secret', 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    return [response.status, ((await response.json()) as any).code];
  };
  const elsewhere = 'http://127.0.0.1:8/mcp';
  expect(await ask('POST', '/api/servers', { name: 'x', command: 'sh' })).toEqual([403, 'refused']);
  expect(await ask('POST', '/api/servers', { name: 'x', transport: { type: 'stdio', cmd: 'sh' } })).toEqual([
    403,
    'refused',
  ]);
  expect(await ask('POST', '/api/servers', { name: 'x', url: elsewhere, bearerTokenEnv: 'PAID_KEY' })).toEqual([
    403,
    'refused',
  ]);
  expect(await ask('PATCH', '/api/servers/paid', { url: elsewhere })).toEqual([403, 'refused']);
  expect(await ask('PATCH', '/api/servers/math', { tools: { allow: 5 } })).toEqual([422, 'config']);
  expect(await ask('DELETE', '/api/servers/none')).toEqual([404, 'not_found']);
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(await ask('PATCH', '/api/servers/paid', { timeout: '5s' })).toEqual([200, undefined]);
  const far = Array.from({ length: 5 }, (_, index) => ({ name: `far${index}`, url: elsewhere }));
  const added = await Promise.all(far.map((entry) => ask('POST', '/api/servers', entry)));
  expect(added).toEqual(far.map(() => [201, undefined]));
  expect(await ask('DELETE', '/api/servers/math')).toEqual([200, undefined]);
  const after = readFileSync(file, 'utf8');
  expect(after).toContain('// what the team uses');
  for (const { name } of far) expect(after).toContain(`"${name}"`);
  expect(after).not.toContain('arithmetic');
  expect(running.said.stderr).not.toContain('hunter2');
});

test('with MCPX_LOG_FORMAT=json, an error in the config is JSON lines as well', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', '{ "mcpServers": { "a": { "comand": 1 } ');
  const { code, stderr } = await run(['serve', file], { ...place, env: { ...place.env, MCPX_LOG_FORMAT: 'json' } });
  expect(code).toBe(6);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ level: 'error' });
});
