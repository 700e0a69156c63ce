/** A channel over two byte streams, such as the pipes of a child process; joins the writes of one tick. */
import type { Readable, Writable } from 'node:stream';
import { McpxError } from '../errors.ts';
import {
  createDecoder,
  type Decoded,
  type Decoder,
  encode,
  type Framing,
  type Invalid,
  MAX_MESSAGE_BYTES,
  reportInvalid,
} from './framing.ts';
import { isResponse, type Message } from './message.ts';
import { InFlightCount, OutputQueue } from './output-queue.ts';
import type { Channel, Receiver } from './peer.ts';
import { RawResult } from './raw-result.ts';
import { undelivered } from './undelivered.ts';

export interface StreamChannelOptions {
  input: Readable;
  output: Writable;
  /**
   * The framing of sent messages; if absent, the framing that the peer uses, and newline until it has sent a message.
   */
  framing?: Framing;
  /** Maximum size of one message in either direction, in bytes (default 16 MiB). */
  maxBytes?: number;
  /** Maximum characters queued for a peer that does not read (default 1 MiB). */
  maxQueued?: number;
  /**
   * Handling of a queue beyond `maxQueued`. `refuse` (default) rejects every message. `keep-answers` rejects all but
   * responses, and parses no input while more than `maxBytes` are queued: the peer gets every response, and cannot
   * request more than it reads. Results of requests already in flight are rejected once the queue exceeds `UNREAD`
   * times `maxBytes`; errors never are.
   */
  overflow?: 'refuse' | 'keep-answers';
  /**
   * Called at the end of the input, so that requests in flight can still be answered. If absent, the channel closes.
   */
  inputEnded?: () => void;
  /** Receives the number of bytes of each chunk before the chunk is decoded. */
  read?: (bytes: number) => void;
  /** The name of the peer in messages (default: `the peer`). */
  subject?: string;
  /** True to answer invalid input with an error (-32700, -32600). */
  answerInvalid?: boolean;
}

export interface StreamChannel extends Channel {
  /**
   * Writes the queue and ends the output; reading continues. Resolves when the queue is written or cannot be written.
   */
  end(): Promise<void>;
  /** Number of characters queued or not yet taken by the peer. */
  readonly queued: number;
}

const MAX_QUEUED = 1024 * 1024;
/**
 * The number of our requests in flight up to which output is written after the current microtasks, because waiting for
 * the event loop costs another system call. Beyond it, output waits for the event loop, as many connections may have
 * output then. A message that is the only one in flight is written at once.
 */
const FEW = 8;
/** The factor of `maxBytes` that may be queued for a peer that does not read. */
const UNREAD = 4;
/** Milliseconds that `close` waits for a peer that does not read. */
const FLUSH_WAIT = 1000;

export function createStreamChannel(options: StreamChannelOptions): StreamChannel {
  return new StreamPair(options);
}

class StreamPair implements StreamChannel {
  readonly #options: StreamChannelOptions;
  readonly #maxBytes: number;
  readonly #output: OutputQueue;
  readonly #decoder: Decoder;
  readonly #traffic = new InFlightCount();
  #receiver: Receiver | undefined;
  #hasNoInput = false;
  /** Chunks of input that are not parsed yet because the peer does not read. */
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #ended = false;
  #closed = false;

  constructor(options: StreamChannelOptions) {
    const { output, maxBytes = MAX_MESSAGE_BYTES } = options;
    this.#options = options;
    this.#maxBytes = maxBytes;
    this.#output = new OutputQueue({ output, maxBytes, written: () => this.#takeHeld() });
    this.#decoder = createDecoder({ maxBytes, large: (pieces) => this.#takeLarge(pieces) });
  }

  get queued(): number {
    return this.#closed ? 0 : this.#output.queued + this.#heldBytes;
  }

