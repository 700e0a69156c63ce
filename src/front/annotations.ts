/** What `exec` may truthfully say of itself: as much as holds for every tool that it can run. */
import type { Tool } from '../catalog/list.ts';
import { isHarmless, isReadOnly } from '../render/tool-hints.ts';
import type { ServerView } from '../router/router.ts';

/**
 * A client may ask its user before every call of a tool that could destroy something, so `exec` says that it cannot where no tool can.
 * Where one can, or is not known yet, the hint is left out, which means the same as `true`.
 */
export function execAnnotations(servers: ServerView[]): NonNullable<Tool['annotations']> {
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
