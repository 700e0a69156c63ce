/** Tool annotations of `exec`: the hints that hold for every tool that it can run. */
import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../catalog/listing.ts';
import { isHarmless, isReadOnly } from '../../render/tool-hints.ts';
import type { ServerView } from '../../router/router.ts';

/**
 * A client may ask its user before each call of a tool that can be destructive, so `destructiveHint` is false if no
 * tool is. If one is, or is not listed yet, the hint is left out, which means `true`.
 */
export function execAnnotations(servers: ServerView[]): ToolAnnotations {
  const known = servers.length > 0 && servers.every(({ entry }) => entry.listing.kind === 'listed');
  const all = servers.flatMap(({ tools }) => tools.map(({ annotations }) => annotations ?? {}));
  const every = (holds: (hints: NonNullable<Tool['annotations']>) => boolean) =>
    known && all.length > 0 && all.every(holds);
  const readOnlyHint = every(isReadOnly);
  const harmless = every(isHarmless);
  return {
    readOnlyHint,
    ...(harmless && { destructiveHint: false }),
    openWorldHint: !every((hints) => hints.openWorldHint === false),
  };
}
