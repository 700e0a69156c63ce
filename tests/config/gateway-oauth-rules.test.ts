/** Mistakes in `http.auth.oauth`: each is reported with its place and a hint. */
import { expect, test } from 'vitest';
import { DEFAULTS } from '../../src/config/config.ts';
import { createDiagnostics } from '../../src/config/diagnostics.ts';
import type { GatewayOAuth } from '../../src/config/gateway-oauth.ts';
import { checkGatewayOAuth } from '../../src/config/gateway-oauth-rules.ts';

const RIGHTS = { tools: {}, resources: {}, prompts: {}, admin: false };

/** Returns the first error, or the warnings. */
function check(oauth: Partial<GatewayOAuth>, names: string[] = []): string {
  const findings = createDiagnostics();
  const tokens = names.map((name) => ({ name, token: 'x', ...RIGHTS }));
  const auth = { tokens, oauth: { ...DEFAULTS.http.auth.oauth, ...oauth } };
  const profile = { name: 'work', enabled: true, servers: [], tools: {}, resources: {}, prompts: {} };
  checkGatewayOAuth({ http: { ...DEFAULTS.http, auth } }, [profile], findings);
  try {
    findings.check([]);
  } catch (error) {
    return `error: ${(error as Error).message}`;
  }
  return findings
    .warnings([])
    .map(({ message }) => message)
    .join();
}

const ISSUER = { mode: 'issuer', issuer: 'https://login.example' } as const;

test.each<[Partial<GatewayOAuth>, RegExp]>([
  [ISSUER, /^$/],
  [{ ...ISSUER, issuer: 'http://127.0.0.1:8080/realms/x', url: 'http://localhost:3095' }, /^$/],
  [{ mode: 'issuer' }, /^error: .*mode "issuer" but no "issuer"/],
  [{ ...ISSUER, issuer: 'login.example' }, /^error: .*"http.auth.oauth.issuer" is not a URL/],
  [{ ...ISSUER, issuer: 'http://login.example' }, /^error: .*"http.auth.oauth.issuer" is not https/],
  [{ ...ISSUER, jwksUri: 'file:///etc/passwd' }, /^error: .*"http.auth.oauth.jwksUri" is not https/],
  [{ ...ISSUER, url: 'https://user:word@gw.example' }, /^error: .*"http.auth.oauth.url" has a password or a fragment/],
  [{ ...ISSUER, profileScope: 'mcp:profile' }, /^error: .*"http.auth.oauth.profileScope" has no \{profile\}/],
  [
    { ...ISSUER, introspection: { ...DEFAULTS.http.auth.oauth.introspection, endpoint: 'http://x.example' } },
    /^error: .*"http.auth.oauth.introspection.endpoint" is not https/,
  ],
  [
    { ...ISSUER, rules: [{ ...RIGHTS, profiles: ['werk'] }] },
    /^a rule .* names the profile "werk", which does not exist$/,
  ],
  [{ issuer: 'https://login.example' }, /^"http.auth.oauth" has no "mode", so it is off$/],
])('%j: %s', (oauth, expected) => {
  expect(check(oauth)).toMatch(expected);
});

test('no token of the config has the name of a client with an access token', () => {
  expect(check(ISSUER, ['ci', 'oauth:ada/web'])).toMatch(/^error: .*"oauth:ada\/web" begins with "oauth:"/);
  expect(check({}, ['oauth:ada/web'])).toBe('');
});
