/** Requests the lists of servers: one round at a time per server, again after an announced change, and with a delay after a failure. */
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Handshake } from '../upstream/handshake.ts';
import {
  type OtherRequest,
  offerWith,
  requestOthers,
  requestTools,
  retryPause,
  toolsFailure,
  unansweredLists,
} from './list-requests.ts';
import { knownTo, type Learned, type Lister, type ServerState, type Teller, within } from './server-state.ts';

/** Minimum milliseconds between two listings of one server, however often it announces changes. */
const REFRESH_GAP = 300;
/**
 * Milliseconds that listed tools wait for the other lists of their server: usually all arrive together, and count as
 * one change.
 */
const OTHERS_WAIT = 100;
/** Milliseconds for which a list counts as current, so that requests for unknown names do not flood a server. */
const MOMENT = 1000;

export interface RefreshOptions {
  log: Log;
  /** Returns the connection to use if none is given. */
  connectionTo(server: string): Lister | undefined;
  /** True if the server is still in the catalog. */
  isWanted(slot: ServerState): boolean;
  /** Called with a response and the lists that it holds. */
  accept(slot: ServerState, connection: Lister, learned: Learned, lists: 'all' | 'others'): void;
  failed(slot: ServerState, error: unknown): void;
}

export interface Refresh {
  /**
   * Lists a server, or joins the round in progress. Resolves when its tools are known or have failed, independent of
   * other lists.
   */
  now(slot: ServerState, connection?: Lister): Promise<void>;
  /**
   * Lists a server for an unknown name: joins the listing after an announced change, and does nothing if the last list
   * is current.
   */
  again(slot: ServerState, connection?: Lister): Promise<void>;
  /** Handles an announced change; the list is requested on the connection that sent the notification. */
  soon(slot: ServerState, connection: Teller | undefined): void;
}

export function createRefresh(options: RefreshOptions): Refresh {
  const { connectionTo, isWanted } = options;

  const now = (slot: ServerState, asked?: Lister): Promise<void> => {
    const connection = asked ?? connectionTo(slot.name);
    if (connection === undefined || !isWanted(slot)) return Promise.resolve();
    const { inFlight } = slot;
    if (inFlight !== undefined && asked !== undefined && inFlight.connection !== asked) {
      return inFlight.done.then(() => now(slot, asked));
    }
    slot.inFlight ??= {
      connection,
      done: list({ ...options, slot, connection, repeat: () => void now(slot, connection) }).finally(() => {
        slot.inFlight = undefined;
      }),
    };
    return slot.inFlight.done;
  };

  const listStale = async (slot: ServerState): Promise<void> => {
    // A list in progress may have begun before the change, so another one follows.
    const underWay = [...slot.toolLists].map(({ done }): Promise<unknown> => done);
    await Promise.allSettled([slot.inFlight?.done, ...underWay]);
    const stale = [...slot.stale];
    slot.stale.clear();
    slot.announced = undefined;
    await Promise.all(stale.map((one) => now(slot, one?.state.kind === 'closed' ? undefined : one)));
  };

  return {
    now,
    again(slot, asked) {
      if (slot.announced !== undefined) return slot.announced.done;
      const { offered } = asked ?? connectionTo(slot.name) ?? {};
      const since = offered === undefined ? undefined : slot.begun.get(offered);
      const isRecent = since !== undefined && performance.now() - since < MOMENT;
      return isRecent && slot.inFlight === undefined ? Promise.resolve() : now(slot, asked);
    },
    soon(slot, connection) {
      slot.stale.add(connection);
      if (slot.announced !== undefined) return;
      const { begin, time } = gap();
      slot.announced = { begin, done: time.then(() => listStale(slot)) };
    },
  };
}

/** A pause before the next listing, which `begin` ends early. */
function gap(): { begin: () => void; time: Promise<void> } {
  let begin = () => {};
  const time = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, REFRESH_GAP);
    begin = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { begin, time };
}

/** One listing of a server on a connection. */
interface Round extends Omit<RefreshOptions, 'connectionTo'> {
  slot: ServerState;
  connection: Lister;
  /** Lists the server again on the same connection. */
  repeat(): void;
}

/**
 * Lists a server. Tools do not wait for another list that fails or hangs, and the others do not wait for tools that
 * fail.
 */
async function list(round: Round): Promise<void> {
  const { slot, connection, log } = round;
  const missed = (error: unknown) => round.failed(slot, error);
  slot.begun.set(connection.offered, performance.now());
  const handshake = await connection.connect('list').catch(missed);
  if (!handshake) return;
  const wanted = requestTools(slot, connection, handshake, log);
  const others = requestOthers(slot, connection, handshake, log);
  const all = Promise.all(others.map(({ done }) => done)).then(() => undefined);
  const tools = (await wanted.catch((error) => missed(toolsFailure(slot.name, error)))) ?? undefined;
  await within(all, OTHERS_WAIT);
  const offer = offerWith(knownTo(slot, connection.offered).offer, others, tools);
  round.accept(slot, connection, { handshake, offer }, tools === undefined ? 'others' : 'all');
  const late = others.filter((one) => hasSucceeded(one) === undefined);
  const ended = () => {
    if (late.every((one) => hasSucceeded(one) !== undefined)) connection.listed?.();
    tryAgain(round, [...(tools === undefined ? [false] : []), ...others.map(hasSucceeded)]);
  };
  for (const one of late) {
    void one.done.then(() => {
      acceptLate(round, handshake, one);
      ended();
    });
  }
  ended();
}

/** Accepts a list that arrived after the tools. */
function acceptLate({ slot, connection, isWanted, accept, repeat }: Round, handshake: Handshake, one: OtherRequest) {
  if (!isWanted(slot)) return;
  accept(slot, connection, { handshake, offer: offerWith(knownTo(slot, connection.offered).offer, [one]) }, 'others');
  if (one.again && one.listed) repeat();
  one.again = false;
}

/**
 * Logs once which lists have failed, and requests them again after a delay while the server runs. Undefined stands for a
 * request in progress.
 */
function tryAgain({ slot, connection, log, isWanted, repeat }: Round, succeeded: (boolean | undefined)[]): void {
  if (!isWanted(slot)) return;
  const runs = connection.state?.kind === 'ready';
  const failed = succeeded.includes(false);
  if (!failed && succeeded.includes(undefined)) return;
  // A lost connection is reported elsewhere, and the next one begins with lists.
  if (failed && !runs && !connection.perCall) return;
  clearTimeout(slot.retryTimer);
  slot.retryTimer = undefined;
  slot.failures = failed ? slot.failures + 1 : 0;
  const text = failed ? failureText(slot, connection.offered) : '';
  const pause = retryPause(slot.failures);
  if (text !== slot.told && failed)
    log.warn(`server "${slot.name}" did not answer all of its lists: ${text}; next try in ${pause / 1000} s`);
  slot.told = text;
  if (!failed) return;
  const again = () => {
    slot.retryTimer = undefined;
    // The next start of a stopped server lists it anyway.
    if (connection.state?.kind === 'ready') repeat();
  };
  slot.retryTimer = setTimeout(again, pause).unref();
}

/** Returns undefined while the request is in progress. */
function hasSucceeded({ listed, error }: OtherRequest): boolean | undefined {
  if (error !== undefined) return false;
  return listed === undefined ? undefined : true;
}

function failureText(slot: ServerState, offered: string): string {
  const { listing, offer } = knownTo(slot, offered);
  const tools = listing.kind === 'failed' ? [`tools/list: ${messageOf(listing.error)}`] : [];
  return [...tools, ...unansweredLists(offer)].join('; ');
}
