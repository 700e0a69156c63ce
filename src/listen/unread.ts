/** Answers that their clients do not take: so many bytes for each client, then its oldest connections are cut. */
import type { ServerResponse } from 'node:http';
import { InFlight } from '../in-flight.ts';
import type { Log } from '../observe/log.ts';
import type { Trace } from './trace.ts';

export interface Unread {
  /** Looks at an answer until it is over. */
  watch(response: ServerResponse, from: string, trace: Pick<Trace, 'principal'>): void;
  /** Cuts what is too much; done by itself while there are answers. */
  sweep(): void;
  close(): void;
}

export interface UnreadOptions {
  log: Pick<Log, 'warn'>;
  /** Bytes of one client that may wait as long as they like, and that may wait at all. */
  calm?: number;
  most?: number;
  /** Monotonic ms. */
  now?: () => number;
}

const CALM = 64 * 1024 * 1024;
const MOST = 192 * 1024 * 1024;
/** ms for which a client that is merely busy is left alone. */
const PATIENCE = 5000;
/** ms between two looks. */
const LOOK = 250;

interface Waiting {
  response: ServerResponse;
  /** The token, or the address where there are none. */
  owner(): string;
  /** Since when something of it waits. */
  since?: number | undefined;
}

export function createUnread({ log, calm = CALM, most = MOST, now = () => performance.now() }: UnreadOptions): Unread {
  const answers = new InFlight<Waiting>();
  let last = 0;
  let timer: NodeJS.Timeout | undefined;

  /** What waits for each client, the oldest first. */
  const byOwner = (time: number): Map<string, Waiting[]> => {
    const found = new Map<string, Waiting[]>();
    for (const one of answers.values()) {
      one.since = one.response.writableLength === 0 ? undefined : (one.since ?? time);
      if (one.since === undefined) continue;
      const own = found.get(one.owner());
      if (own === undefined) found.set(one.owner(), [one]);
      else own.push(one);
    }
    return found;
  };
  const sweep = () => {
    const time = now();
    for (const [owner, waiting] of byOwner(time)) {
      let total = waiting.reduce((sum, { response }) => sum + response.writableLength, 0);
      let cut = 0;
      for (const { response, since = time } of waiting) {
        if (total <= calm || (total <= most && time - since < PATIENCE)) break;
        total -= response.writableLength;
        response.req.socket.destroy();
        cut += 1;
      }
      if (cut > 0) log.warn(`${cut} answers were not read and are cut`, { client: owner });
    }
  };
  const look = () => {
    timer = undefined;
    sweep();
    if (answers.size > 0) schedule();
  };
  const schedule = () => {
    timer ??= setTimeout(look, LOOK).unref();
  };

  return {
    watch(response, from, trace) {
      const place = ++last;
      answers.set(place, { response, owner: () => trace.principal ?? from });
      response.on('close', () => answers.delete(place));
      schedule();
    },
    sweep,
    close: () => clearTimeout(timer),
  };
}
