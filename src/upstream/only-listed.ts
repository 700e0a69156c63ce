/** Whether a server runs for its clients, or was started only to be listed: then it stops within seconds, and few such run at once. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { ConnectionState } from './connection.ts';
import type { ListingPlaces, OnlyListed } from './listing-places.ts';

export interface Purpose {
  /** ms without use after which it is stopped; 0 = never. */
  idleStop(isProcess: boolean): number;
  /** Somebody uses it, or waits for it. */
  claim(): void;
  /** Resolves when it may be started to be listed; undefined where nothing has to be waited for. */
  admitted(): Promise<void> | undefined;
  /** Something that was under way on it is over. */
  over(): void;
  /** Its state has become another one. */
  entered(state: ConnectionState): void;
}

export interface PurposeOptions {
  spec: Pick<ServerSpec, 'type'>;
  connect: Settings['connect'];
  places: ListingPlaces | undefined;
  busy(): boolean;
  /** Stops it; resolves when its process has ended. */
  rest(): Promise<void>;
}

/** ms for which a server that was listed is kept for the calls that may follow. */
const LINGER = 3000;
/** ms in which nothing follows the last list: between two pages there is a moment. */
const QUIET = 50;

export function createPurpose({ spec, connect, places, busy, rest }: PurposeOptions): Purpose {
  const { mode, idleStop } = connect;
  // A connection over the network is no process, and whoever says that servers never stop means all of them.
  const isExempt = mode === 'eager' || idleStop === 0 || (spec.type !== 'stdio' && spec.type !== 'module');
  let claimed = isExempt;
  let kind: ConnectionState['kind'] = 'idle';
  let quiet: NodeJS.Timeout | undefined;
  let isQuiet = false;
  const self: OnlyListed = {
    isIdle: () => isQuiet && kind === 'ready' && !claimed && !busy(),
    stop: () => void rest(),
  };
  const leave = () => places?.leave(self);

  return {
    idleStop(isProcess) {
      if (mode === 'eager') return 0;
      return claimed || !isProcess ? idleStop : Math.min(LINGER, idleStop);
    },
    claim() {
      if (claimed) return;
      claimed = true;
      leave();
    },
    admitted() {
      const runs = kind === 'ready' || kind === 'connecting' || kind === 'closed';
      return claimed || runs || places === undefined ? undefined : places.enter(self);
    },
    over() {
      if (claimed) return;
      isQuiet = false;
      clearTimeout(quiet);
      quiet = setTimeout(() => {
        isQuiet = true;
        places?.look();
      }, QUIET).unref();
    },
    entered(state) {
      ({ kind } = state);
      if (kind === 'ready' || kind === 'connecting') return;
      clearTimeout(quiet);
      isQuiet = false;
      if (kind === 'idle') claimed = isExempt;
      // A process that is asked to end is there until it has.
      if (kind === 'closed') leave();
      else void rest().then(leave);
    },
  };
}
