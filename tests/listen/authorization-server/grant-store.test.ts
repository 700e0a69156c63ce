/** Grants in a real file: codes, rotation of refresh tokens, reuse, clocks that jump, and several processes. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createGrantFile, type GrantFile } from '../../../src/listen/authorization-server/grant-file.ts';
import {
  type Consent,
  createGrantStore,
  type GrantStore,
} from '../../../src/listen/authorization-server/grant-store.ts';
import { until } from '../../setup/until.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const KEY = Buffer.alloc(32, 7);
const REDIRECT = 'https://app.example/cb';
const RESOURCE = 'http://127.0.0.1:3095/mcp';

interface World {
  path: string;
  file: GrantFile;
  grants: GrantStore;
  warnings: string[];
  clock: { now: number };
  /** False after the token of the config was removed. */
  covered: { is: boolean };
  /** Another process with the same file. */
  replica(): GrantStore;
}

function world(): World {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-grants-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'home', 'grants.json');
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const clock = { now: Date.parse('2026-11-18T12:00:00Z') };
  const covered = { is: true };
  const open = (file: GrantFile) =>
    createGrantStore({
      file,
      tokenKey: () => KEY,
      lifetimes: () => ({ access: HOUR, refresh: 720 * HOUR }),
      isCovered: () => covered.is,
      scopeOf: (profile) => profile,
      log: { warn, debug: warn },
      now: () => clock.now,
    });
  const file = createGrantFile(path, warn);
  return { path, file, grants: open(file), warnings, clock, covered, replica: () => open(createGrantFile(path, warn)) };
}

let forms = 0;
const consent = (more: Partial<Consent> = {}): Consent => ({
  client: { id: 'c1', name: 'App', redirectHost: 'app.example' },
  ...{ token: 'ci', binding: 'b', profiles: ['default'], resource: RESOURCE, redirectUri: REDIRECT },
  challenge: CHALLENGE,
  form: `form ${++forms}`,
  ...more,
});
const exchange = { clientId: 'c1', redirectUri: REDIRECT, verifier: VERIFIER, resource: RESOURCE };
const renewal = { clientId: 'c1', scopes: undefined, resource: undefined };

async function signIn({ grants }: Pick<World, 'grants'>, more: Partial<Consent> = {}) {
  const { code } = await grants.agree(consent(more));
  return { code, ...(await grants.redeem(code, exchange)).tokens };
}

test('a code gives tokens once; the file has mode 0600 and none of the tokens', async () => {
  const place = world();
  const { code, access, refresh } = await signIn(place);
  expect(access).toMatch(/^mcpx_at_[\w-]{43}$/);
  expect(place.grants.find(access)).toMatchObject({ token: 'ci', profiles: ['default'], resource: RESOURCE });
  expect(place.grants.find(refresh)).toBeUndefined();
  const text = readFileSync(place.path, 'utf8');
  for (const secret of [code, access, refresh]) expect(text).not.toContain(secret.replace(/^mcpx_\w+?_/, ''));
  if (process.platform !== 'win32') expect(statSync(place.path).mode & 0o777).toBe(0o600);
});

test('a code that comes twice ends its tokens', async () => {
  const place = world();
  const { code, access } = await signIn(place);
  await expect(place.grants.redeem(code, exchange)).rejects.toThrow('the authorization code was used twice');
  expect(place.grants.find(access)).toBeUndefined();
  expect(place.warnings.join()).toContain('has ended: its code came twice');
  await expect(place.grants.redeem(code, exchange)).rejects.toMatchObject({ error: 'invalid_grant' });
});

