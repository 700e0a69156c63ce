/** Announces changed lists: several changes at once are one, and what the client has listed since is none. */
import type { ListKind } from '../catalog/list.ts';
import type { Params } from '../wire/message.ts';

export interface Changes {
  /** A request has been answered; whoever begins a list anew knows the changes of it that were waiting to be announced. */
  answered(method: string, params: Params): void;
  add(kinds: Iterable<ListKind>): void;
  close(): void;
}

/** ms in which further changes join the first. */
const GATHER = 100;

/** One kind may have several lists, and a client may look at one of them only. */
const LISTS = new Map<string, ListKind>([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
]);

export function createChanges(announce: (kind: ListKind) => void): Changes {
  /** Lists that the client has not begun since they changed. */
  const changed = new Map<string, ListKind>();
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    timer = undefined;
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
      timer ??= setTimeout(flush, GATHER).unref();
    },
    close: () => clearTimeout(timer),
  };
}