  start(receiver: Receiver): void {
    const { input, output, read } = this.#options;
    this.#receiver = receiver;
    // EPIPE and similar errors only mean that the peer has disconnected.
    output.on('error', (error: NodeJS.ErrnoException) => this.#finish(isHangup(error) ? undefined : error));
    input.on('data', (chunk: Buffer) => {
      read?.(chunk.length);
      this.#take(chunk);
    });
    input.on('error', (error) => this.#finish(error));
    input.once('end', () => {
      if (this.#held.length === 0) this.#deliver(this.#decoder.end());
      this.#inputOver();
    });
    input.once('close', () => this.#inputOver());
  }

  send(message: Message): void {
    if (this.#ended || this.#closed) throw undelivered('the connection is closed');
    if (this.#isFull(message)) {
      const { subject = 'the peer' } = this.#options;
      throw new McpxError('overloaded', `${subject} does not read: ${this.#output.queued} characters wait already`);
    }
    const framing = this.#options.framing ?? this.#decoder.framing ?? 'newline';
    if (isResponse(message) && message.result instanceof RawResult)
      this.#output.addLarge(message.result.answer(message.id), framing);
    else this.#output.add(encode(message, framing));
    this.#traffic.sent(message);
    this.#output.schedule(this.#traffic.isLone(message) ? 'now' : this.#traffic.ours > FEW ? 'turn' : 'tick');
  }

  end(): Promise<void> {
    this.#ended = true;
    return this.#output.end();
  }

  async close(): Promise<void> {
    await within(FLUSH_WAIT, this.end());
    this.#finish();
    this.#options.input.destroy();
    this.#options.output.destroy();
  }

  get #isUnread(): boolean {
    return this.#options.overflow === 'keep-answers' && this.#output.queued > this.#maxBytes;
  }

  #isFull(message: Message): boolean {
    const { overflow = 'refuse', maxQueued = MAX_QUEUED } = this.#options;
    if (overflow === 'refuse' || !isResponse(message)) return this.#output.queued >= maxQueued;
    return message.error === undefined && this.#output.queued > UNREAD * this.#maxBytes;
  }

  /**
   * Decodes a chunk, or holds it while the peer does not read. Reading continues up to `maxBytes` so that the end of the
   * input is noticed.
   */
  #take(chunk: Buffer): void {
    if (this.#held.length === 0 && !this.#isUnread) {
      this.#deliver(this.#decoder.push(chunk));
      return;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > this.#maxBytes) this.#options.input.pause();
  }

  #takeHeld(): void {
    const held = this.#held;
    if (held.length === 0) return;
    while (held.length > 0 && !this.#isUnread && !this.#closed) {
      const chunk = held.shift() as Buffer;
      this.#heldBytes -= chunk.length;
      this.#deliver(this.#decoder.push(chunk));
    }
    if (held.length > 0) return;
    const { input } = this.#options;
    if (this.#hasNoInput) this.#deliver(this.#decoder.end());
    else if (input.isPaused()) input.resume();
  }

  #takeLarge(pieces: Buffer[]): boolean {
    const answered = this.#receiver?.large?.(pieces) ?? false;
    if (answered) this.#traffic.answered();
    return answered;
  }

  #deliver(decoded: Decoded[]): void {
    for (const one of decoded) {
      if (this.#closed) return;
      if (one.message) {
        this.#traffic.received(one.message);
        this.#receiver?.message(one.message);
      } else this.#deliverInvalid(one.invalid);
    }
  }

  #deliverInvalid(invalid: Invalid): void {
    const { subject = 'the peer', answerInvalid } = this.#options;
    reportInvalid(this.#receiver, invalid, subject);
    if (!answerInvalid || invalid.answer || this.#ended || this.#closed) return;
    this.send({ jsonrpc: '2.0', id: invalid.id ?? null, error: { code: invalid.code, message: invalid.reason } });
  }

  #inputOver(): void {
    if (this.#closed || this.#hasNoInput) return;
    this.#hasNoInput = true;
    if (this.#options.inputEnded) this.#options.inputEnded();
    else this.#finish();
  }

  #finish(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#output.clear();
    this.#receiver?.closed(error);
  }
}

function isHangup(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_DESTROYED';
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, bound]);
  clearTimeout(timer);
}
