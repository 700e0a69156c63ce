/** Asks servers for their lists: one round at a time for each, again after an announced change, and after a pause where a list failed. */
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Hello } from '../upstream/connection.ts';
import {
  type OtherRequest,
  offerWith,
  requestOthers,
  requestTools,
  retryPause,
  toolsFailure,
  unansweredLists,
} from './list-requests.ts';
import { knownTo, type Learned, type Lister, type Slot, type Teller, within } from './slot.ts';

/** Lists of one server are at least this far apart, in ms, however often it announces changes. */
const REFRESH_GAP = 300;
/** ms that tools which have been listed wait for the other lists of their server: nearly always all come together, and are one change. */
const OTHERS_WAIT = 100;
/** ms for which a list is taken to be of this moment, so that names which are not there do not flood a server. */
const MOMENT = 1000;

export interface RefreshOptions {
  log: Log;
  /** The connection to list with where none is named. */
  connectionTo(server: string): Lister | undefined;
  /** Whether anybody still wants to know about that server. */
  isWanted(slot: Slot): boolean;
  /** Told of an answer, with the lists that it holds. */
  accept(slot: Slot, connection: Lister, learned: Learned, lists: 'all' | 'others'): void;
  failed(slot: Slot, error: unknown): void;
}

export interface Refresh {
  /** Lists a server, joining the round under way. Resolves when its tools are known or have failed, whatever became of other lists. */
  now(slot: Slot, connection?: Lister): Promise<void>;
  /** The same for a name that is not known: joins the list that an announced change is followed by, and asks nothing where the last list is of this moment. */
  again(slot: Slot, connection?: Lister): Promise<void>;
  /** The server says that a list has changed; the connection that brought the news is asked for it. */
  soon(slot: Slot, connection: Teller | undefined): void;
}

export function createRefresh({ log, connectionTo, isWanted, accept, failed }: RefreshOptions): Refresh {
  const now = (slot: Slot, asked?: Lister): Promise<void> => {
    const connection = asked ?? connectionTo(slot.name);
    if (connection === undefined || !isWanted(slot)) return Promise.resolve();
    const { inFlight } = slot;
    if (inFlight !== undefined && asked !== undefined && inFlight.connection !== asked) {
      return inFlight.done.then(() => now(slot, asked));
    }
    slot.inFlight ??= {
      connection,
      done: list(slot, connection).finally(() => {
        slot.inFlight = undefined;
      }),
    };
    return slot.inFlight.done;
  };

  /** Tools wait for no other list that fails or hangs, and the others for no tools that fail. */
  const list = async (slot: Slot, connection: Lister): Promise<void> => {
    const missed = (error: unknown) => failed(slot, error);
    slot.begun.set(connection.offered, performance.now());
    const hello = await connection.connect('list').catch(missed);
    if (!hello) return;
    const wanted = requestTools(slot, connection, hello, log);
    const others = requestOthers(slot, connection, hello, log);
    const all = Promise.all(others.map(({ done }) => done)).then(() => undefined);
    const tools = (await wanted.catch((error) => missed(toolsFailure(slot.name, error)))) ?? undefined;
    await within(all, OTHERS_WAIT);
    const offer = offerWith(knownTo(slot, connection.offered).offer, others, tools);
    accept(slot, connection, { hello, offer }, tools === undefined ? 'others' : 'all');
    const late = others.filter((one) => hasSucceeded(one) === undefined);
    const ended = () =>
      tryAgain(slot, connection, [...(tools === undefined ? [false] : []), ...others.map(hasSucceeded)]);
    for (const one of late) {
      void one.done.then(() => {
        arrived(slot, connection, hello, one);
        ended();
      });
    }
    ended();
  };

  /** One of the other lists came after the tools. */
  const arrived = (slot: Slot, connection: Lister, hello: Hello, one: OtherRequest) => {
    if (!isWanted(slot)) return;
    accept(slot, connection, { hello, offer: offerWith(knownTo(slot, connection.offered).offer, [one]) }, 'others');
    if (one.again && one.listed) void now(slot, connection);
    one.again = false;
  };

  /** Tells once which lists have failed, and asks for them again after a pause, as long as the server runs. Undefined stands for one that is open. */
  const tryAgain = (slot: Slot, connection: Lister, succeeded: (boolean | undefined)[]) => {
    if (!isWanted(slot)) return;
    const runs = connection.state?.kind === 'ready';
    const failed = succeeded.includes(false);
    if (!failed && succeeded.includes(undefined)) return;
    // A conversation that was lost is told elsewhere, and the next one begins with lists.
    if (failed && !runs && !connection.fleeting) return;
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
      // The next start of a server that has stopped lists it anyway.
      if (connection.state?.kind === 'ready') void now(slot, connection);
    };
    slot.retryTimer = setTimeout(again, pause).unref();
  };

  const again = (slot: Slot, asked?: Lister): Promise<void> => {
    if (slot.announced !== undefined) return slot.announced.done;
    const { offered } = asked ?? connectionTo(slot.name) ?? {};
    const since = offered === undefined ? undefined : slot.begun.get(offered);
    const isRecent = since !== undefined && performance.now() - since < MOMENT;
    return isRecent && slot.inFlight === undefined ? Promise.resolve() : now(slot, asked);
  };

  const soon = (slot: Slot, connection: Teller | undefined) => {
    slot.stale.add(connection);
    if (slot.announced !== undefined) return;
    let begin = () => {};
    const time = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, REFRESH_GAP);
      begin = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    slot.announced = { begin, done: time.then(() => listStale(slot)) };
  };

  const listStale = async (slot: Slot): Promise<void> => {
    // A list under way may have begun before the change, so it is followed by another.
    const underWay = [...slot.toolLists].map(({ done }): Promise<unknown> => done);
    await Promise.allSettled([slot.inFlight?.done, ...underWay]);
    const stale = [...slot.stale];
    slot.stale.clear();
    slot.announced = undefined;
    await Promise.all(stale.map((one) => now(slot, one?.state.kind === 'closed' ? undefined : one)));
  };

  return { now, again, soon };
}

/** Undefined while it is open. */
function hasSucceeded({ listed, error }: OtherRequest): boolean | undefined {
  if (error !== undefined) return false;
  return listed === undefined ? undefined : true;
}

function failureText(slot: Slot, offered: string): string {
  const { listing, offer } = knownTo(slot, offered);
  const tools = listing.kind === 'failed' ? [`tools/list: ${messageOf(listing.error)}`] : [];
  return [...tools, ...unansweredLists(offer)].join('; ');
}