test.each<[string, Partial<typeof exchange>]>([
  ['another client', { clientId: 'c2' }],
  ['another redirect URI', { redirectUri: 'https://app.example/cb2' }],
  ['a wrong verifier', { verifier: 'w'.repeat(43) }],
  ['the challenge as verifier', { verifier: CHALLENGE }],
  ['a short verifier', { verifier: 'v' }],
  ['another resource', { resource: `${RESOURCE}/other` }],
])('a code is refused with %s, and stays valid for its client', async (_, wrong) => {
  const { grants } = world();
  const { code } = await grants.agree(consent());
  const refused = expect(grants.redeem(code, { ...exchange, ...wrong }));
  await refused.rejects.toMatchObject({ error: expect.stringMatching(/^invalid_(?:grant|target)$/) });
  await expect(grants.redeem(code, exchange)).resolves.toBeDefined();
});

test('a code needs no redirect URI: OAuth 2.1 clients send none to the token endpoint', async () => {
  const { grants } = world();
  const { code } = await grants.agree(consent());
  await expect(grants.redeem(code, { ...exchange, redirectUri: undefined })).resolves.toBeDefined();
});

test('a code expires after a minute', async () => {
  const { grants, clock } = world();
  const { code } = await grants.agree(consent());
  clock.now += MINUTE;
  await expect(grants.redeem(code, exchange)).rejects.toMatchObject({ error: 'invalid_grant' });
});

test('a form is accepted once, also by another process', async () => {
  const place = world();
  await place.grants.agree(consent({ form: 'same' }));
  await expect(place.replica().agree(consent({ form: 'same' }))).rejects.toThrow('was answered before');
});

test('access tokens expire; refresh tokens rotate, and keep the grant alive', async () => {
  const { grants, clock } = world();
  const first = await signIn({ grants });
  clock.now += HOUR;
  expect(grants.find(first.access)).toBeUndefined();
  const { tokens: second } = await grants.renew(first.refresh, renewal);
  expect(second.refresh).not.toBe(first.refresh);
  expect(grants.find(second.access)).toBeDefined();
  clock.now += 719 * HOUR;
  const { tokens: third } = await grants.renew(second.refresh, renewal);
  clock.now += 720 * HOUR;
  await expect(grants.renew(third.refresh, renewal)).rejects.toMatchObject({ error: 'invalid_grant' });
});

/** Signs in, renews the tokens once, and uses the new access token. */
async function renewAndUse(place: ReturnType<typeof world>) {
  const { grants, file } = place;
  const first = await signIn(place);
  const { tokens: second } = await grants.renew(first.refresh, renewal);
  expect(grants.find(second.access)).toBeDefined();
  await until(() => file.read().grants[0]?.pairs[1]?.used === true);
  return { first, second };
}

test('an old refresh token ends the grant if the client has used the newer tokens', async () => {
  const place = world();
  const { grants, clock } = place;
  const { first, second } = await renewAndUse(place);
  clock.now += MINUTE;
  await expect(place.replica().renew(first.refresh, renewal)).rejects.toThrow('the refresh token was used twice');
  expect(grants.find(second.access)).toBeUndefined();
  await expect(grants.renew(second.refresh, renewal)).rejects.toMatchObject({ error: 'invalid_grant' });
});

test('an old refresh token ends the grant if the newer one was exchanged', async () => {
  const { grants, clock } = world();
  const first = await signIn({ grants });
  const { tokens: second } = await grants.renew(first.refresh, renewal);
  clock.now += MINUTE;
  const { tokens: third } = await grants.renew(second.refresh, renewal);
  await expect(grants.renew(first.refresh, renewal)).rejects.toThrow('used twice');
  expect(grants.find(third.access)).toBeUndefined();
});

test('a client that never got the response renews again with the old token, even days later', async () => {
  const { grants, clock } = world();
  const first = await signIn({ grants });
  const { tokens: lost } = await grants.renew(first.refresh, renewal);
  clock.now += 72 * HOUR;
  expect(grants.find(lost.access)).toBeUndefined();
  const { tokens: again } = await grants.renew(first.refresh, renewal);
  expect(again).toMatchObject({ access: lost.access, refresh: lost.refresh });
  expect(grants.find(again.access)).toBeDefined();
  clock.now += HOUR;
  expect(grants.find(again.access)).toBeUndefined();
});

