/** Renewals whose answer is lost after the authorization server has rotated the refresh token, and sign-ins with a code. */

import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  browse,
  confirmDevice,
  type ProtectedWorld,
  protectedWorld,
  type WorldOptions,
} from '../upstream/oauth-world.ts';
import { emptyPlace, type Place, run, start } from './program.ts';

const tokensFile = (place: Place) => join(place.env.HOME ?? '', '.mcpx', 'tokens.json');
const words = (place: Place) => ['exec', 'docs.whoami', '--config', join(place.cwd, 'mcp.json')];

/** A user who is signed in to one server, whose token has expired, and to another one, which is not used. */
async function signedIn(world: ProtectedWorld): Promise<Place> {
  const place = emptyPlace();
  place.file('mcp.json', { mcpServers: { docs: { type: 'http', url: world.url } } });
  const running = start(['login', 'docs', '--config', join(place.cwd, 'mcp.json'), '--json'], place);
  const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
  await browse((JSON.parse(line) as { url: string }).url);
  expect((await running.finished).code).toBe(0);
  const { signIns } = JSON.parse(readFileSync(tokensFile(place), 'utf8'));
  for (const { tokens } of signIns) tokens.expiresAt = 1;
  signIns.push({ ...signIns[0], resource: 'https://other.example/mcp', tokens: { access: 'other-access' } });
  writeFileSync(tokensFile(place), JSON.stringify({ version: 1, signIns }), { mode: 0o600 });
  return place;
}

type Lossy = Required<Pick<WorldOptions, 'intercept'>> & { lossy: boolean };

/** Lets the authorization server do its work and calls `lose` instead of sending the answer. */
function losing(lose: (response: ServerResponse) => void): Lossy {
  const options: Lossy = {
    lossy: false,
    intercept({ url }, response) {
      if (!options.lossy || url !== '/token') return false;
      response.end = () => {
        lose(response);
        return response;
      };
      return false;
    },
  };
  return options;
}

describe.each([
  ['with rotation and reuse detection', true],
  ['without rotation', false],
])('an answer of the token endpoint is lost, %s:', (_, rotates) => {
  const configuration = { rotateRefreshToken: rotates };

  /** Checks what remains: the sign-in if the refresh token is still good, else the command; the other sign-in always. */
  async function remains(place: Place): Promise<void> {
    const next = await run(words(place), place);
    if (rotates) {
      expect([next.code, next.stdout]).toEqual([3, '']);
      expect(next.stderr).toMatch(/server "docs" needs a new sign-in: .* refused to renew it: invalid_grant/);
      expect(next.stderr).toContain('hint: mcpx login docs');
    } else expect([next.code, next.stdout]).toEqual([0, 'signed in as ada\n']);
    const stored = readFileSync(tokensFile(place), 'utf8');
    expect(stored).toContain('other-access');
    const [{ tokens = {} }] = JSON.parse(stored).signIns;
    for (const secret of [tokens.access, tokens.refresh]) if (secret) expect(next.stderr).not.toContain(secret);
  }

  test('the connection is cut', async () => {
    const options = losing(({ socket }) => socket?.destroy());
    const world = await protectedWorld({ ...options, configuration });
    const place = await signedIn(world);
    options.lossy = true;
    const cut = await run(words(place), place);
    expect([cut.code, cut.stderr]).toEqual([4, expect.stringMatching(/"docs" cannot be reached at .*ECONNRESET/)]);
    options.lossy = false;
    await remains(place);
  }, 60_000);

  test('the process is killed', async () => {
    let arrived = () => {};
    const lost = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const options = losing(() => arrived());
    const world = await protectedWorld({ ...options, configuration });
    const place = await signedIn(world);
    options.lossy = true;
    const killed = start(words(place), place);
    await lost;
    killed.child.kill('SIGKILL');
    await killed.finished;
    options.lossy = false;
    await remains(place);
  }, 60_000);
});

