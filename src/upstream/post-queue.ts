/** Answers and notifications on their way to an upstream over HTTP: a few POSTs at a time, the others wait in order, within a bound. */
import { McpxError } from '../errors.ts';
import { MAX_QUEUED } from './transport.ts';

export interface PostQueue {
  /** Sends at once or when it is its turn; `post` never rejects. Throws McpxError(`overloaded`) where too much waits already. */
  add(size: number, post: () => Promise<void>): void;
  /** Forgets what waits. */
  clear(): void;
}

export interface PostQueueOptions {
  /** The server's name, for messages. */
  name: string;
  /** POSTs at a time; each has a socket of its own. */
  most?: number;
  /** Messages that may wait. */
  waiting?: number;
}

const MOST = 32;
const WAITING = 4096;
/** ms for which the answer to such a POST is awaited: its status says little, and others may wait for its turn. */
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
