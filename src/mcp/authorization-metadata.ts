/** Where the metadata of an authorization server is, in the order of the specification. */

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
