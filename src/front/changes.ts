/** Announces changed lists: several changes at once are one, and what the client has listed since is none. */
import type { ListKind } from '../catalog/list.ts';
import type { Params } from '../wire/message.ts';

export interface Changes {
  /** A request has been answered; whoever begins a list anew knows the changes of it that were waiting to be announced. */
  answered(method: string, params: Params): void;
  /** These have changed; none, where servers were listed for the first time and no more are: what waits is then announced. */
  add(kinds: Iterable<ListKind>): void;
  close(): void;
}

/** ms in which further changes join the first. */
const GATHER = 100;
/** The same while servers are listed for the first time: each announcement may cost the client its cached prompt. */
const GATHER_WHILE_LISTING = 10_000;

/** One kind may have several lists, and a client may look at one of them only. */
const LISTS = new Map<string, ListKind>([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
]);

export function createChanges(announce: (kind: ListKind) => void, isListing = () => false): Changes {
  /** Lists that the client has not begun since they changed. */
  const changed = new Map<string, ListKind>();
  let timer: NodeJS.Timeout | undefined;
  /** Monotonic ms at which it fires. */
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
