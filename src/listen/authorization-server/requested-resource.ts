/** The `resource` parameter: the URL of the gateway that the client wants to use. https://www.rfc-editor.org/rfc/rfc8707 */

export interface RequestedResource {
  /** The URL without a slash at the end. */
  url: string;
  /** The profile in the URL; undefined for the URL of the main profile. */
  profile?: string;
}

/** MCP endpoints with a profile in the path; those without one, and the gateway itself. */
const WITH_PROFILE = [/^\/mcp\/([^/]+)$/, /^\/api\/([^/]+)\/mcp$/, /^\/sse\/([^/]+)$/];
const WITHOUT_PROFILE = new Set(['', '/mcp', '/sse']);

/** Returns the resource if the URL is one of this gateway; `base` is the URL of the gateway without a slash at the end. */
export function requestedResource(text: string, base: string): RequestedResource | undefined {
  if (!URL.canParse(text) || text.includes('#')) return undefined;
  const [url, own] = [new URL(text), new URL(base)];
  const prefix = own.pathname.replace(/\/$/, '');
  if (url.origin !== own.origin || !url.pathname.startsWith(prefix) || url.search !== '') return undefined;
  const path = url.pathname.slice(prefix.length).replace(/\/$/, '');
  if (WITHOUT_PROFILE.has(path)) return { url: `${url.origin}${prefix}${path}` };
  const [, profile] = WITH_PROFILE.map((form) => form.exec(path)).find((found) => found !== null) ?? [];
  return profile === undefined ? undefined : { url: `${url.origin}${prefix}${path}`, profile: decode(profile) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
