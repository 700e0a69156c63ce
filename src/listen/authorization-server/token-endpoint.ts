/** The token and revocation endpoints. https://www.rfc-editor.org/rfc/rfc6749#section-5, https://www.rfc-editor.org/rfc/rfc7009 */
import type { Log } from '../../observe/log.ts';
import { scopesIn } from './authorization-request.ts';
import type { GrantStore, IssuedGrant } from './grant-store.ts';
import { type OAuthExchange, type Parameters, readForm, required, storeOrRefuse } from './oauth-exchange.ts';
import { OAuthProblem } from './oauth-problem.ts';
import { requestedResource } from './requested-resource.ts';

export interface TokenDeps {
  grants: Pick<GrantStore, 'redeem' | 'renew' | 'revoke'>;
  scopeOf(profile: string): string;
  now(): number;
  log: Pick<Log, 'warn'>;
}

/** Returns the body of the response to a token request. */
export async function exchangeTokens(exchange: OAuthExchange, deps: TokenDeps): Promise<Record<string, unknown>> {
  const parameters = await readForm(exchange);
  const clientId = required(parameters, 'client_id');
  const resource = resourceIn(parameters, exchange.base);
  const issued = await storeOrRefuse(deps, () => {
    switch (required(parameters, 'grant_type')) {
      case 'authorization_code':
        return deps.grants.redeem(required(parameters, 'code'), {
          ...{ clientId, resource },
          redirectUri: parameters.get('redirect_uri'),
          verifier: required(parameters, 'code_verifier'),
        });
      case 'refresh_token':
        return deps.grants.renew(required(parameters, 'refresh_token'), {
          ...{ clientId, resource },
          scopes: parameters.has('scope') ? scopesIn(parameters) : undefined,
        });
      default:
        throw new OAuthProblem('unsupported_grant_type', 'use the grant type authorization_code or refresh_token');
    }
  });
  return describe(issued, deps);
}

/** Returns the resource in the form in which a grant has it. */
function resourceIn(parameters: Parameters, base: string): string | undefined {
  const given = parameters.get('resource');
  if (given === undefined) return undefined;
  const found = requestedResource(given, base);
  if (found === undefined) throw new OAuthProblem('invalid_target', 'the resource is not a URL of this gateway');
  return found.url;
}

function describe({ tokens, grant }: IssuedGrant, { scopeOf, now }: TokenDeps): Record<string, unknown> {
  const left = tokens.accessExpires - now();
  return {
    access_token: tokens.access,
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.floor(left / 1000)),
    refresh_token: tokens.refresh,
    scope: grant.profiles.map(scopeOf).join(' '),
  };
}

/** An unknown token, or one of another client, is no error. https://www.rfc-editor.org/rfc/rfc7009#section-2.2 */
export async function revokeToken(exchange: OAuthExchange, deps: TokenDeps): Promise<void> {
  const parameters = await readForm(exchange);
  const [token, clientId] = [required(parameters, 'token'), required(parameters, 'client_id')];
  await storeOrRefuse(deps, () => deps.grants.revoke(token, clientId));
}
