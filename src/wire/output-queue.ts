/** The output of a stream channel: joins the writes of one tick while much is in flight, and does not copy large results. */
import type { Writable } from 'node:stream';
import type { Framing } from './framing.ts';
import { checkSize, isRequest, isResponse, type Message } from './message.ts';
import { release, sizeOf } from './raw-result.ts';

export interface OutputQueueOptions {
  output: Writable;
  /** Maximum size of one message in bytes. */
  maxBytes: number;
  /** Called when the output has taken what was queued. */
  written(): void;
}

/** Bytes by which a forwarded message may exceed the limit, because its id is replaced. */
const SLACK = 64;

export class OutputQueue {
  readonly #options: OutputQueueOptions;
  /** Output queued before `#pending`; only used if it includes large results. */
  #parts: (string | Buffer)[] = [];
  #partsLength = 0;
  #pending = '';
  /** Length of the write in progress; there is one at a time. */
  #writing = 0;
  #isScheduled = false;
  readonly #flush = () => this.#write();

  constructor(options: OutputQueueOptions) {
    this.#options = options;
  }

  /** Number of characters queued or not yet taken by the output. */
  get queued(): number {
    return this.#partsLength + this.#pending.length + this.#writing;
  }

  add(text: string): void {
    checkSize(text, this.#options.maxBytes, SLACK);
    this.#pending += text;
  }

  addLarge(pieces: Buffer[], framing: Framing): void {
    checkSize(pieces, this.#options.maxBytes, SLACK);
    const size = sizeOf(pieces);
    const [head, tail] = framing === 'newline' ? ['', '\n'] : [`Content-Length: ${size}\r\n\r\n`, ''];
    this.#parts.push(this.#pending + head, ...pieces, tail);
    this.#partsLength += this.#pending.length + head.length + size + tail.length;
    this.#pending = '';
  }

  /** Writes the queue at once, after the current microtasks, or in the next turn of the event loop. */
  schedule(when: 'now' | 'tick' | 'turn'): void {
    if (this.#isScheduled || this.#writing > 0) return;
    if (when === 'now') {
      this.#write();
      return;
    }
    this.#isScheduled = true;
    if (when === 'turn') setImmediate(this.#flush);
    else process.nextTick(this.#flush);
  }

  /** Writes the queue and ends the output. Resolves when the queue is written or cannot be written. */
  end(): Promise<void> {
    const { output } = this.#options;
    return new Promise<void>((resolve) => {
      if (output.destroyed || output.writableFinished) return resolve();
      // The 'close' event covers an output that fails before it has finished.
      output.once('close', resolve);
      for (const part of this.clear()) output.write(part);
      output.end(resolve);
    });
  }

  /** Empties the queue and returns its content. */
  clear(): (string | Buffer)[] {
    const all = [...this.#parts, this.#pending];
    this.#parts = [];
    this.#partsLength = 0;
    this.#pending = '';
    return all;
  }

  #write(): void {
    const { output } = this.#options;
    this.#isScheduled = false;
    if (this.#writing > 0 || this.queued === 0 || output.destroyed) return;
    if (this.#partsLength > 0) {
      this.#writing = this.queued;
      this.#writeAll(this.clear());
      return;
    }
    const text = this.#pending;
    this.#pending = '';
    this.#writing = text.length;
    output.write(text);
    // The system takes most output at once. A callback of each write would cost one `process.nextTick` per message.
    if (output.writableLength > 0) output.write('', this.#written);
    else this.#written();
  }

  /** Writes large chunks one by one instead of joining them. */
  #writeAll(all: (string | Buffer)[]): void {
    const { output } = this.#options;
    output.cork();
    for (const part of all) output.write(part);
    output.write('', () => {
      release(all);
      this.#written();
    });
    output.uncork();
  }

  readonly #written = () => {
    this.#writing = 0;
    if (this.queued > 0) this.#write();
    this.#options.written();
  };
}

const CANCELLED = 'notifications/cancelled';

/** Counts unanswered requests in both directions, approximately: a cancelled request may still be answered. */
export class InFlightCount {
  /** Number of our requests without a response. */
  ours = 0;
  /** Number of the peer's requests without a response. */
  theirs = 0;

  sent(message: Message): void {
    if (!('method' in message)) this.theirs = less(this.theirs);
    else if ('id' in message) this.ours += 1;
    else if (message.method === CANCELLED) this.ours = less(this.ours);
  }

  received(message: Message): void {
    if (!('method' in message)) this.answered();
    else if ('id' in message) this.theirs += 1;
    else if (message.method === CANCELLED) this.theirs = less(this.theirs);
  }

  /** Counts a response to one of our requests. */
  answered(): void {
    this.ours = less(this.ours);
  }

  /** Returns true if the message just sent is the only one in flight, so that there is nothing to batch it with. */
  isLone(message: Message): boolean {
    if (this.theirs > 0) return false;
    return isResponse(message) ? this.ours === 0 : this.ours === 1 && isRequest(message);
  }
}

function less(count: number): number {
  return count > 0 ? count - 1 : 0;
}