test('programs that share a refresh token may renew at the same time', async () => {
  const place = world();
  const first = await signIn(place);
  const both = [place.grants, place.replica(), place.replica()];
  const renewed = await Promise.all(both.map((grants) => grants.renew(first.refresh, renewal)));
  for (const { tokens } of renewed) expect(place.grants.find(tokens.access)).toBeDefined();
});

test('a thief who renews first and waits gets no tokens of his own, so one of both is noticed', async () => {
  const place = world();
  const { grants, clock, file } = place;
  const first = await signIn(place);
  const { tokens: stolen } = await grants.renew(first.refresh, renewal);
  clock.now += MINUTE;
  const { tokens: own } = await grants.renew(first.refresh, renewal);
  expect(grants.find(own.access)).toBeDefined();
  await until(() => file.read().grants[0]?.pairs[1]?.used === true);
  clock.now += HOUR;
  const { tokens: next } = await grants.renew(own.refresh, renewal);
  expect(grants.find(next.access)).toBeDefined();
  await until(() => file.read().grants[0]?.pairs[2]?.used === true);
  clock.now += MINUTE;
  await expect(grants.renew(stolen.refresh, renewal)).rejects.toThrow('the refresh token was used twice');
  expect(grants.find(next.access)).toBeUndefined();
});

test('a token that comes again and again is not accepted for longer', async () => {
  const place = world();
  const { grants, clock } = place;
  const { first } = await renewAndUse(place);
  clock.now += 9_000;
  await expect(grants.renew(first.refresh, renewal)).resolves.toBeDefined();
  clock.now += 9_000;
  await expect(grants.renew(first.refresh, renewal)).rejects.toThrow('the refresh token was used twice');
});

test('a refresh token of another client, for another resource or for more profiles is refused', async () => {
  const { grants } = world();
  const { refresh } = await signIn({ grants });
  const wrong = (more: object) => expect(grants.renew(refresh, { ...renewal, ...more })).rejects;
  await wrong({ clientId: 'c2' }).toMatchObject({ error: 'invalid_grant' });
  await wrong({ resource: `${RESOURCE}/b` }).toMatchObject({ error: 'invalid_target' });
  await wrong({ scopes: ['default', 'secret'] }).toMatchObject({ error: 'invalid_scope' });
  await expect(grants.renew(refresh, { ...renewal, scopes: ['default'] })).resolves.toBeDefined();
});

test('a grant ends with the token of the config by which it began', async () => {
  const place = world();
  const { refresh } = await signIn(place);
  const { code } = await place.grants.agree(consent());
  place.covered.is = false;
  await expect(place.grants.renew(refresh, renewal)).rejects.toMatchObject({ error: 'invalid_grant' });
  await expect(place.grants.redeem(code, exchange)).rejects.toMatchObject({ error: 'invalid_grant' });
  expect(place.warnings.join()).toContain('its token or password was removed or changed');
  expect(place.file.read().grants).toEqual([]);
});

test('either token revokes the grant, for its own client only', async () => {
  const { grants } = world();
  const { access, refresh } = await signIn({ grants });
  await grants.revoke(refresh, 'c2');
  expect(grants.find(access)).toBeDefined();
  await grants.revoke('mcpx_rt_unknown', 'c1');
  await grants.revoke(access, 'c1');
  expect(grants.find(access)).toBeUndefined();
});

test('a clock that is set back makes no token live longer, and nobody has to sign in again', async () => {
  const { grants, clock } = world();
  clock.now += 10 * 365 * 24 * HOUR;
  const { access, refresh } = await signIn({ grants });
  const { code } = await grants.agree(consent());
  clock.now -= 10 * 365 * 24 * HOUR;
  expect(grants.find(access)).toBeUndefined();
  await expect(grants.redeem(code, exchange)).rejects.toMatchObject({ error: 'invalid_grant' });
  const { tokens } = await grants.renew(refresh, renewal);
  expect(grants.find(tokens.access)).toBeDefined();
  clock.now += HOUR;
  expect(grants.find(tokens.access)).toBeUndefined();
});

