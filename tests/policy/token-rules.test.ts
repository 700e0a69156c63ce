/** The rights of access tokens by scopes and claims: required scopes, scopes of profiles, and the first rule that matches. */
import { describe, expect, test } from 'vitest';
import type { OAuthRule } from '../../src/config/gateway-oauth.ts';
import { type Granted, rightsOf } from '../../src/policy/token-rules.ts';

const NONE = { tools: {}, resources: {}, prompts: {}, admin: false };
const rule = (more: Partial<OAuthRule>): OAuthRule => ({ ...NONE, ...more });

interface Case {
  requiredScopes?: string[];
  profileScope?: string;
  rules?: OAuthRule[];
  token?: Partial<Granted>;
}

function check({ requiredScopes = [], profileScope, rules = [], token = {} }: Case) {
  const settings = { requiredScopes, profileScope: profileScope ?? null, rules };
  const result = rightsOf(settings, { scopes: [], claims: {}, ...token });
  return 'refused' in result ? result.refused.message : result;
}

test('without rules a token may do everything but administer', () => {
  expect(check({})).toEqual(NONE);
});

test.each<[string, Case, unknown]>([
  ['all are there', { requiredScopes: ['a', 'b'], token: { scopes: ['b', 'c', 'a'] } }, NONE],
  ['one is missing', { requiredScopes: ['a', 'b'], token: { scopes: ['b'] } }, 'the token has not the scope "a"'],
  ['all are missing', { requiredScopes: ['a', 'b'] }, 'the token has not the scope "a" and "b"'],
])('required scopes: %s', (_, given, expected) => {
  expect(check(given)).toEqual(expected);
});

test.each<[string[], string[] | string]>([
  [['mcp:work'], ['work']],
  [
    ['mcp:work', 'other', 'mcp:caf%C3%A9'],
    ['work', 'café'],
  ],
  [['mcp:'], 'the token has not the scope "mcp:{profile}"'],
  [['mcp:%E0%A4%A'], 'the token has not the scope "mcp:{profile}"'],
  [[], 'the token has not the scope "mcp:{profile}"'],
])('the scopes %j allow the profiles %j', (scopes, expected) => {
  const result = check({ profileScope: 'mcp:{profile}', token: { scopes } });
  expect(typeof result === 'string' ? result : result.profiles).toEqual(expected);
});

test('rule, scopes and audience narrow each other', () => {
  const result = check({
    profileScope: '{profile}',
    rules: [rule({ profiles: ['a', 'b', 'c'] })],
    token: { scopes: ['b', 'c', 'd'], audience: ['c', 'e'] },
  });
  expect(result).toEqual({ ...NONE, profiles: ['c'] });
});

describe('rules', () => {
  const rules = [
    rule({ scopes: ['admin'], claims: { groups: ['ops'] }, admin: true }),
    rule({ claims: { 'realm_access.roles': ['staff-*'] }, servers: ['git*'], tools: { deny: ['*.drop_*'] } }),
    rule({ claims: { 'https://example.com/level': ['3', '4'] }, profiles: ['lab'] }),
  ];

  test.each<[string, Partial<Granted>, unknown]>([
    [
      'the first of two that match',
      { scopes: ['admin'], claims: { groups: ['x', 'ops'], realm_access: { roles: ['staff-1'] } } },
      { ...NONE, admin: true },
    ],
    [
      'a scope alone is not enough',
      { scopes: ['admin'], claims: { realm_access: { roles: ['staff-1'] } } },
      { ...NONE, servers: ['git*'], tools: { deny: ['*.drop_*'] } },
    ],
    ['a claim alone is not enough', { claims: { groups: 'ops' } }, 'no rule of this gateway is for this token'],
    ['a name with dots, and a number', { claims: { 'https://example.com/level': 3 } }, { ...NONE, profiles: ['lab'] }],
    ['a claim that is an object', { claims: { groups: { ops: true } } }, 'no rule of this gateway is for this token'],
    [
      'a path through a list',
      { claims: { realm_access: [{ roles: 'staff-1' }] } },
      'no rule of this gateway is for this token',
    ],
    ['inherited names', { claims: { realm_access: 'constructor' } }, 'no rule of this gateway is for this token'],
  ])('%s', (_, token, expected) => {
    expect(check({ rules, token })).toEqual(expected);
  });

  test('that match nothing do not make clients sign in again', () => {
    const result = rightsOf({ requiredScopes: [], profileScope: null, rules }, { scopes: [], claims: {} });
    expect(result).toMatchObject({ refused: { status: 403, isFinal: true } });
  });
});
