/** Limits the unsolicited output of one upstream so that it does not slow down others: pauses reading or closes it. */
import type { Readable } from 'node:stream';
import { isRequest, type Message } from '../../wire/message.ts';

export interface FloodGuard {
  /** Counts received bytes. */
  read(bytes: number): void;
  /** Counts a sent request, so that one response is expected. */
  asked(): void;
  message(message: Message): void;
  /** Counts input that is not a message. */
  noise(): void;
}

export interface FloodGuardOptions {
  /** Bytes without a message after which `exceeded` is called. */
  maxSilence: number;
  /** Called once when the limit is exceeded. */
  exceeded(): void;
}

/**
 * Unsolicited messages (notifications, requests, unexpected responses, noise lines) that are read per ms on average
 * (RATE) and at once (BURST).
 */
const RATE = 25;
const BURST = 20_000;
/** The cost of a request in messages: it has to be processed and answered. */
const REQUEST = 20;
/** The minimum pause in ms, so that reading does not resume for every line. */
const PAUSE = 20;

/** A source that can be paused and resumed, such as a stream. */
export type Pausable = Pick<Readable, 'pause' | 'resume' | 'isPaused' | 'destroyed'>;

export function watchFlood(input: Pausable, { maxSilence, exceeded }: FloodGuardOptions): FloodGuard {
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
    // Data that was already buffered may have exceeded the budget further.
    if (budget < 0) pause();
    else if (!input.destroyed) input.resume();
  };
  const unasked = (cost = 1) => {
    budget -= cost;
    if (budget > 0) return;
    if (resuming) {
      // Other code may have resumed the stream meanwhile.
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
