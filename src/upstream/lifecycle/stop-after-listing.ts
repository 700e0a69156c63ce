/** Tracks if a server runs for clients or only to be listed; the latter stops within seconds and is limited in number. */
import type { ServerSpec, Settings } from '../../config/config.ts';
import type { ConnectionState } from '../connection-interface.ts';
import type { ListingLimit, OnlyListed } from './listing-limit.ts';

export interface Purpose {
  /** Returns the idle ms after which the server is stopped; 0 = never. */
  idleStop(isProcess: boolean): number;
  /** Marks the server as used by a client. */
  claim(): void;
  /** Resolves when a server that does not run may be started for listing; undefined if it need not wait. */
  admitted(): Promise<void> | undefined;
  /** The same for a start that is under way. */
  place(): Promise<void> | undefined;
  /** Reserves a second process and returns the function that releases it; undefined if there is no place. */
  reserveSecond(): (() => void) | undefined;
  /** Called when an operation on the connection has ended. */
  over(): void;
  /** Called when the lists of the server are read. */
  listed(): void;
  /** Called when the connection enters a state. */
  entered(state: ConnectionState): void;
}

export interface PurposeOptions {
  spec: Pick<ServerSpec, 'type'>;
  connect: Settings['connect'];
  places: ListingLimit | undefined;
  busy(): boolean;
  /** Stops the server; resolves when its process has ended. */
  stopIdle(): Promise<void>;
  /** Stops the process of a start or of lists, which then wait for their place again. */
  interrupt(): void;
}

/** Milliseconds that a listed server keeps running for calls that may follow. */
const LINGER = 3000;
/** Milliseconds without requests after which a server may stop that was not said to be listed: another page may follow. */
const QUIET = 50;

export function createPurpose({ spec, connect, places, busy, stopIdle, interrupt }: PurposeOptions): Purpose {
  const { mode, idleStop } = connect;
  // Remote servers have no process to stop, and "idleStop": 0 exempts all servers.
  const isExempt = mode === 'eager' || idleStop === 0 || (spec.type !== 'stdio' && spec.type !== 'module');
  let claimed = isExempt;
  let kind: ConnectionState['kind'] = 'idle';
  let quiet: NodeJS.Timeout | undefined;
  let isQuiet = false;
  let isDownloading = false;
  /** True while a process that is not needed any more ends. */
  let isEnding = false;
  const self: OnlyListed = {
    isIdle: () => isQuiet && kind === 'ready' && !claimed && !busy(),
    stop: () => void stopIdle(),
    interrupt,
  };
  const leave = () => places?.leave(self);
  const isRunning = () => kind === 'ready' || kind === 'connecting';
  const rest = () => {
    clearTimeout(quiet);
    isQuiet = true;
    places?.look();
  };
  const place = () => (claimed || places === undefined ? undefined : places.enter(self));

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
      return isRunning() || kind === 'closed' ? undefined : place();
    },
    place,
    reserveSecond() {
      if (claimed || places === undefined) return () => undefined;
      const second: OnlyListed = { isIdle: () => false, stop: () => undefined, interrupt: () => undefined };
      return places.tryEnter(second) ? () => places.release(second) : undefined;
    },
    over() {
      if (claimed) return;
      // A start that was refused at once has no process.
      if (!isRunning() && !isEnding) places?.release(self);
      isQuiet = false;
      clearTimeout(quiet);
      quiet = setTimeout(rest, QUIET).unref();
    },
    listed() {
      if (!claimed && isRunning()) rest();
    },
    entered(state) {
      ({ kind } = state);
      if (state.kind === 'connecting' && (state.fetching !== undefined) !== isDownloading) {
        isDownloading = !isDownloading;
        places?.downloads(self, isDownloading);
      }
      if (isRunning()) return;
      clearTimeout(quiet);
      isQuiet = false;
      if (kind === 'idle') claimed = isExempt;
      // A process keeps its place until it has exited.
      if (kind === 'closed') return leave();
      isEnding = true;
      void stopIdle().then(() => {
        isEnding = false;
        places?.release(self);
      });
    },
  };
}
