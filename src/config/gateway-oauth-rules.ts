/** Reports settings of `http.auth.oauth` that are well-formed but wrong: URLs, missing fields, names that do not exist. */
import type { Place, Profile, Settings } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { type GatewayOAuth, OAUTH_NAME } from './gateway-oauth.ts';
import { inside } from './json-data.ts';
import { didYouMean } from './nearest.ts';
import { nameKey } from './server-names.ts';

export function checkGatewayOAuth({ http }: Pick<Settings, 'http'>, profiles: Profile[], findings: Diagnostics): void {
  const { oauth, tokens } = http.auth;
  if (oauth.mode === 'off') tellUnused(oauth, findings);
  else checkMode(oauth, profiles, findings);
  if (oauth.mode === 'off') return;
  for (const { name, place } of tokens.filter((token) => token.name.startsWith(OAUTH_NAME))) {
    const message = `the name of the token "${name}" begins with "${OAUTH_NAME}"`;
    const hint = 'give it another name: names of clients with an access token begin so';
    findings.error({ message, ...(place && { place }), hint });
  }
}

function checkMode(oauth: GatewayOAuth, profiles: Profile[], findings: Diagnostics): void {
  const at = oauth.place ?? { file: '', path: ['http', 'auth', 'oauth'] };
  for (const key of ['url', 'issuer', 'jwksUri'] as const) checkUrl(oauth[key], inside(at, key), findings);
  checkUrl(oauth.introspection.endpoint, inside(at, 'introspection', 'endpoint'), findings);
  if (oauth.mode === 'issuer' && oauth.issuer === null) {
    const hint = 'set it to the "issuer" in the metadata of your authorization server';
    findings.error({ message: '"http.auth.oauth" has the mode "issuer" but no "issuer"', place: at, hint });
  }
  if (oauth.profileScope !== null && !oauth.profileScope.includes('{profile}')) {
    const hint = 'write it with {profile} where the name of the profile stands, such as "mcp:{profile}"';
    const message = '"http.auth.oauth.profileScope" has no {profile}';
    findings.error({ message, place: inside(at, 'profileScope'), hint });
  }
  tellUnknownProfiles(oauth, profiles, { at, findings });
}

function tellUnused({ issuer, url }: GatewayOAuth, findings: Diagnostics): void {
  if (issuer === null && url === null) return;
  const hint = 'set "mode" to "issuer" or "builtin", or remove the section';
  findings.warn({ message: '"http.auth.oauth" has no "mode", so it is off', hint });
}

/** Reports a URL that is not https; http is for loopback only. */
function checkUrl(written: string | null, place: Place, findings: Diagnostics): void {
  const wrong = written === null ? undefined : problemOf(written);
  if (wrong === undefined) return;
  const hint = 'write an https URL; http is accepted for 127.0.0.1, ::1 and localhost only';
  findings.error({ message: `"${place.path.join('.')}" ${wrong}`, place, hint });
}

function problemOf(written: string): string | undefined {
  if (!URL.canParse(written)) return 'is not a URL';
  const { protocol, hostname, username, password, hash } = new URL(written);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal)) return 'is not https';
  return username !== '' || password !== '' || hash !== '' ? 'has a password or a fragment' : undefined;
}

function tellUnknownProfiles(
  { rules }: GatewayOAuth,
  profiles: Profile[],
  { at, findings }: { at: Place; findings: Diagnostics },
): void {
  const names = profiles.map(({ name }) => name);
  for (const [index, rule] of rules.entries()) {
    for (const name of (rule.profiles ?? []).filter((profile) => !names.includes(profile))) {
      const message = `a rule of "http.auth.oauth.rules" names the profile "${name}", which does not exist`;
      findings.warn({ message, place: inside(at, 'rules', index), hint: didYouMean(nameKey(name), names) });
    }
  }
}
