/** Announces changed lists: several changes at once are one, and only of lists that the client has asked for. */
import type { ListKind } from '../catalog/list.ts';

export interface Changes {
  /** Takes note of a request; a list is known to the client once it was asked for. */
  listed(method: string): void;
  add(kinds: Iterable<ListKind>): void;
  close(): void;
}

/** ms in which further changes join the first. */
const GATHER = 100;

const ASKED_BY = new Map<string, ListKind>([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
]);

export function createChanges(announce: (kind: ListKind) => void): Changes {
  const known = new Set<ListKind>();
  const changed = new Set<ListKind>();
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    timer = undefined;
    const kinds = [...changed].filter((kind) => known.has(kind));
    changed.clear();
    for (const kind of kinds) announce(kind);
  };

  return {
    listed(method) {
      const kind = ASKED_BY.get(method);
      if (kind !== undefined) known.add(kind);
    },
    add(kinds) {
      for (const kind of kinds) changed.add(kind);
      timer ??= setTimeout(flush, GATHER);
      timer.unref();
    },
    close: () => clearTimeout(timer),
  };
}