test('a replica sees grants and their end', async () => {
  const place = world();
  const other = place.replica();
  const { access } = await signIn(place);
  const grant = other.find(access);
  expect(grant).toBeDefined();
  expect(other.byId(grant?.id ?? '')).toBeDefined();
  await place.grants.revoke(access, 'c1');
  expect(other.find(access)).toBeUndefined();
});

test('twenty sign-ins of four processes at once are all kept', async () => {
  const place = world();
  const stores = [place.grants, place.replica(), place.replica(), place.replica()];
  const signed = await Promise.all(
    Array.from({ length: 20 }, (_, i) => signIn({ grants: stores[i % 4] as GrantStore })),
  );
  for (const { access } of signed) expect(place.replica().find(access)).toBeDefined();
});

test('the number of grants has a limit: the one that was not renewed for longest goes', async () => {
  const { grants, file, clock } = world();
  const first = await signIn({ grants });
  const {
    grants: [example],
  } = file.read() as unknown as { grants: [any] };
  const many = Array.from({ length: 499 }, (_, i) => ({
    ...example,
    id: `g${i}`,
    form: `many ${i}`,
    renewed: clock.now + 1,
    pairs: [],
  }));
  await file.change((all) => ({ ...all, grants: [...all.grants, ...many] }));
  clock.now += 2;
  const last = await signIn({ grants });
  expect(file.read().grants).toHaveLength(500);
  expect(grants.find(first.access)).toBeUndefined();
  expect(grants.find(last.access)).toBeDefined();
});

test('a damaged file is moved aside, and clients can sign in again', async () => {
  const place = world();
  await signIn(place);
  for (const text of ['{"version":1,"clients":[', '[]', '{"clients":{},"grants":[]}', 'null']) {
    writeFileSync(place.path, text, { mode: 0o600 });
    const { access } = await signIn({ grants: place.replica() });
    expect(place.grants.find(access)).toBeDefined();
    expect(readFileSync(`${place.path}.damaged`, 'utf8')).toBe(text);
  }
  expect(place.warnings.join()).toContain('Clients of the gateway have to sign in again');
});

test('entries that are not valid are left out, the others stay', async () => {
  const place = world();
  const { access } = await signIn(place);
  const stored = JSON.parse(readFileSync(place.path, 'utf8'));
  const [grant] = stored.grants;
  const wrong = [null, 7, {}, { ...grant, pairs: 'x' }, { ...grant, expires: 'never' }, { ...grant, profiles: [1] }];
  writeFileSync(place.path, JSON.stringify({ ...stored, grants: [...wrong, grant], clients: [null, { id: 1 }] }));
  expect(place.grants.find(access)).toBeDefined();
  expect(place.file.read()).toMatchObject({ clients: [], grants: [{ id: grant.id }] });
});

test.skipIf(process.platform === 'win32')('a file that others can read becomes private, with a warning', async () => {
  const place = world();
  const { access } = await signIn(place);
  chmodSync(place.path, 0o644);
  expect(place.replica().find(access)).toBeDefined();
  expect(statSync(place.path).mode & 0o777).toBe(0o600);
  expect(place.warnings.join()).toContain('other users could read');
});

test('without a file nothing is written', async () => {
  const warn = () => undefined;
  const grants = createGrantStore({
    ...{
      file: createGrantFile(undefined, warn),
      tokenKey: () => KEY,
      lifetimes: () => ({ access: HOUR, refresh: HOUR }),
    },
    ...{ isCovered: () => true, scopeOf: (name) => name, log: { warn, debug: warn }, now: Date.now },
  });
  const { access } = await signIn({ grants });
  expect(grants.find(access)).toBeDefined();
  expect(existsSync('grants.json')).toBe(false);
});
