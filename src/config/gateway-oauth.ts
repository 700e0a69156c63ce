/** Types and defaults of `http.auth.oauth`: access tokens of OAuth clients of the gateway. */
import type { Place, TokenRights } from './config.ts';

/** The beginning of the names of clients with an access token; tokens of the config have other names. */
export const OAUTH_NAME = 'oauth:';

/** The signature algorithms of access tokens. All are asymmetric: the gateway holds no key that could sign a token. */
export const TOKEN_ALGORITHMS = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
] as const;

/** The rights of access tokens with these scopes and claims. */
export interface OAuthRule extends TokenRights {
  scopes?: string[];
  /** Globs by the name or the dotted path of a claim. */
  claims?: Record<string, string[]>;
}

/** Access tokens of OAuth clients, beside the tokens of the config. */
export interface GatewayOAuth {
  mode: 'off' | 'issuer' | 'builtin';
  /** The URL under which clients reach the gateway, without a slash at the end; null for the loopback address. */
  url: string | null;
  requiredScopes: string[];
  /** A scope with `{profile}` in it. */
  profileScope: string | null;
  rules: OAuthRule[];
  issuer: string | null;
  audience: string[];
  jwksUri: string | null;
  algorithms: string[];
  clockTolerance: number;
  /** Used if it has a client id. The secret may hold placeholders. */
  introspection: { endpoint: string | null; clientId: string | null; clientSecret: string | null; cache: number };
  /** The password may hold placeholders. The lifetime of access tokens is in ms. */
  builtin: { password: string | null; accessToken: number; signInDays: number };
  /** Where the mode is written; relative paths in placeholders start there. */
  place?: Place;
}

export const OAUTH_DEFAULTS: GatewayOAuth = {
  mode: 'off',
  url: null,
  requiredScopes: [],
  profileScope: null,
  rules: [],
  issuer: null,
  audience: [],
  jwksUri: null,
  algorithms: [...TOKEN_ALGORITHMS],
  clockTolerance: 30_000,
  introspection: { endpoint: null, clientId: null, clientSecret: null, cache: 60_000 },
  builtin: { password: null, accessToken: 3_600_000, signInDays: 30 },
};
