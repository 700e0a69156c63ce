/** Queue of responses and notifications to an HTTP upstream: a few POSTs at a time, the others wait in order, within a limit. */
import { McpxError } from '../../errors.ts';
import { MAX_QUEUED } from '../transports/transport.ts';

export interface PostQueue {
  /**
   * Sends at once or when a slot is free; `post` never rejects. Throws McpxError(`overloaded`) if the queue is full.
   */
  add(size: number, post: () => Promise<void>): void;
  /** Drops all queued messages. */
  clear(): void;
}

export interface PostQueueOptions {
  /** The server's name for messages. */
  name: string;
  /** The number of concurrent POSTs; each has its own socket. */
  most?: number;
  /** The maximum number of queued messages. */
  waiting?: number;
}

const MOST = 32;
const WAITING = 4096;
/** Milliseconds to wait for the response to such a POST: its status matters little, and other messages wait. */
export const POST_WAIT = 30_000;

interface Waiting {
  size: number;
  post: () => Promise<void>;
}

export function createPostQueue({ name, most = MOST, waiting: bound = WAITING }: PostQueueOptions): PostQueue {
  let waiting: Waiting[] = [];
  let characters = 0;
  let posting = 0;

  const begin = (post: () => Promise<void>) => {
    posting += 1;
    void post().finally(() => {
      posting -= 1;
      next();
    });
  };
  const next = () => {
    const turn = waiting.shift();
    if (turn === undefined) return;
    characters -= turn.size;
    begin(turn.post);
  };

  return {
    add(size, post) {
      if (posting < most) return begin(post);
      if (waiting.length >= bound || characters >= MAX_QUEUED) {
        throw new McpxError('overloaded', `server "${name}" does not take answers: ${waiting.length} wait already`);
      }
      characters += size;
      waiting.push({ size, post });
    },
    clear() {
      waiting = [];
      characters = 0;
    },
  };
}
