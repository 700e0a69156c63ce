/** Grants of the executable: kill -9 during renewals, two gateways with one home, the command, and starts that are refused. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listTools, post, register, requestOf, signIn } from '../listen/authorization-server/browser.ts';
import { CONFIG, freePort, PASSWORD, startGateway } from './oauth-world.ts';
import { emptyPlace, type Place, run, start } from './program.ts';

const renewal = (clientId: string, refresh: string) => ({
  grant_type: 'refresh_token',
  client_id: clientId,
  refresh_token: refresh,
});

async function startAt(port: number, place: Place) {
  const running = start(['serve', join(place.cwd, 'mcp.json'), '--http', `127.0.0.1:${port}`], place);
  await running.wrote('stderr', /listening on/);
  return running;
}

test('kill -9 in the middle of renewals signs nobody out', { timeout: 120_000 }, async () => {
  const place = emptyPlace();
  place.file('mcp.json', CONFIG);
  Object.assign(place.env, { ADA_TOKEN: 'token-of-ada-0123456789', MCPX_PASSWORD: PASSWORD });
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  let gateway = await startAt(port, place);
  const { clientId, tokens } = await signIn({ base }, { secret: PASSWORD, scope: 'a' });
  let { refresh_token: refresh, access_token: access } = tokens;
  for (let round = 0; round < 6; round++) {
    const sent = post(base, '/token', renewal(clientId, refresh)).catch(() => undefined);
    // Some rounds end before the change is stored, some between the change and the response.
    await new Promise((done) => setTimeout(done, round * 4));
    gateway.child.kill('SIGKILL');
    const received = await sent;
    if (received?.status === 200) ({ refresh_token: refresh, access_token: access } = received.body);
    await gateway.finished;
    gateway = await startAt(port, place);
    expect(await listTools(base, access, '/mcp/a')).toBe(200);
    const renewed = await post(base, '/token', renewal(clientId, refresh));
    expect(renewed.status).toBe(200);
    ({ refresh_token: refresh, access_token: access } = renewed.body);
  }
  gateway.child.kill('SIGTERM');
  await gateway.finished;
});

test('two gateways with one home share clients, grants and their end', { timeout: 60_000 }, async () => {
  const one = await startGateway();
  const other = await startGateway({}, one.place);
  const signed = await signIn({ base: one.url }, { secret: PASSWORD, scope: 'a' });
  expect(await listTools(other.url, signed.tokens.access_token, '/mcp/a')).toBe(200);
  const renewals = await Promise.all(
    [one, other, one, other].map(({ url }) =>
      post(url, '/token', renewal(signed.clientId, signed.tokens.refresh_token)),
    ),
  );
  expect(renewals.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const table = await run(['grants'], one.place);
  expect(table.stdout).toMatch(
    /^id +client +for +signed in with +profiles +last renewed +ends\n[0-9a-f]{10} +Test app +127\.0\.0\.1:7777 +the password +a +/,
  );
  expect((await run(['grants', '--revoke', 'all'], one.place)).stdout).toMatch(/^revoked [0-9a-f]{10}\n$/);
  for (const { body } of renewals) expect(await listTools(other.url, body.access_token, '/mcp/a')).toBe(401);
});

test('without grants the command says so, and a wrong id names the right one', async () => {
  const { url, place } = await startGateway();
  const none = await run(['grants'], place);
  expect([none.code, none.stdout]).toEqual([0, '']);
  expect((await run(['grants', '--json'], place)).stdout).toBe('[]\n');
  await signIn({ base: url }, { secret: PASSWORD });
  const [{ id }] = JSON.parse((await run(['grants', '--json'], place)).stdout);
  const wrong = await run(['grants', '--revoke', `${id.slice(0, -1)}x`], place);
  expect([wrong.code, wrong.stdout]).toEqual([7, '']);
  expect(wrong.stderr).toContain(`hint: mcpx grants --revoke ${id}`);
  const revoked = await run(['grants', '--revoke', id, '--json'], place);
  expect(JSON.parse(revoked.stdout)).toEqual({ revoked: [id] });
});

test('a gateway whose home cannot be written tells the user and stays up', async () => {
  const place = emptyPlace();
  const home = join(place.env.HOME ?? '', '.mcpx');
  const { url, running } = await startGateway({}, place);
  const id = await register(url);
  rmSync(home, { recursive: true, force: true });
  writeFileSync(home, 'a file in place of the folder');
  const registered = await fetch(`${url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"redirect_uris":["http://127.0.0.1/cb"]}',
  });
  expect(registered.status).toBe(503);
  expect(await registered.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await fetch(requestOf(url, id).url)).status).toBe(400);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(running.said.stderr).toContain('cannot be stored');
  rmSync(home);
  mkdirSync(home);
});

describe('a start is refused', () => {
  const oauth = (more: object) => ({ mcpServers: {}, http: { auth: { oauth: { mode: 'builtin', ...more } } } });
  test.each<[string, object, string[], string]>([
    ['without a token and a password', oauth({}), [], 'nobody could sign in'],
    ['with a short password', oauth({ builtin: { password: 'short' } }), [], 'has fewer than 12 characters'],
    ['with a password from a variable that is not set', oauth({ builtin: { password: '${NOT_SET}' } }), [], 'NOT_SET'],
    ['without TLS on the network', oauth({ builtin: { password: PASSWORD } }), ['--host', '0.0.0.0'], 'needs TLS'],
    [
      'with a public URL without TLS',
      oauth({ url: 'http://mcp.example.com', builtin: { password: PASSWORD } }),
      [],
      'is not https',
    ],
  ])('%s', async (_, config, args, message) => {
    const place = emptyPlace();
    const file = place.file('mcp.json', config);
    const refused = await run(['serve', file, '--http', '--port', '0', ...args], place);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toContain(message);
    expect(refused.stderr).toContain('hint: ');
    expect(refused.stdout).toBe('');
  });
});
