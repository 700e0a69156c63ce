/** The built-in authorization server: lets OAuth clients use the gateway, if a user enters a configured token or the password. */
import type { Token } from '../../config/config.ts';
import { OAUTH_NAME } from '../../config/gateway-oauth.ts';
import type { Log } from '../../observe/log.ts';
import type { AccessTokens } from '../../policy/access-tokens.ts';
import { createAttemptLimits } from '../../policy/attempt-limits.ts';
import type { SecretKey } from '../mcp/secret-key.ts';
import { type AuthorizationDeps, serveAuthorization, serveConsent } from './authorization-endpoint.ts';
import { createClientDocuments, type FetchDocument } from './client-documents.ts';
import { createConsentForms } from './consent-form.ts';
import { createCredentials } from './credentials.ts';
import { createRegistrations } from './dynamic-registration.ts';
import { createGrantAccess } from './grant-access-tokens.ts';
import { createGrantFile, type GrantFile } from './grant-file.ts';
import { createGrantPrincipals } from './grant-principals.ts';
import { createGrantStore } from './grant-store.ts';
import { answer, type OAuthExchange, readJsonBody, storeOrRefuse } from './oauth-exchange.ts';
import { serverMetadata } from './server-metadata.ts';
import { exchangeTokens, revokeToken, type TokenDeps } from './token-endpoint.ts';

export interface AuthorizationServer extends AccessTokens {
  /** Serves one endpoint. */
  serve(endpoint: Endpoint, exchange: OAuthExchange, gateway: ServedProfiles): void | Promise<void>;
  /** Applies new settings; grants whose token or password has changed end. */
  configure(settings: ServerSettings): void;
  /** Calls the listener after a change of the grants, also by another process; returns the function that stops it. */
  onChange(changed: () => void): () => void;
}

export type Endpoint = 'metadata' | 'authorize' | 'consent' | 'token' | 'register' | 'revoke';

export interface ServerSettings {
  tokens: readonly (Omit<Token, 'token'> & { secret: string })[];
  password: string | undefined;
  /** Lifetimes in ms: of access tokens, and of grants that are not renewed. */
  lifetimes: { access: number; refresh: number };
  /** Returns the scope of a profile. */
  scopeOf(profile: string): string;
}

/** The profiles of the gateway, and the record of decisions. */
export interface ServedProfiles {
  profiles(): readonly string[];
  mainProfile: string | undefined;
  decided: AuthorizationDeps['decided'];
}

export interface AuthorizationServerOptions {
  /** The path of the file with the grants; absent to keep them in memory. */
  file?: string | undefined;
  secretKey: SecretKey;
  fetchDocument?: FetchDocument | undefined;
  log: Pick<Log, 'warn' | 'debug'>;
  /** Returns ms since 1970 (default: the clock of the system). */
  now?: () => number;
}

/** Milliseconds between two looks for changes of other processes. */
const POLL = 1000;
/** Tokens and passwords that users may enter in a minute. */
const ATTEMPTS = { perAddress: 20, total: 100 };

export function createAuthorizationServer(
  { file: path, secretKey, fetchDocument, log, now = Date.now }: AuthorizationServerOptions,
  initial: ServerSettings,
): AuthorizationServer {
  const key = once(() => secretKey.derive('mcpx oauth credentials'));
  const credentialsOf = ({ tokens, password }: ServerSettings) => createCredentials({ tokens, password, key: key() });
  let settings = initial;
  let credentials = once(() => credentialsOf(settings));
  const file = createGrantFile(path, (message) => log.warn(message));
  const scopeOf = (profile: string) => settings.scopeOf(profile);
  const grants = createGrantStore({
    ...{ file, log, now, scopeOf },
    lifetimes: () => settings.lifetimes,
    tokenKey: once(() => secretKey.derive('mcpx oauth tokens')),
    isCovered: (grant) => credentials().of(grant) !== undefined,
  });
  const registrations = createRegistrations({ file, now });
  const own = {
    clients: { documents: createClientDocuments({ fetchDocument, log }), registrations },
    forms: createConsentForms(
      once(() => secretKey.derive('mcpx oauth consent')),
      now,
    ),
    ...{ grants, log },
    credentials: () => credentials(),
    attempts: createAttemptLimits(ATTEMPTS),
  };
  const tokens: TokenDeps = { grants, scopeOf, now, log };
  const deps = ({ profiles, mainProfile, decided }: ServedProfiles): AuthorizationDeps => ({
    ...own,
    decided,
    profilesOf({ scopes, profile }) {
      const main = profile ?? mainProfile;
      return profiles().filter((name) => (scopes.length > 0 ? scopes.includes(scopeOf(name)) : name === main));
    },
  });
  const register = async (exchange: OAuthExchange) => {
    const metadata = await readJsonBody(exchange);
    return storeOrRefuse({ log }, () => registrations.register(metadata, exchange.address));
  };
  const principals = createGrantPrincipals(() => credentials(), OAUTH_NAME);
  return {
    ...createGrantAccess({ grants, principals, log }),
    configure(next) {
      settings = next;
      credentials = once(() => credentialsOf(next));
    },
    onChange: (changed) => watch(file, principals.isUsed, changed),
    serve(endpoint, exchange, gateway) {
      switch (endpoint) {
        case 'metadata':
          return answer(exchange, async () => serverMetadata(exchange.base));
        case 'authorize':
          return serveAuthorization(exchange, deps(gateway));
        case 'consent':
          return serveConsent(exchange, deps(gateway));
        case 'token':
          return answer(exchange, () => exchangeTokens(exchange, tokens));
        case 'revoke':
          return answer(exchange, () => revokeToken(exchange, tokens));
        case 'register':
          return answer(exchange, () => register(exchange), 201);
      }
    },
  };
}

/** Looks for a change of the file by this process or another one. One look costs a call of `stat`. */
function watch(file: Pick<GrantFile, 'read'>, isUsed: () => boolean, changed: () => void): () => void {
  let seen: unknown;
  const timer = setInterval(() => {
    // Without clients that got in by a grant, nothing can end.
    if (!isUsed()) return;
    const content = readOr(file, seen);
    if (content === seen) return;
    seen = content;
    changed();
  }, POLL).unref();
  return () => clearInterval(timer);
}

/** Returns the content; the last one if the file cannot be read now, which the next request reports. */
function readOr(file: Pick<GrantFile, 'read'>, seen: unknown): unknown {
  try {
    return file.read();
  } catch {
    return seen;
  }
}

/** Returns a function that computes its value on the first call. */
function once<T>(compute: () => T): () => T {
  let value: { of: T } | undefined;
  return () => {
    value ??= { of: compute() };
    return value.of;
  };
}
