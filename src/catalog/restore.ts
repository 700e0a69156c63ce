/** Loads the stored lists of servers, once per server; thousands of tools are read in steps. */
import { beginSteps } from '../event-loop.ts';
import type { CatalogStore, StoredCatalog } from './catalog-store.ts';
import { isBlank, type ServerState } from './server-state.ts';

export interface Restore {
  /** Loads the lists of a server if nothing of it is known; returns a promise if that takes longer. */
  one(slot: ServerState): Promise<void> | undefined;
  /** Does the same for all servers. */
  all(slots: Iterable<ServerState>): Promise<void> | undefined;
}

export function createRestore(
  store: Pick<CatalogStore, 'load'>,
  restored: (slot: ServerState, stored: StoredCatalog) => void,
): Restore {
  const one: Restore['one'] = (slot) => {
    if (slot.restoring !== undefined) return slot.restoring;
    if (slot.inFlight !== undefined || !isBlank(slot)) return undefined;
    const stored = store.load(slot.spec);
    if (stored instanceof Promise) {
      slot.restoring = stored.then((found) => {
        slot.restoring = undefined;
        // The server may have been listed in the meantime.
        if (found !== undefined && isBlank(slot)) restored(slot, found);
      });
    } else if (stored !== undefined) restored(slot, stored);
    return slot.restoring;
  };

  const all: Restore['all'] = (slots) => {
    const steps = beginSteps();
    const waiting = [...slots];
    const loading: Promise<void>[] = [];
    const loadSome = () => {
      while (waiting.length > 0 && !steps.isOver()) {
        const done = one(waiting.shift() as ServerState);
        if (done !== undefined) loading.push(done);
      }
    };
    const loadRest = async () => {
      for (; waiting.length > 0; loadSome()) await steps.next();
      await Promise.all(loading);
    };
    loadSome();
    return waiting.length + loading.length > 0 ? loadRest() : undefined;
  };

  return { one, all };
}
