/** Keeps what one upstream pours out within bounds, so that it costs the others nothing: slows it down, or gives it up. */
import type { Readable } from 'node:stream';
import { isRequest, type Message } from '../wire/message.ts';

export interface Torrent {
  /** Bytes have come. */
  read(bytes: number): void;
  /** We have asked something, so that one answer is welcome. */
  asked(): void;
  message(message: Message): void;
  /** Something that is no message. */
  noise(): void;
}

export interface TorrentOptions {
  /** Bytes without a message after which it is given up. */
  maxSilence: number;
  /** Called once. */
  exceeded(): void;
}

/** Notifications, requests, needless answers and lines of noise that are read per ms in the long run, and at once. */
const RATE = 25;
const BURST = 20_000;
/** How many of them one request counts for: it is worked on, and answered. */
const REQUEST = 20;
/** ms that it is left unread at least, so that it is not resumed for every line. */
const PAUSE = 20;

/** A source that is paused and resumed: a stream, or anything that can be left unread for a while. */
export type Pausable = Pick<Readable, 'pause' | 'resume' | 'isPaused' | 'destroyed'>;

export function watchTorrent(input: Pausable, { maxSilence, exceeded }: TorrentOptions): Torrent {
  let silence = 0;
  let welcome = 0;
  let budget = BURST;
  let since = performance.now();
  let resuming: NodeJS.Timeout | undefined;

  const refill = () => {
    const now = performance.now();
    budget = Math.min(BURST, budget + (now - since) * RATE);
    since = now;
  };
  const pause = () => {
    input.pause();
    resuming = setTimeout(resume, Math.max(PAUSE, -budget / RATE));
    resuming.unref();
  };
  const resume = () => {
    resuming = undefined;
    refill();
    // What had been read already was taken in full.
    if (budget < 0) pause();
    else if (!input.destroyed) input.resume();
  };
  const unasked = (cost = 1) => {
    budget -= cost;
    if (budget > 0) return;
    if (resuming) {
      // Whoever writes to it resumes it as well.
      if (!input.isPaused()) input.pause();
      return;
    }
    refill();
    if (budget <= 0) pause();
  };

  return {
    read(bytes) {
      silence += bytes;
      if (silence <= maxSilence) return;
      silence = Number.NEGATIVE_INFINITY;
      exceeded();
    },
    asked() {
      welcome += 1;
    },
    message(message) {
      silence = 0;
      if ('method' in message) unasked(isRequest(message) ? REQUEST : 1);
      else if (welcome === 0) unasked();
      else welcome -= 1;
    },
    noise() {
      silence = 0;
      unasked();
    },
  };
}
