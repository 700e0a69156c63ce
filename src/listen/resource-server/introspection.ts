/** Asks the issuer about opaque access tokens. https://www.rfc-editor.org/rfc/rfc7662 */
import { McpxError } from '../../errors.ts';
import type { TokenRefusal } from '../../policy/access-tokens.ts';
import { isRecord } from '../../wire/message.ts';
import { type IssuerFetch, readIssuerMetadata } from './issuer-metadata.ts';
import { refuseToken, unavailable } from './token-claims.ts';

export interface IntrospectionOptions {
  issuer: string;
  /** The URL; null for the one in the metadata of the issuer. */
  endpoint: string | null;
  clientId: string;
  clientSecret: string | undefined;
  fetch: IssuerFetch;
}

export type Introspect = (token: string) => Promise<{ claims: Record<string, unknown> } | { refused: TokenRefusal }>;

/** Maximum number of questions at once; each token needs one until its answer is cached. */
const MAX_QUESTIONS = 32;

export function createIntrospection(options: IntrospectionOptions): Introspect {
  const { issuer, fetch } = options;
  let found: Promise<string> | undefined;
  let asking = 0;
  const endpoint = () => {
    if (options.endpoint !== null) return Promise.resolve(options.endpoint);
    found ??= readIssuerMetadata(issuer, fetch).then(endpointIn);
    found.catch(() => {
      found = undefined;
    });
    return found;
  };
  return async (token) => {
    if (asking >= MAX_QUESTIONS)
      return unavailable(new McpxError('overloaded', `${MAX_QUESTIONS} tokens are being checked by the issuer`));
    asking += 1;
    try {
      return claimsIn(await ask(await endpoint(), token, options), issuer);
    } catch (error) {
      return unavailable(error);
    } finally {
      asking -= 1;
    }
  };
}

function endpointIn(metadata: Record<string, unknown>): string {
  const { introspection_endpoint: url } = metadata;
  if (typeof url === 'string' && URL.canParse(url)) return url;
  const hint = 'set "http.auth.oauth.introspection.endpoint"';
  throw new McpxError('auth', 'the metadata of the issuer has no "introspection_endpoint"', { hint });
}

async function ask(
  url: string,
  token: string,
  { clientId, clientSecret, fetch }: IntrospectionOptions,
): Promise<Record<string, unknown>> {
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
  if (clientSecret === undefined) form.set('client_id', clientId);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...(clientSecret !== undefined && { authorization: basic(clientId, clientSecret) }),
    },
    body: form.toString(),
  });
  if (response.status === 401 || response.status === 403) {
    const hint = 'check "clientId" and "clientSecret" of "http.auth.oauth.introspection"';
    throw new McpxError('auth', `the issuer refuses to introspect (HTTP ${response.status})`, { hint });
  }
  const body: unknown = response.status === 200 ? await response.json().catch(() => undefined) : undefined;
  if (isRecord(body) && typeof body.active === 'boolean') return body;
  const what = response.status === 200 ? 'no answer about the token' : `HTTP ${response.status}`;
  throw new McpxError('auth', `the introspection endpoint "${url}" answers with ${what}`);
}

/** Encodes both parts as forms do. https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
function basic(id: string, secret: string): string {
  const encoded = (text: string) => new URLSearchParams({ x: text }).toString().slice(2);
  return `Basic ${Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64')}`;
}

function claimsIn(
  answer: Record<string, unknown>,
  issuer: string,
): { claims: Record<string, unknown> } | { refused: TokenRefusal } {
  if (answer.active !== true) return refuseToken('the token is not active', 'sign in again');
  if (answer.iss !== undefined && answer.iss !== issuer)
    return refuseToken('the token is from another issuer', '"http.auth.oauth.issuer" is the accepted one');
  if (answer.token_type !== undefined && String(answer.token_type).toLowerCase() !== 'bearer')
    return refuseToken('the token is not a Bearer token', 'request a plain Bearer token');
  return { claims: answer };
}
