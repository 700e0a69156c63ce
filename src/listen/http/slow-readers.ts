/** Limits the bytes of unread responses per client; beyond the limit its oldest connections are closed. */
import type { Log } from '../../observe/log.ts';
import type { RequestTrace } from './access-log.ts';
import { plainAddress } from './guard.ts';

export interface SlowReaderOptions {
  log: Pick<Log, 'warn'>;
  /** Bytes per client that may wait without a time limit, and the maximum that may wait at all. */
  calm?: number;
  most?: number;
  /** Returns monotonic time in ms. */
  now?: () => number;
}

const CALM = 48 * 1024 * 1024;
/** An event stream holds its data twice: for the socket, and for a client that resumes. */
const MOST = 96 * 1024 * 1024;
/** Milliseconds that a client between both limits may take. */
const PATIENCE = 5000;

/** The fields of a request that are checked. */
type Answered = Pick<RequestTrace, 'response' | 'principal' | 'unread'>;

/** Returns a function that closes connections with too many unread bytes. */
export function createSlowReaders({ log, calm = CALM, most = MOST, now = () => performance.now() }: SlowReaderOptions) {
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
      if (cut > 0)
        log.warn(`${cut} connections are closed: their clients did not read the responses`, { client: owner });
    }
  };
}

/** Groups unread responses by client, the oldest first. A client is its token, or its address without tokens. */
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
