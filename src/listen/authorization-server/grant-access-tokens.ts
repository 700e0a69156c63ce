/** Access tokens of the built-in authorization server as a source of principals for the gateway. */
import { messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import type { AccessTokens, TokenRefusal } from '../../policy/access-tokens.ts';
import type { GrantPrincipals } from './grant-principals.ts';
import type { GrantStore } from './grant-store.ts';

interface GrantAccessDeps {
  grants: Pick<GrantStore, 'find' | 'byId'>;
  principals: GrantPrincipals;
  log: Pick<Log, 'warn'>;
}

const HINT = 'renew it with the refresh token, or sign in again; a token of "http.auth.tokens" works too';
/** A token is random, so an old one is no guess: a client with many expired tokens is not slowed down. */
const ENDED: TokenRefusal = {
  status: 401,
  message: 'the access token has expired or was revoked',
  hint: HINT,
};
const FOREIGN: TokenRefusal = {
  status: 401,
  message: 'the token is not known to this gateway',
  hint: HINT,
  isGuess: true,
};

export function createGrantAccess({ grants, principals, log }: GrantAccessDeps): AccessTokens {
  return {
    check(token) {
      if (!/^mcpx_at_[\w-]{43}$/.test(token)) return { refused: FOREIGN };
      try {
        const grant = grants.find(token);
        const principal = grant && principals.of(grant);
        return principal === undefined ? { refused: ENDED } : { principal };
      } catch (error) {
        log.warn(`access tokens cannot be checked: ${messageOf(error)}`);
        const message = 'the gateway cannot read its access tokens now';
        return { refused: { status: 503, message, hint: 'its log has the reason' } };
      }
    },
    knows(principal) {
      const id = principals.grantOf(principal);
      if (id === undefined) return false;
      try {
        const grant = grants.byId(id);
        return grant !== undefined && principals.of(grant) === principal;
      } catch {
        // Nothing is known about the grant while the file cannot be read; further requests get 503.
        return true;
      }
    },
    fingerprint: principals.fingerprint,
  };
}
