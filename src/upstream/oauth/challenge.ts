/** Reads the `WWW-Authenticate` header of a refused request (RFC 6750, RFC 9728). */

export interface Challenge {
  /** The URL of the protected-resource metadata. */
  resourceMetadata?: string;
  /** The scopes that the request needs. */
  scope?: string;
  error?: string;
}

/** Returns the parameters of the Bearer challenge; other schemes are ignored. */
export function parseChallenge(header: string | undefined): Challenge {
  const text = /(?:^|,)\s*Bearer\s+(.*)$/is.exec(header ?? '')?.[1] ?? '';
  const found = new Map<string, string>();
  // The parameters end where the next scheme begins: a word that is followed by a space and not by "=".
  const own = text.replace(/,\s*[\w-]+\s+[\w-]+\s*=.*$/s, '');
  for (const [, name = '', quoted, plain] of own.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)) {
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
  }
  const pick = (name: string, key: keyof Challenge) => (found.has(name) ? { [key]: found.get(name) } : {});
  return { ...pick('resource_metadata', 'resourceMetadata'), ...pick('scope', 'scope'), ...pick('error', 'error') };
}
