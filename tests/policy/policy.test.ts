/** Globs, access and tokens: pure decisions as tables. */
import { describe, expect, test } from 'vitest';
import type { Filter } from '../../src/config/config.ts';
import { createAccess, narrowAccess, type TokenFilters } from '../../src/policy/access.ts';
import { createAuthenticator, mayUseProfile } from '../../src/policy/auth.ts';
import { matchesGlob } from '../../src/policy/glob.ts';

describe('globs', () => {
  test.each([
    ['*', '', true],
    ['*', 'anything', true],
    ['read_*', 'read_file', true],
    ['read_*', 'Read_file', false],
    ['*delete*', 'bulk_delete_all', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXbY', false],
    ['[a]', '[a]', true],
    ['a.c', 'abc', false],
    ['', '', true],
    ['', 'x', false],
    ['天气*', '天气服务', true],
    ['cafe\u0301*', 'café', true],
    ['café', 'cafe\u0301', true],
  ])('%j on %j is %j', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
  });

  test('a pattern of many stars does not stall', () => {
    expect(matchesGlob(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false);
  });
});

describe('access', () => {
  const check = (rules: { server?: Filter; profile?: Filter; deny?: string[]; token?: Filter }, name: string) => {
    const server = { name: 'github', tools: rules.server ?? {}, resources: {}, prompts: {} };
    const profile = { servers: [server], tools: rules.profile ?? {}, resources: {}, prompts: {} };
    const access = createAccess({ profile, policy: { deny: rules.deny ?? [] } });
    const narrowed = narrowAccess(access, { tools: rules.token ?? {}, resources: {}, prompts: {} });
    return narrowed.allows({ server: 'github', kind: 'tool', name });
  };

  test.each([
    ['nothing said: allowed', {}, 'create_issue', true],
    ['a server filter sees the plain name', { server: { allow: ['create_*'] } }, 'create_issue', true],
    ['what is not allowed is denied', { server: { allow: ['list_*'] } }, 'create_issue', false],
    ['deny wins over allow', { server: { allow: ['*'], deny: ['create_*'] } }, 'create_issue', false],
    ['an empty allow list allows nothing', { server: { allow: [] } }, 'create_issue', false],
    ['a profile filter sees server.name', { profile: { deny: ['github.create_*'] } }, 'create_issue', false],
    ['a policy glob sees server.name', { deny: ['*.drop_*'] }, 'drop_table', false],
    ['a policy glob leaves the others alone', { deny: ['*.drop_*'] }, 'list_tables', true],
    ['a glob without a server sees the plain name', { profile: { deny: ['create_*'] } }, 'create_issue', false],
    ['a glob without a server does not see the server', { profile: { allow: ['git*'] } }, 'create_issue', false],
    ['a star alone is everything', { profile: { allow: ['*'] }, token: { allow: ['*'] } }, 'create_issue', true],
    ['a tool cannot borrow the name of an allowed server', { token: { allow: ['slack.*'] } }, 'slack.post', false],
    ['a token narrows', { token: { allow: ['github.list_*'] } }, 'create_issue', false],
    ['a token cannot widen', { server: { deny: ['*'] }, token: { allow: ['*'] } }, 'create_issue', false],
  ])('%s', (_, rules, name, expected) => {
    expect(check(rules, name)).toBe(expected);
  });

  test('a URI with dots is no qualified name', () => {
    const server = { name: 'web', tools: {}, resources: {}, prompts: {} };
    const allows = (deny: string[], name: string) =>
      createAccess({
        profile: { servers: [server], tools: {}, resources: { deny }, prompts: {} },
        policy: { deny: [] },
      }).allows({ server: 'web', kind: 'resource', name });
    expect(allows(['https://x.example/*'], 'https://x.example/a')).toBe(false);
    expect(allows(['file:///etc/*'], 'file:///etc/passwd')).toBe(false);
    expect(allows(['web.https://x.example/*'], 'https://x.example/a')).toBe(false);
    expect(allows(['other.https://x.example/*'], 'https://x.example/a')).toBe(true);
  });

  test.each(['天气', '天气 查询 (测试)', 'café', 'a:b', 'my server'])('rules name the server %j', (server) => {
    const filters = { tools: {}, resources: {}, prompts: {} };
    const servers = [server, 'other'].map((name) => ({ name, ...filters }));
    const denied = (pattern: string) => createAccess({ profile: { servers, ...filters }, policy: { deny: [pattern] } });
    const drop = { server, kind: 'tool', name: 'drop' } as const;
    expect(denied(`${server}.drop`).allows(drop)).toBe(false);
    expect(denied(`${server.normalize('NFD')}.d*`).allows(drop)).toBe(false);
    expect(denied(`${server}.drop`).allows({ ...drop, server: 'other' })).toBe(true);
    expect(denied(`${server}.drop`).allows({ ...drop, name: 'list' })).toBe(true);
    expect(denied(`${server}.*`).allowsServer(server)).toBe(false);
    expect(denied(`${server}.*`).allowsServer('other')).toBe(true);
  });

  test('a pattern with a colon and a dot names a server, or a URI', () => {
    const servers = ['a:b', 'other'].map((name) => ({ name, tools: {}, resources: {}, prompts: {} }));
    const only = { allow: ['a:b.*'] };
    const access = createAccess({
      profile: { servers, tools: only, resources: only, prompts: {} },
      policy: { deny: [] },
    });
    expect(access.allows({ server: 'a:b', kind: 'tool', name: 'read' })).toBe(true);
    expect(access.allows({ server: 'other', kind: 'resource', name: 'a:b.txt' })).toBe(true);
    // A tool cannot borrow the name of an allowed server.
    expect(access.allows({ server: 'other', kind: 'tool', name: 'a:b.read' })).toBe(false);
  });

  test('a server outside the profile is denied whatever it is called', () => {
    const access = createAccess({
      profile: { servers: [], tools: {}, resources: {}, prompts: {} },
      policy: { deny: [] },
    });
    expect(access.allows({ server: '__proto__', kind: 'tool', name: 'x' })).toBe(false);
  });
});

describe('servers', () => {
  const server = (name: string) => ({ name, tools: {}, resources: {}, prompts: {} });
  const all = { tools: {}, resources: {}, prompts: {} };
  const three = (filter: { allow?: string[]; deny?: string[] }) => ({
    tools: filter,
    resources: filter,
    prompts: filter,
  });
  const check = (
    { deny = [], profile = all, token = all }: { deny?: string[]; profile?: typeof all; token?: TokenFilters },
    visible: string[],
  ) => {
    const access = narrowAccess(
      createAccess({
        profile: { ...profile, servers: [server('git'), server('github'), server('time')] },
        policy: { deny },
      }),
      token,
    );
    expect(['git', 'github', 'time', '__proto__', 'nobody'].filter((name) => access.allowsServer(name))).toEqual(
      visible,
    );
  };

  test.each<[string, { deny?: string[]; profile?: typeof all; token?: TokenFilters }, string[]]>([
    ['all of them', {}, ['git', 'time']],
    ['not those that the policy denies a part of', { deny: ['git.drop_*'] }, ['time']],
    ['none where any may be denied a part', { deny: ['drop_*'] }, []],
    ['those of which a profile lets everything through', { profile: three({ allow: ['git.*'] }) }, ['git']],
    ['not those of which a token is denied a part', { token: { ...all, prompts: { deny: ['time.x'] } } }, ['git']],
    ['those that a token names', { token: { ...all, servers: ['ti*'] } }, ['time']],
  ])('may be used as a whole: %s', (_, { deny = [], profile = all, token = all }, open) => {
    const servers = [server('git'), server('time'), { ...server('cut'), tools: { deny: ['x'] } }];
    const access = narrowAccess(createAccess({ profile: { ...profile, servers }, policy: { deny } }), token);
    expect(['git', 'time', 'cut', 'nobody'].filter((name) => access.allowsAll(name))).toEqual(open);
  });

  test.each<[string, Parameters<typeof check>[0], string[]]>([
    ['are all there without filters', {}, ['git', 'github', 'time']],
    ['are missing where the policy denies all of them', { deny: ['git*.*'] }, ['time']],
    ['stay where the policy denies a part', { deny: ['git.drop_*', '*.drop_*', 'x'] }, ['git', 'github', 'time']],
    ['are missing with everything', { deny: ['*'] }, []],
    ['are missing where a profile denies every kind', { profile: three({ deny: ['git.*'] }) }, ['github', 'time']],
    [
      'stay where one kind is left',
      { profile: { ...three({ deny: ['git.*'] }), prompts: {} } },
      ['git', 'github', 'time'],
    ],
    ['are missing where a token allows others only', { token: three({ allow: ['github.create_*'] }) }, ['github']],
    ['stay for names without a server', { token: three({ allow: ['read_*'] }) }, ['git', 'github', 'time']],
    ['are missing where a token allows nothing', { token: three({ allow: [] }) }, []],
    ['are those that a token names', { token: { ...all, servers: ['git?ub', 'tim*'] } }, ['github', 'time']],
  ])('%s', (_, rules, visible) => check(rules, visible));

  test('a token that names servers may use nothing of others', () => {
    const access = narrowAccess(
      createAccess({ profile: { ...all, servers: [server('git'), server('time')] }, policy: { deny: [] } }),
      { ...all, servers: ['time'] },
    );
    expect(access.allows({ server: 'git', kind: 'tool', name: 'x' })).toBe(false);
    expect(access.allows({ server: 'time', kind: 'tool', name: 'x' })).toBe(true);
  });
});

describe('tokens', () => {
  const entry = { name: 'ci', tools: {}, resources: {}, prompts: {}, admin: false };
  const auth = createAuthenticator([
    { ...entry, secret: 's3cret' },
    { ...entry, name: 'ops', secret: 'other' },
  ]);

  test.each([
    ['Bearer s3cret', 'ci'],
    ['bearer s3cret', 'ci'],
    ['Bearer other', 'ops'],
    ['Bearer s3cre', undefined],
    ['Bearer s3cret x', undefined],
    ['Basic s3cret', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j belongs to %j', (header, name) => {
    expect(auth.principal(header)?.name).toBe(name);
  });

  test('the principal carries no secret', () => {
    expect(JSON.stringify(auth.principal('Bearer s3cret'))).not.toContain('s3cret');
  });

  test('without tokens nobody is asked for one', () => {
    expect(createAuthenticator([]).required).toBe(false);
    expect(auth.required).toBe(true);
  });

  test('a token with profiles may use those only', () => {
    expect(mayUseProfile({ profiles: ['a'] }, 'a')).toBe(true);
    expect(mayUseProfile({ profiles: ['a'] }, 'b')).toBe(false);
    expect(mayUseProfile({}, 'b')).toBe(true);
  });
});
