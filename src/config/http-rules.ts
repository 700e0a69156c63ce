/** Settings of the HTTP listener that can be read and yet mean nothing, or not what somebody thinks: tokens, origins, hosts. */
import type { Profile, Settings } from './config.ts';
import type { Findings } from './findings.ts';
import { nameKey } from './names.ts';
import { didYouMean } from './nearest.ts';

export function checkHttp({ http }: Settings, profiles: Profile[], findings: Findings): void {
  checkTokens(http.auth.tokens, findings);
  tellUnknownProfiles(http.auth.tokens, profiles, findings);
  for (const origin of http.cors.origins) tellOrigin(origin, findings);
  for (const host of http.hosts) tellHost(host, findings);
}

type Tokens = Settings['http']['auth']['tokens'];

/** Sessions, limits, kept results and the audit log know a token by its name. */
function checkTokens(tokens: Tokens, findings: Findings): void {
  const names = new Set<string>();
  for (const { name, place } of tokens) {
    const hint = 'give each a name of its own';
    if (names.has(name)) findings.error({ message: `two tokens are called "${name}"`, ...(place && { place }), hint });
    names.add(name);
  }
}

function tellUnknownProfiles(tokens: Tokens, profiles: Profile[], findings: Findings): void {
  const names = profiles.map(({ name }) => name);
  for (const token of tokens) {
    for (const name of (token.profiles ?? []).filter((profile) => !names.includes(profile))) {
      const message = `token "${token.name}" names the profile "${name}", which does not exist`;
      const hint = didYouMean(nameKey(name), names);
      findings.warn({ message, ...(token.place === undefined ? {} : { place: token.place }), hint });
    }
  }
}

/** As browsers write it: lower case, and nothing behind the host and port. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\sA-Z]+$/;

function tellOrigin(origin: string, findings: Findings): void {
  if (ORIGIN.test(origin)) return;
  // Any page in a frame can be made to have it.
  const what = origin === 'null' ? 'which every page can have' : 'which is the origin of no page';
  findings.warn({
    message: `"http.cors.origins" has "${origin}", ${what}`,
    hint: 'write it as browsers do, such as "https://app.example", without a slash at the end; there is no "*"',
  });
}

function tellHost(host: string, findings: Findings): void {
  if (!/[/\s@]/.test(host)) return;
  const hint = 'write the name alone, such as "mcp.example.com"';
  findings.warn({ message: `"http.hosts" has "${host}", which is no name of a host`, hint });
}
