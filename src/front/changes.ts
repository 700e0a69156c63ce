/** Announces changed lists: several changes at once are one, and what the client has listed since is none. */
import type { ListKind } from '../catalog/list.ts';

export interface Changes {
  /** A request has been answered; after a list, the client knows the changes that were waiting to be announced. */
  answered(method: string): void;
  add(kinds: Iterable<ListKind>): void;
  close(): void;
}

/** ms in which further changes join the first. */
const GATHER = 100;

const ANSWERS = new Map<string, ListKind>([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
]);

export function createChanges(announce: (kind: ListKind) => void): Changes {
  const changed = new Set<ListKind>();
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    timer = undefined;
    const kinds = [...changed];
    changed.clear();
    for (const kind of kinds) announce(kind);
  };

  return {
    answered(method) {
      const kind = ANSWERS.get(method);
      if (kind !== undefined) changed.delete(kind);
    },
    add(kinds) {
      for (const kind of kinds) changed.add(kind);
      timer ??= setTimeout(flush, GATHER).unref();
    },
    close: () => clearTimeout(timer),
  };
}
