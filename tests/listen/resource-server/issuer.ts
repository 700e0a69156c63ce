/** An issuer of access tokens in memory: its documents, its keys, and tokens that are right but for the changes of a test. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { GatewayOAuth } from '../../../src/config/gateway-oauth.ts';
import type { IssuerFetch } from '../../../src/listen/resource-server/issuer-metadata.ts';
import { createIssuerTokens } from '../../../src/listen/resource-server/resource-server.ts';
import type { Principal } from '../../../src/policy/auth.ts';

export const ISSUER = 'https://login.example';
export const GATEWAY = 'https://gw.example';
/** The start of the clock of a test, in epoch ms. */
export const START = Date.UTC(2026, 0, 1);

export interface Key {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
}

export async function makeKey(kid: string, alg = 'ES256'): Promise<Key> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

export async function publicJwk({ kid, alg, publicKey }: Key) {
  return { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
}

export interface Change {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
}

/** Signs a token that is valid for the gateway for five minutes, with changes; an undefined claim is left out. */
export function sign({ kid, alg, privateKey }: Key, { claims = {}, header = {} }: Change = {}): Promise<string> {
  const at = START / 1000;
  const right = { iss: ISSUER, aud: GATEWAY, sub: 'ada', client_id: 'web', scope: 'mcp', iat: at, exp: at + 300 };
  const payload = Object.fromEntries(
    Object.entries({ ...right, ...claims }).filter(([, value]) => value !== undefined),
  );
  const head = Object.entries({ alg, kid, typ: 'at+jwt', ...header }).filter(([, value]) => value !== undefined);
  return new SignJWT(payload as JWTPayload).setProtectedHeader({ alg, ...Object.fromEntries(head) }).sign(privateKey);
}

export interface World {
  documents: Map<string, () => Response | Promise<Response>>;
  asked: string[];
  warned: string[];
  /** Sets the answer of the introspection endpoint. */
  answer(by: (body: string, headers: Record<string, string>) => Response | Promise<Response>): void;
  /** Moves the clocks. */
  pass(ms: number): void;
  /** Checks a token: the principal, or the status with the message. */
  check(token: string, isBraked?: boolean): Promise<Principal | string>;
  tokens: ReturnType<typeof createIssuerTokens>;
}

export const reply = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

/** Creates the source of access tokens with an issuer that has these keys. */
export async function world(keys: Key[], oauth: Partial<GatewayOAuth> = {}): Promise<World> {
  const documents: World['documents'] = new Map();
  const asked: string[] = [];
  const warned: string[] = [];
  let time = 0;
  let introspect: (body: string, headers: Record<string, string>) => Response | Promise<Response> = () =>
    reply({}, 404);
  const jwks = { keys: await Promise.all(keys.map(publicJwk)) };
  documents.set(`${ISSUER}/.well-known/oauth-authorization-server`, () =>
    reply({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys`, introspection_endpoint: `${ISSUER}/introspect` }),
  );
  documents.set(`${ISSUER}/keys`, () => reply(jwks));
  const fetch: IssuerFetch = async (url, { body, headers = {} } = {}) => {
    asked.push(url);
    if (body !== undefined && url === `${ISSUER}/introspect`) return introspect(body, headers);
    return (await documents.get(url)?.()) ?? reply({}, 404);
  };
  const tokens = createIssuerTokens({
    oauth: { ...DEFAULTS.http.auth.oauth, mode: 'issuer', url: GATEWAY, ...oauth, issuer: ISSUER },
    ...{ port: () => 3095, main: 'default', fetchFor: () => fetch },
    log: { warn: (line) => void warned.push(line), debug: () => undefined },
    ...{ now: () => START + time, monotonic: () => time },
  });
  return {
    ...{ documents, asked, warned, tokens },
    answer(by) {
      introspect = by;
    },
    pass(ms) {
      time += ms;
    },
    async check(token, isBraked = false) {
      const checked = await tokens.check(token, () => isBraked);
      return 'principal' in checked ? checked.principal : `${checked.refused.status} ${checked.refused.message}`;
    },
  };
}
