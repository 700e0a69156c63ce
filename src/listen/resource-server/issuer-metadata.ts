/** Reads JSON documents of the issuer: its metadata (RFC 8414 or OpenID Connect Discovery) and its keys. */
import { McpxError } from '../../errors.ts';
import { authorizationMetadataUrls, readJsonObject } from '../../mcp/authorization-metadata.ts';

/** A `fetch` that follows no redirect, checks addresses, and bounds time and size. */
export type IssuerFetch = (
  url: string,
  init?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Response>;

/** Returns the metadata of an issuer. Its own `issuer` must be the same, or another server could pose as it. */
export async function readIssuerMetadata(issuer: string, fetch: IssuerFetch): Promise<Record<string, unknown>> {
  const failures: string[] = [];
  for (const url of authorizationMetadataUrls(new URL(issuer))) {
    const found = await readJson(url, fetch);
    if (typeof found === 'string') failures.push(found);
    else if (found.issuer === issuer) return found;
    else failures.push(`its metadata at "${url}" is of the issuer "${printable(found.issuer)}"`);
  }
  const hint = '"http.auth.oauth.issuer" has to be the "issuer" in its metadata, letter by letter';
  throw new McpxError('auth', `the issuer "${issuer}" has no usable metadata: ${failures.join('; ')}`, { hint });
}

/** Returns a JSON object, or the reason for which there is none. */
export async function readJson(url: string, fetch: IssuerFetch): Promise<Record<string, unknown> | string> {
  return readJsonObject(url, await fetch(url, { headers: { accept: 'application/json' } }));
}

function printable(value: unknown): string {
  return String(value)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200);
}
