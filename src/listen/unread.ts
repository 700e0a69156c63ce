/** Answers that their clients do not take: so many bytes for each client, then its oldest connections are cut. */
import type { Log } from '../observe/log.ts';
import { plainAddress } from './guard.ts';
import type { Trace } from './trace.ts';

export interface UnreadOptions {
  log: Pick<Log, 'warn'>;
  /** Bytes of one client that may wait as long as they like, and that may wait at all. */
  calm?: number;
  most?: number;
  /** Monotonic ms. */
  now?: () => number;
}

const CALM = 48 * 1024 * 1024;
/** An event stream holds its answer twice: for the socket, and for a client that resumes. */
const MOST = 96 * 1024 * 1024;
/** ms for which a client that is merely busy is left alone. */
const PATIENCE = 5000;

/** What is looked at of a request. */
type Answered = Pick<Trace, 'response' | 'principal' | 'unread'>;

/** Returns what cuts what is too much of the answers under way. */
export function createUnread({ log, calm = CALM, most = MOST, now = () => performance.now() }: UnreadOptions) {
  return (underWay: Iterable<Answered>): void => {
    const time = now();
    for (const [owner, waiting] of byOwner(underWay, time)) {
      let total = waiting.reduce((sum, { response }) => sum + response.writableLength, 0);
      let cut = 0;
      for (const { response, unread = time } of waiting) {
        if (total <= calm || (total <= most && time - unread < PATIENCE)) break;
        total -= response.writableLength;
        response.req.socket.destroy();
        cut += 1;
      }
      if (cut > 0) log.warn(`${cut} answers were not read and are cut`, { client: owner });
    }
  };
}

/** What waits for each client, the oldest first. A client is its token, or its address where there are none. */
function byOwner(underWay: Iterable<Answered>, time: number): Map<string, Answered[]> {
  const found = new Map<string, Answered[]>();
  for (const one of underWay) {
    one.unread = one.response.writableLength === 0 ? undefined : (one.unread ?? time);
    if (one.unread === undefined) continue;
    const owner = one.principal ?? plainAddress(one.response.req.socket.remoteAddress);
    const own = found.get(owner);
    if (own === undefined) found.set(owner, [one]);
    else own.push(one);
  }
  return found;
}
