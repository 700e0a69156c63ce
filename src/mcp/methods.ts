/** Facts about MCP methods, per era: named parameters, cacheable results, and which may be answered with input requests. */

/** The parameter that the HTTP header `Mcp-Name` repeats, by method. */
export const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Methods whose results must state a cache lifetime. */
export const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Methods whose result may ask for input. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Returns true if the method's result may ask for input, so that a retry carries input responses. */
export function mayBeAsked(method: string): boolean {
  return MAY_ASK.has(method);
}
