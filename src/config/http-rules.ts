/** Reports settings of the HTTP listener that are well-formed but have no effect or conflict: tokens, origins, hosts. */
import type { Profile, Settings } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { checkGatewayOAuth } from './gateway-oauth-rules.ts';
import { didYouMean } from './nearest.ts';
import { nameKey } from './server-names.ts';

export function checkHttp({ http }: Settings, profiles: Profile[], findings: Diagnostics): void {
  checkTokens(http.auth.tokens, findings);
  tellUnknownProfiles(http.auth.tokens, profiles, findings);
  checkGatewayOAuth({ http }, profiles, findings);
  for (const origin of http.cors.origins) tellOrigin(origin, findings);
  for (const host of http.hosts) tellHost(host, findings);
}

type Tokens = Settings['http']['auth']['tokens'];

/** Reports duplicate names: sessions, limits, stored results and the audit log identify a token by its name. */
function checkTokens(tokens: Tokens, findings: Diagnostics): void {
  const names = new Set<string>();
  for (const { name, place } of tokens) {
    const hint = 'give each token its own name';
    if (names.has(name)) findings.error({ message: `two tokens are called "${name}"`, ...(place && { place }), hint });
    names.add(name);
  }
}

function tellUnknownProfiles(tokens: Tokens, profiles: Profile[], findings: Diagnostics): void {
  const names = profiles.map(({ name }) => name);
  for (const token of tokens) {
    for (const name of (token.profiles ?? []).filter((profile) => !names.includes(profile))) {
      const message = `token "${token.name}" names the profile "${name}", which does not exist`;
      const hint = didYouMean(nameKey(name), names);
      findings.warn({ message, ...(token.place === undefined ? {} : { place: token.place }), hint });
    }
  }
}

/** The form in which browsers send an origin: lower case, and nothing after the host and port. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\sA-Z]+$/;

function tellOrigin(origin: string, findings: Diagnostics): void {
  if (ORIGIN.test(origin)) return;
  // Any page in a sandboxed frame has the origin "null".
  const what = origin === 'null' ? 'which any web page can send' : 'which is not a valid origin';
  findings.warn({
    message: `"http.cors.origins" has "${origin}", ${what}`,
    hint: 'write it as browsers do, such as "https://app.example", without a slash at the end; there is no "*"',
  });
}

function tellHost(host: string, findings: Diagnostics): void {
  if (!/[/\s@]/.test(host)) return;
  const hint = 'write the name alone, such as "mcp.example.com"';
  findings.warn({ message: `"http.hosts" has "${host}", which is not a host name`, hint });
}
