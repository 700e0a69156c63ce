/** A channel over a pair of byte streams: a child's pipes, or our own stdin and stdout. Writes of one tick become one system call. */
import type { Readable, Writable } from 'node:stream';
import { McpxError } from '../errors.ts';
import { checkSize } from './bound.ts';
import {
  createDecoder,
  type Decoded,
  encode,
  type Framing,
  type Invalid,
  MAX_MESSAGE_BYTES,
  reportInvalid,
} from './framing.ts';
import { isResponse, type Message } from './message.ts';
import type { Channel, Receiver } from './peer.ts';
import { Traffic } from './traffic.ts';
import { undelivered } from './undelivered.ts';
import { release, sizeOf, Verbatim } from './verbatim.ts';

export interface StreamChannelOptions {
  input: Readable;
  output: Writable;
  /** What we write; absent: what the far side opened with, newline until it has. */
  framing?: Framing;
  /** Bound of one message either way, in bytes (default 16 MiB). */
  maxBytes?: number;
  /** Characters that may wait for a far side that does not read (default 1 MiB). */
  maxQueued?: number;
  /**
   * Beyond `maxQueued`, `refuse` (default) refuses every message. `keep-answers` refuses all but answers, and looks at no request
   * while more than `maxBytes` wait: the far side gets every answer, and cannot ask for more than it takes. Results of requests that were
   * under way by then are refused once `UNREAD` times as much waits; errors never are.
   */
  overflow?: 'refuse' | 'keep-answers';
  /** Called at the end of the input, where absent the channel closes: what is under way can then still be answered. */
  inputEnded?: () => void;
  /** Told how many bytes have come, before what is in them. */
  read?: (bytes: number) => void;
  /** How messages about the far side name it (default: `the far side`). */
  subject?: string;
  /** Whether what is no JSON-RPC is answered with its error (-32700, -32600). */
  answerInvalid?: boolean;
}

export interface StreamChannel extends Channel {
  /** Writes what is queued and ends the output; goes on reading. Resolves when it is written or cannot be. */
  end(): Promise<void>;
  /** Characters that the far side has not taken yet, or that wait for that. */
  readonly queued: number;
}

const MAX_QUEUED = 1024 * 1024;
/**
 * What is alone is written at once. Up to so many requests under way, what is sent is written as soon as the promises of this moment are
 * done, as waiting for the event loop costs a system call more. Beyond, it waits for the loop, in which many connections may have something to send.
 */
const FEW = 8;
/** How often the largest message may wait for a far side that does not read. */
const UNREAD = 4;
/** Bytes by which a message may grow on its way: its id is another. */
const SLACK = 64;
/** How long `close` waits for a far side that does not read, in ms. */
const FLUSH_WAIT = 1000;

export function createStreamChannel(options: StreamChannelOptions): StreamChannel {
  const { input, output, maxBytes = MAX_MESSAGE_BYTES, maxQueued = MAX_QUEUED, overflow = 'refuse' } = options;
  const { subject = 'the far side' } = options;
  const decoder = createDecoder({ maxBytes, large: (pieces) => takeLarge(pieces) });
  let receiver: Receiver | undefined;
  /** What was queued before `pending`, where it is more than text. */
  let parts: (string | Buffer)[] = [];
  let partsLength = 0;
  let pending = '';
  /** Length of the write that the far side has not taken yet; there is one at a time. */
  let writing = 0;
  let scheduled = false;
  const traffic = new Traffic();
  let noInput = false;
  /** Input that arrived and is not parsed yet, because the far side does not read. */
  const held: Buffer[] = [];
  let heldBytes = 0;
  let ended = false;
  let closed = false;

  const queued = () => partsLength + pending.length + writing;

  /** Everything that is queued, which is not queued any more. */
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

  /** Large pieces are not joined: the system takes them one after the other. */
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

  /** The end of the input is noticed also while nothing is looked at, unless too much comes before it. */
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
    if (isResponse(message) && message.result instanceof Verbatim)
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
      // 'close' covers an output that fails before it has finished.
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
      // EPIPE and its kin say only that the far side went away.
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
