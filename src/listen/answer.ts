/** The answer to one POST: plain JSON where nothing comes before it, an event stream otherwise. */
import type { ServerResponse } from 'node:http';
import { RPC_CODES } from '../errors.ts';
import type { RpcResponse } from '../wire/message.ts';
import { release, Verbatim } from '../wire/verbatim.ts';
import { EventStream } from './events.ts';
import { sendEmpty, sendPieces, sendText } from './reply.ts';
import { requestIdOf, traceOf } from './trace.ts';

/** What a client takes. */
export interface Accepts {
  json: boolean;
  events: boolean;
}

export interface AnswerOptions {
  response: ServerResponse;
  accepts: Accepts;
  /** Requests that wait for their answer here. */
  owed: number;
  /** Whether several answers, or one, are an array. */
  batch: boolean;
  headers?: Record<string, string>;
  /** Where its stream comes from when one is needed (default: one that nobody can resume). */
  streams?: Streams;
}

export interface Streams {
  open(): EventStream;
  /** Everything that was owed on it is written or never comes; says how many answers there were. */
  finished(stream: EventStream, answers: number): void;
}

const UNNAMED: Streams = { open: () => new EventStream(), finished: () => undefined };

/** Characters of all answers to a batch together. */
const MAX_BATCH = 64 * 1024 * 1024;

export class Answer {
  readonly #options: AnswerOptions;
  readonly #texts: string[] = [];
  /** The one answer that is owed, where it is large and still in bytes. */
  #bytes: Buffer[] | undefined;
  #owed: number;
  #given = 0;
  #size = 0;
  #status = 200;
  #stream: EventStream | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#owed = options.owed;
    if (!options.accepts.json) this.#open();
    else if (options.accepts.events) traceOf(options.response)?.whenSlow(this);
  }

  /** The id of the HTTP request that it answers. */
  get requestId(): string | undefined {
    return requestIdOf(this.#options.response);
  }

  /** Whether everything that was owed came. */
  get over(): boolean {
    return this.#owed === 0;
  }

  /** A client that takes an event stream gets one: it can then tell a slow answer from a dead connection, and resume. */
  slow(): void {
    if (!this.over && this.#stream === undefined) this.#open();
  }

  /** Sends something that precedes the answer; false where this client has no stream for it. */
  push(text: string, options: { kept: boolean }): boolean {
    if (this.over) return false;
    if (this.#stream === undefined && this.#options.accepts.events) this.#open();
    this.#stream?.push(text, options);
    return this.#stream !== undefined;
  }

  /** One of the answers that are owed; the status is of use where it is the only one and JSON. Throws, and owes it still, where it cannot be written as JSON. */
  give(answer: RpcResponse, status = 200): void {
    const { result, id } = answer;
    const alone = this.#stream === undefined && !this.#options.batch;
    if (alone && result instanceof Verbatim) this.#bytes = result.answer(id);
    else if (!this.#options.batch && result instanceof Verbatim) this.#stream?.push(result.answer(id), { kept: true });
    else this.#write(this.#fitting(textOf(answer), id));
    this.#given += 1;
    this.#status = status;
    this.skip();
  }

  #write(text: string): void {
    if (this.#stream !== undefined) this.#stream.push(text, { kept: true });
    else this.#texts.push(text);
  }

  /** An answer to a batch that would make all of them too large is an error in its place: a hundred large ones are more than one client may cost. */
  #fitting(text: string, id: RpcResponse['id']): string {
    if (!this.#options.batch) return text;
    this.#size += text.length;
    if (this.#size <= MAX_BATCH) return text;
    this.#size -= text.length;
    const message = 'the answers to this batch are too large together: send this request alone';
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code: RPC_CODES.overloaded, message } });
  }

  /** A request that was cancelled gets no answer. */
  skip(): void {
    this.#owed -= 1;
    if (this.#owed > 0) return;
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

  /** A client that left before it knew of a stream cannot come back for it. */
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
  if (!(result instanceof Verbatim)) return JSON.stringify(answer);
  const pieces = result.answer(id);
  const joined = Buffer.concat(pieces);
  const text = joined.toString('utf8');
  release([joined, ...pieces]);
  return text;
}