test('after a lost answer, a new sign-in makes the same call work', async () => {
  const options = losing(({ socket }) => socket?.destroy());
  const world = await protectedWorld(options);
  const place = await signedIn(world);
  options.lossy = true;
  await run(words(place), place);
  options.lossy = false;
  expect((await run(words(place), place)).code).toBe(3);
  const running = start(['login', 'docs', '--config', join(place.cwd, 'mcp.json'), '--json'], place);
  const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
  await browse((JSON.parse(line) as { url: string }).url);
  expect((await running.finished).code).toBe(0);
  expect((await run(words(place), place)).stdout).toBe('signed in as ada\n');
}, 60_000);

test('a clock that went back: the token that looks valid is refused, renewed, and the call works', async () => {
  const world = await protectedWorld();
  const place = await signedIn(world);
  const later = readFileSync(tokensFile(place), 'utf8').replace('"expiresAt":1', `"expiresAt":${Date.now() * 2}`);
  writeFileSync(tokensFile(place), later, { mode: 0o600 });
  expect((await run(words(place), place)).stdout).toBe('signed in as ada\n');
  world.expireAll();
  world.asked.length = 0;
  expect((await run(words(place), place)).stdout).toBe('signed in as ada\n');
  expect(world.asked.filter((line) => line === 'POST /token')).toHaveLength(1);
}, 60_000);

test('tokens for another audience are refused with the command, without a loop of renewals', async () => {
  const resourceIndicators = {
    enabled: true,
    useGrantedResource: () => true,
    getResourceServerInfo: () => ({ scope: 'read', audience: 'https://bank.example', accessTokenFormat: 'opaque' }),
  } as any;
  const world = await protectedWorld({ configuration: { features: { resourceIndicators } } });
  const place = await signedIn(world);
  world.asked.length = 0;
  const refused = await run(words(place), place);
  expect([refused.code, refused.stdout]).toEqual([3, '']);
  expect(refused.stderr).toContain('hint: mcpx login docs');
  expect(world.asked.filter((line) => line === 'POST /token').length).toBeLessThan(4);
}, 60_000);

describe('login --device', () => {
  const device: WorldOptions = { configuration: { features: { deviceFlow: { enabled: true } } } };
  const login = (place: Place, ...more: string[]) => [
    'login',
    'docs',
    '--device',
    '--config',
    join(place.cwd, 'mcp.json'),
    ...more,
  ];
  const placeOf = (world: ProtectedWorld) => {
    const place = emptyPlace();
    place.file('mcp.json', { mcpServers: { docs: { type: 'http', url: world.url } } });
    return place;
  };

  test('prints the address and the code, and ends when the user has confirmed it elsewhere', async () => {
    const world = await protectedWorld(device);
    const place = placeOf(world);
    const running = start(login(place), place);
    const [, url = ''] = (await running.wrote('stderr', /(http:\S+user_code=\S+)/)) as RegExpExecArray;
    expect(await confirmDevice(url)).toMatch(/^200/);
    const { code, stdout, stderr } = await running.finished;
    expect([code, stdout]).toEqual([0, expect.stringContaining('docs')]);
    const { signIns } = JSON.parse(readFileSync(tokensFile(place), 'utf8'));
    for (const secret of [signIns[0].tokens.access, signIns[0].tokens.refresh])
      expect(stdout + stderr).not.toContain(secret);
    expect((await run(words(place), place)).stdout).toBe('signed in as ada\n');
  }, 60_000);

  test('--json prints the address and the code for scripts', async () => {
    const world = await protectedWorld(device);
    const place = placeOf(world);
    const running = start(login(place, '--json'), place);
    const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
    const { url, code } = JSON.parse(line);
    expect(url).toContain(code);
    expect(await confirmDevice(url)).toMatch(/^200/);
    const { code: exit, stdout } = await running.finished;
    expect([
      exit,
      stdout
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)).length,
    ]).toEqual([0, 2]);
  }, 60_000);

  test('names --no-browser if the server has no device grant', async () => {
    const world = await protectedWorld();
    const place = placeOf(world);
    const { code, stdout, stderr } = await run(login(place), place);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/hint: mcpx login docs --config \S+ --no-browser/);
  });

  test('Ctrl-C ends the wait with 130', async () => {
    const world = await protectedWorld(device);
    const place = placeOf(world);
    const running = start(login(place), place);
    await running.wrote('stderr', /user_code=/);
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
  });
});
