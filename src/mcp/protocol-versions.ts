/** Protocol versions of both eras, and the `_meta` keys of modern requests. */

/** Versions of the legacy era, newest first. mcpx requests the first one and accepts each. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

/** Returns the version for a client: the requested one, or the newest if mcpx does not know it. */
export function agreedVersion(wanted: unknown): (typeof LEGACY_VERSIONS)[number] {
  return LEGACY_VERSIONS.find((known) => known === wanted) ?? LEGACY_VERSIONS[0];
}

/** The version of the modern era. */
export const MODERN_VERSION = '2026-07-28';

/** The prefix of the protocol's own keys in `_meta`. */
export const META = 'io.modelcontextprotocol/';
export const VERSION_META = `${META}protocolVersion`;
export const SERVER_META = `${META}serverInfo`;
