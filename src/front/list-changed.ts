/** Sends `list_changed` notifications: merges changes, and drops those that the client has listed meanwhile. */
import type { ListKind } from '../catalog/listing.ts';
import type { Params } from '../wire/message.ts';

export interface Changes {
  /** Drops the pending changes of a list that the client has just listed from its first page. */
  answered(method: string, params: Params): void;
  /** Adds changed lists. An empty list reschedules the pending notification, when the first listing has ended. */
  add(kinds: Iterable<ListKind>): void;
  close(): void;
}

/** Milliseconds during which further changes join the first. */
const GATHER = 100;
/**
 * The same while servers are listed for the first time, since each notification may invalidate the client's prompt
 * cache.
 */
const GATHER_WHILE_LISTING = 10_000;

/** The lists of each kind; a client may read only one of them. */
const LISTS = new Map<string, ListKind>([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
]);

export function createChanges(announce: (kind: ListKind) => void, isListing = () => false): Changes {
  /** Lists that changed and that the client has not read since. */
  const changed = new Map<string, ListKind>();
  let timer: NodeJS.Timeout | undefined;
  /** Monotonic time in milliseconds at which the timer fires. */
  let due = Number.POSITIVE_INFINITY;

  const flush = () => {
    timer = undefined;
    due = Number.POSITIVE_INFINITY;
    const kinds = new Set(changed.values());
    changed.clear();
    for (const kind of kinds) announce(kind);
  };

  return {
    answered(method, { cursor }) {
      if (cursor === undefined) changed.delete(method);
    },
    add(kinds) {
      const all = new Set(kinds);
      for (const [list, kind] of LISTS) if (all.has(kind)) changed.set(list, kind);
      if (changed.size === 0) return;
      const wait = isListing() ? GATHER_WHILE_LISTING : GATHER;
      if (performance.now() + wait >= due) return;
      clearTimeout(timer);
      due = performance.now() + wait;
      timer = setTimeout(flush, wait).unref();
    },
    close: () => clearTimeout(timer),
  };
}
