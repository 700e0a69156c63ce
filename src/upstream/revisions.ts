/** Facts of the protocol for both sides of mcpx: what its revisions are called, and how requests of the modern era introduce themselves. */

/** Of the legacy era, newest first; the first one is asked for, each is accepted. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

/** A client that asks for a version that mcpx does not know is offered the newest. */
export function agreedVersion(wanted: unknown): (typeof LEGACY_VERSIONS)[number] {
  return LEGACY_VERSIONS.find((known) => known === wanted) ?? LEGACY_VERSIONS[0];
}

/** Of the modern era. */
export const MODERN_VERSION = '2026-07-28';

/** What the protocol's own keys of `_meta` begin with. */
export const META = 'io.modelcontextprotocol/';
export const VERSION_META = `${META}protocolVersion`;
export const SERVER_META = `${META}serverInfo`;

/** The parameter that the HTTP header `Mcp-Name` repeats, by method. */
export const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);
