/** The event streams of an HTTP upstream: the response to one call, which is resumed if it breaks, and the GET stream. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { McpxError } from '../../errors.ts';
import { createSseDecoder, type SseDecoder } from '../../wire/sse-parser.ts';
import { retryDelay } from '../lifecycle/retry-delay.ts';
import { consume, type Exchange } from './http-client.ts';

export interface StreamsOptions {
  /** The server's name for messages. */
  name: string;
  maxBytes: number;
  /** Aborts when the connection ends. */
  signal: AbortSignal;
  /** Opens the GET stream, after the event with this id if it is given. */
  open(lastEventId: string | undefined): Exchange;
  /** Returns the error for a refused request. */
  refusal(response: IncomingMessage): Promise<Error>;
}

/** The state of the call whose response is read. */
export interface Awaited {
  answered: boolean;
  aborted: boolean;
  exchange: Exchange | undefined;
}

type Take = (text: string) => void;

export interface Streams {
  /** Reads until the call is answered; rejects if the stream ends before that and cannot be resumed. */
  answer(call: Awaited, response: IncomingMessage, take: Take): Promise<void>;
  /** Keeps the GET stream open as long as the upstream offers one; `lost` receives the error of a refused stream. */
  listen(take: Take, lost: (reason: Error) => void): Promise<void>;
}

/** Milliseconds that a stream may stay open after its response: an orderly end keeps the socket. */
const LINGER = 1000;
/** Milliseconds before a broken response stream is resumed, and the number of attempts without a new event. */
const RESUME_WAIT = 250;
const MAX_RESUMES = 3;
const LISTEN_INTERVAL = 1000;

export function createStreams({ name, maxBytes, signal, open, refusal }: StreamsOptions): Streams {
  const tooLarge = () =>
    new McpxError('protocol', `server "${name}" sent an event over the limit of ${maxBytes} bytes`);

  const read = async (response: IncomingMessage, decoder: SseDecoder, take: Take, call?: Awaited) => {
    let linger: NodeJS.Timeout | undefined;
    const onChunk = (chunk: Buffer) => {
      for (const { type, data } of decoder.push(chunk)) {
        if (data === undefined) response.destroy(tooLarge());
        else if (type === 'message') take(data);
      }
      if (call?.answered) linger ??= setTimeout(() => response.destroy(), LINGER);
    };
    await consume(response, onChunk).finally(() => clearTimeout(linger));
  };

  const answer: Streams['answer'] = async (call, first, take) => {
    const decoder = createSseDecoder({ maxBytes });
    let response = first;
    for (let tries = 1; ; tries++) {
      const known = decoder.lastId;
      const broken = await read(response, decoder, take, call).catch((error: Error) => error);
      if (call.answered) return;
      if (decoder.lastId !== known) tries = 1;
      if (broken instanceof McpxError || call.aborted || decoder.lastId === undefined || tries > MAX_RESUMES) {
        throw broken ?? new McpxError('unreachable', `server "${name}" ended its reply without an answer`);
      }
      await delay(decoder.retry ?? RESUME_WAIT, undefined, { signal });
      call.exchange = open(decoder.lastId);
      response = await call.exchange.response;
      if (response.statusCode !== 200) throw await refusal(response);
    }
  };

  /** Reads the stream to its end; resolves with true if it should be opened again. */
  const listenOnce = async (decoder: SseDecoder, take: Take, lost: (reason: Error) => void): Promise<boolean> => {
    const exchange = open(decoder.lastId);
    signal.addEventListener('abort', exchange.abort, { once: true });
    try {
      const response = await exchange.response;
      if (response.statusCode === 200) {
        await read(response, decoder, take);
        return true;
      }
      lost(await refusal(response));
      return (response.statusCode ?? 0) > 501;
    } finally {
      signal.removeEventListener('abort', exchange.abort);
    }
  };

  const listen: Streams['listen'] = async (take, lost) => {
    const decoder = createSseDecoder({ maxBytes });
    for (let failures = 1; !signal.aborted; failures++) {
      const known = decoder.lastId;
      const again = await listenOnce(decoder, take, lost).catch(() => true);
      if (!again) return;
      if (decoder.lastId !== known) failures = 1;
      const wait = decoder.retry ?? retryDelay(failures, LISTEN_INTERVAL);
      await delay(wait, undefined, { ref: false, signal }).catch(() => undefined);
    }
  };

  return { answer, listen };
}
