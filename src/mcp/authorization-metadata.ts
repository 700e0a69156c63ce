/** Where the metadata of an authorization server is, in the order of the specification, and how a document is read. */
import { isRecord } from '../wire/message.ts';

/**
 * Returns the URLs of RFC 8414 and OpenID Connect Discovery for an issuer.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-server-metadata-discovery
 */
export function authorizationMetadataUrls(issuer: URL): string[] {
  const path = issuer.pathname.replace(/\/$/, '');
  const appended = path === '' ? [] : [`${issuer.origin}${path}/.well-known/openid-configuration`];
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (kind) => `${issuer.origin}/.well-known/${kind}${path}`,
  );
  return [...inserted, ...appended];
}

/** Returns the JSON object in the response for a URL, or the reason for which there is none. */
export async function readJsonObject(url: string, response: Response): Promise<Record<string, unknown> | string> {
  if (response.status >= 300 && response.status < 400) return `"${url}" redirects, which is not followed`;
  if (response.status !== 200) return `"${url}" answers with HTTP ${response.status}`;
  try {
    const value: unknown = await response.json();
    return isRecord(value) ? value : `"${url}" is not a JSON object`;
  } catch {
    return `"${url}" is not JSON`;
  }
}
