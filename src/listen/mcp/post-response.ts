/** The response to one POST: JSON if the result is the only message, an event stream otherwise. */
import type { ServerResponse } from 'node:http';
import { RPC_CODES } from '../../errors.ts';
import type { RpcResponse } from '../../wire/message.ts';
import { RawResult, release } from '../../wire/raw-result.ts';
import { requestIdOf, traceOf } from '../http/access-log.ts';
import { sendEmpty, sendPieces, sendText } from '../http/http-response.ts';
import { EventStream } from './sse-stream.ts';

/** The response formats that the client accepts. */
export interface Accepts {
  json: boolean;
  events: boolean;
}

export interface AnswerOptions {
  response: ServerResponse;
  accepts: Accepts;
  /** Number of requests to be answered. */
  pending: number;
  /** True if the POST was a JSON-RPC batch. */
  batch: boolean;
  headers?: Record<string, string>;
  /** Creates the event stream if one is needed (default: one that cannot be resumed). */
  streams?: Streams;
}

export interface Streams {
  open(): EventStream;
  /** Called when all responses are written or cancelled, with the number of responses. */
  finished(stream: EventStream, answers: number): void;
}

const UNNAMED: Streams = { open: () => new EventStream(), finished: () => undefined };

/** Maximum number of characters of all responses to a batch. */
const MAX_BATCH = 64 * 1024 * 1024;

export class Answer {
  readonly #options: AnswerOptions;
  readonly #texts: string[] = [];
  /** The only response, if it is large and still unparsed bytes. */
  #bytes: Buffer[] | undefined;
  #pending: number;
  #given = 0;
  #size = 0;
  #status = 200;
  #stream: EventStream | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#pending = options.pending;
    if (!options.accepts.json) this.#open();
    else if (options.accepts.events) traceOf(options.response)?.whenSlow(this);
  }

  /** The id of the HTTP request. */
  get requestId(): string | undefined {
    return requestIdOf(this.#options.response);
  }

  /** True if no response is outstanding. */
  get over(): boolean {
    return this.#pending === 0;
  }

  /**
   * Opens an event stream if the client accepts one: it can then tell a slow response from a dead connection, and
   * resume.
   */
  slow(): void {
    if (!this.over && this.#stream === undefined) this.#open();
  }

  /** Sends a message before the response; returns false if the client has no stream for it. */
  push(text: string, options: { kept: boolean }): boolean {
    if (this.over) return false;
    if (this.#stream === undefined && this.#options.accepts.events) this.#open();
    this.#stream?.push(text, options);
    return this.#stream !== undefined;
  }

  /**
   * Sends one of the responses; the status applies only to a single JSON response. Throws if the response cannot be
   * serialized, and it is still outstanding then.
   */
  give(answer: RpcResponse, status = 200): void {
    const { result, id } = answer;
    const alone = this.#stream === undefined && !this.#options.batch;
    if (alone && result instanceof RawResult) this.#bytes = result.answer(id);
    else if (!this.#options.batch && result instanceof RawResult) this.#stream?.push(result.answer(id), { kept: true });
    else this.#write(this.#fitting(textOf(answer), id));
    this.#given += 1;
    this.#status = status;
    this.skip();
  }

  #write(text: string): void {
    if (this.#stream !== undefined) this.#stream.push(text, { kept: true });
    else this.#texts.push(text);
  }

  /**
   * Replaces a response by an error if all responses to the batch would be too large: a hundred large ones would take
   * too much memory for one client.
   */
  #fitting(text: string, id: RpcResponse['id']): string {
    if (!this.#options.batch) return text;
    this.#size += text.length;
    if (this.#size <= MAX_BATCH) return text;
    this.#size -= text.length;
    const message = 'the answers to this batch are too large together: send this request alone';
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code: RPC_CODES.overloaded, message } });
  }

  /** Marks a request as done without a response, because it was cancelled or its response is written. */
  skip(): void {
    this.#pending -= 1;
    if (this.#pending > 0) return;
    if (this.#stream === undefined) this.#sendJson();
    else {
      this.#stream.end();
      this.#streams.finished(this.#stream, this.#given);
    }
  }

  #sendJson(): void {
    const { response, batch, headers } = this.#options;
    const [first] = this.#texts;
    if (this.#bytes !== undefined) sendPieces(response, this.#status, this.#bytes, headers);
    else if (first === undefined) sendEmpty(response, 202, headers);
    else sendText(response, this.#status, batch ? `[${this.#texts.join(',')}]` : first, headers);
  }

  get #streams(): Streams {
    return this.#options.streams ?? UNNAMED;
  }

  /** Opens the stream, unless the client has disconnected: it cannot resume a stream that it does not know. */
  #open(): void {
    const { response, headers = {} } = this.#options;
    if (response.destroyed) return;
    this.#stream = this.#streams.open();
    this.#stream.attach(response, { headers });
    for (const text of this.#texts.splice(0)) this.#stream.push(text, { kept: true });
  }
}

function textOf(answer: RpcResponse): string {
  const { result, id } = answer;
  if (!(result instanceof RawResult)) return JSON.stringify(answer);
  const pieces = result.answer(id);
  const joined = Buffer.concat(pieces);
  const text = joined.toString('utf8');
  release([joined, ...pieces]);
  return text;
}
