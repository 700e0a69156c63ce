/** A channel over two byte streams, such as the pipes of a child process; joins the writes of one tick. */
import type { Readable, Writable } from 'node:stream';
import { McpxError } from '../errors.ts';
import {
  createDecoder,
  type Decoded,
  encode,
  type Framing,
  type Invalid,
  MAX_MESSAGE_BYTES,
  reportInvalid,
} from './framing.ts';
import { InFlightCount } from './in-flight-count.ts';
import { isResponse, type Message } from './message.ts';
import type { Channel, Receiver } from './peer.ts';
import { RawResult, release, sizeOf } from './raw-result.ts';
import { checkSize } from './size-limit.ts';
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
/** Bytes by which a forwarded message may exceed the limit, because its id is replaced. */
const SLACK = 64;
/** Milliseconds that `close` waits for a peer that does not read. */
const FLUSH_WAIT = 1000;

export function createStreamChannel(options: StreamChannelOptions): StreamChannel {
  const { input, output, maxBytes = MAX_MESSAGE_BYTES, maxQueued = MAX_QUEUED, overflow = 'refuse' } = options;
  const { subject = 'the peer' } = options;
  const decoder = createDecoder({ maxBytes, large: (pieces) => takeLarge(pieces) });
  let receiver: Receiver | undefined;
  /** Output queued before `pending`; only used if it includes large results. */
  let parts: (string | Buffer)[] = [];
  let partsLength = 0;
  let pending = '';
  /** Length of the write in progress; there is one at a time. */
  let writing = 0;
  let scheduled = false;
  const traffic = new InFlightCount();
  let noInput = false;
  /** Chunks of input that are not parsed yet because the peer does not read. */
  const held: Buffer[] = [];
  let heldBytes = 0;
  let ended = false;
  let closed = false;

  const queued = () => partsLength + pending.length + writing;

  /** Empties the queue and returns its content. */
  const taken = (): (string | Buffer)[] => {
    const all = [...parts, pending];
    parts = [];
    partsLength = 0;
    pending = '';
    return all;
  };

  const flush = () => {
    scheduled = false;
    if (writing > 0 || queued() === 0 || output.destroyed) return;
    writing = queued();
    if (partsLength > 0) writeAll(taken());
    else {
      const text = pending;
      pending = '';
      output.write(text, written);
    }
  };

  /** Writes large chunks one by one instead of joining them. */
  const writeAll = (all: (string | Buffer)[]) => {
    output.cork();
    for (const part of all) output.write(part);
    output.write('', () => {
      release(all);
      written();
    });
    output.uncork();
  };

  const written = () => {
    writing = 0;
    flush();
    takeHeld();
  };

  const isUnread = () => overflow === 'keep-answers' && queued() > maxBytes;

  /**
   * Decodes a chunk, or holds it while the peer does not read. Reading continues up to `maxBytes` so that the end of the
   * input is noticed.
   */
  const take = (chunk: Buffer) => {
    if (held.length === 0 && !isUnread()) {
      deliver(decoder.push(chunk));
      return;
    }
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes > maxBytes) input.pause();
  };

  const takeHeld = () => {
    if (held.length === 0) return;
    while (held.length > 0 && !isUnread() && !closed) {
      const chunk = held.shift() as Buffer;
      heldBytes -= chunk.length;
      deliver(decoder.push(chunk));
    }
    if (held.length > 0) return;
    if (noInput) deliver(decoder.end());
    else if (input.isPaused()) input.resume();
  };

  const isFull = (message: Message): boolean => {
    if (overflow === 'refuse' || !isResponse(message)) return queued() >= maxQueued;
    return message.error === undefined && queued() > UNREAD * maxBytes;
  };

  const send = (message: Message) => {
    if (ended || closed) throw undelivered('the connection is closed');
    if (isFull(message)) {
      throw new McpxError('overloaded', `${subject} does not read: ${queued()} characters wait already`);
    }
    const framing = options.framing ?? decoder.framing ?? 'newline';
    if (isResponse(message) && message.result instanceof RawResult)
      queueLarge(message.result.answer(message.id), framing);
    else queueText(encode(message, framing));
    traffic.sent(message);
    if (scheduled || writing > 0) return;
    if (traffic.isLone(message)) {
      flush();
      return;
    }
    scheduled = true;
    if (traffic.ours > FEW) setImmediate(flush);
    else process.nextTick(flush);
  };

  const queueText = (text: string) => {
    checkSize(text, maxBytes, SLACK);
    pending += text;
  };

  const queueLarge = (pieces: Buffer[], framing: Framing) => {
    checkSize(pieces, maxBytes, SLACK);
    const size = sizeOf(pieces);
    const [head, tail] = framing === 'newline' ? ['', '\n'] : [`Content-Length: ${size}\r\n\r\n`, ''];
    parts.push(pending + head, ...pieces, tail);
    partsLength += pending.length + head.length + size + tail.length;
    pending = '';
  };

  const takeLarge = (pieces: Buffer[]): boolean => {
    const answered = receiver?.large?.(pieces) ?? false;
    if (answered) traffic.answered();
    return answered;
  };

  const finish = (error?: Error) => {
    if (closed) return;
    closed = true;
    taken();
    receiver?.closed(error);
  };

  const deliverInvalid = (invalid: Invalid) => {
    reportInvalid(receiver, invalid, subject);
    if (!options.answerInvalid || invalid.answer || ended || closed) return;
    send({ jsonrpc: '2.0', id: invalid.id ?? null, error: { code: invalid.code, message: invalid.reason } });
  };

  const deliver = (decoded: Decoded[]) => {
    for (const one of decoded) {
      if (closed) return;
      if (one.message) {
        traffic.received(one.message);
        receiver?.message(one.message);
      } else deliverInvalid(one.invalid);
    }
  };

  const inputOver = () => {
    if (closed || noInput) return;
    noInput = true;
    if (options.inputEnded) options.inputEnded();
    else finish();
  };

  const end = () =>
    new Promise<void>((resolve) => {
      ended = true;
      if (output.destroyed || output.writableFinished) return resolve();
      // The 'close' event covers an output that fails before it has finished.
      output.once('close', resolve);
      for (const part of taken()) output.write(part);
      output.end(resolve);
    });

  return {
    get queued() {
      return closed ? 0 : queued() + heldBytes;
    },
    start(to) {
      receiver = to;
      // EPIPE and similar errors only mean that the peer has disconnected.
      output.on('error', (error: NodeJS.ErrnoException) => finish(isHangup(error) ? undefined : error));
      input.on('data', (chunk: Buffer) => {
        options.read?.(chunk.length);
        take(chunk);
      });
      input.on('error', finish);
      input.once('end', () => {
        if (held.length === 0) deliver(decoder.end());
        inputOver();
      });
      input.once('close', inputOver);
    },
    send,
    end,
    async close() {
      await within(FLUSH_WAIT, end());
      finish();
      input.destroy();
      output.destroy();
    },
  };
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
