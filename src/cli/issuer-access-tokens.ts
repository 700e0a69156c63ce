/** Creates the source of access tokens of `http.auth.oauth` in the mode `issuer`, from the settings of a config. */
import { type Config, mainProfile } from '../config/config.ts';
import { resolveGatewayOAuth } from '../config/env.ts';
import { sameJson } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import { isLoopback } from '../listen/http/authority.ts';
import { createIssuerTokens } from '../listen/resource-server/resource-server.ts';
import type { Log } from '../observe/log.ts';
import type { AccessTokens } from '../policy/access-tokens.ts';
import { createIssuerFetch } from '../upstream/oauth/oauth.ts';

/**
 * Returns a function that creates the source for a config. As long as the settings stay the same it returns the same
 * source, so that a reload keeps sessions and checked tokens.
 */
export function createIssuerAccessTokens(more: { log: Log; port(): number }): (config: Config) => AccessTokens {
  let last: { wanted: unknown; tokens: AccessTokens } | undefined;
  return (config) => {
    const { http, offline } = config.settings;
    const { place: _, ...oauth } = resolveGatewayOAuth(http.auth.oauth);
    const { issuer } = oauth;
    if (issuer === null) throw new McpxError('config', '"http.auth.oauth" has no "issuer"');
    if (offline) refuseRemote([issuer, oauth.jwksUri, oauth.introspection.endpoint]);
    const main = mainProfile(config)?.name;
    const wanted = { oauth, main };
    if (last === undefined || !sameJson(last.wanted, wanted)) {
      const tokens = createIssuerTokens({ oauth: { ...oauth, issuer }, main, fetchFor: createIssuerFetch, ...more });
      last = { wanted, tokens };
    }
    return last.tokens;
  };
}

function refuseRemote(urls: readonly (string | null)[]): void {
  const remote = urls.find((url) => url !== null && !isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, '')));
  if (remote === undefined) return;
  const hint = 'set "http.auth.oauth.mode" to "off", or "offline" to false';
  throw new McpxError('config', `"offline" is set, and access tokens need the issuer at "${remote}"`, { hint });
}
