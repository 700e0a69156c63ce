/** Event streams that outlive their HTTP response: a bounded log of events, and at most one response that reads it. */
import type { ServerResponse } from 'node:http';
import { LARGE, release } from '../wire/verbatim.ts';
import { cutStalled, headersOf } from './reply.ts';

/** Characters of notifications that one stream keeps, written or not; then the oldest go. Answers and questions stay. */
const MAX_NOTIFICATIONS = 1024 * 1024;
/** ms between comments, so that nothing on the way takes the stream for dead. */
const KEEP_ALIVE = 15_000;
/** A response that took nothing for this many keep-alives is cut. */
const MAX_STALLS = 4;
/** ms that a client should wait before it comes back. */
const RETRY = 1000;
/** Bytes of memory that a stream and each of its events take beside their text (measured on Node 24). */
const STREAM_BYTES = 600;
const ENTRY_BYTES = 150;

interface Entry {
  seq: number;
  /** Bytes where it is large: those that the socket takes, and not a second copy. */
  text: string | Buffer;
  /** Never dropped: an answer or a question. */
  kept: boolean;
}

export interface StreamOptions {
  /** Unique within the session; absent: events have no ids, and are forgotten once written. */
  name?: string;
  /** Whether a client understands an event without data, by which it learns the stream's id at once (2025-11-25). */
  prime?: boolean;
}

export class EventStream {
  readonly name: string | undefined;
  readonly #prime: boolean;
  #entries: Entry[] = [];
  /** Index of the first entry that the response has not got. */
  #next = 0;
  #seq = 0;
  #notifications = 0;
  #kept = 0;
  #ended = false;
  #response: ServerResponse | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stalls = 0;

  constructor({ name, prime = false }: StreamOptions = {}) {
    this.name = name;
    this.#prime = prime;
  }

  get attached(): boolean {
    return this.#response !== undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Bytes of memory held for events, written or not: the text, a character as one byte, and the objects around it. */
  get size(): number {
    return this.#notifications + this.#kept + STREAM_BYTES + this.#entries.length * ENTRY_BYTES;
  }

  /** Characters that wait for a response to take them. */
  get waiting(): number {
    return this.#entries.slice(this.#next).reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Queues an event; what is not `kept` may be dropped when nobody reads. Data in pieces is of no use to anybody afterwards. */
  push(data: string | Buffer[], { kept, event }: { kept: boolean; event?: string }): void {
    if (this.#ended) return;
    const seq = ++this.#seq;
    const id = this.name === undefined ? '' : `id: ${this.name}-${seq}\n`;
    const text = written(`${event === undefined ? '' : `event: ${event}\n`}${id}data: `, data);
    this.#entries.push({ seq, text, kept });
    if (kept) this.#kept += text.length;
    else this.#notifications += text.length;
    if (this.#notifications > MAX_NOTIFICATIONS) this.#drop();
    this.#pump();
  }

  /** Nothing follows: the response ends when it has taken everything. */
  end(): void {
    this.#ended = true;
    this.#pump();
  }

  /** Lets a response read, after the event with this number where it is resumed; one that read before is ended. */
  attach(response: ServerResponse, { after = this.#seq, headers = {} }: AttachOptions = {}): void {
    this.release();
    // One that is gone already says so to nobody.
    if (response.destroyed) return;
    this.#response = response;
    this.#stalls = 0;
    this.#next = this.#entries.findIndex(({ seq }) => seq > after);
    if (this.#next < 0) this.#next = this.#entries.length;
    const own = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
      ...headers,
    };
    response.writeHead(200, headersOf(response, own));
    response.write(this.#opening(Math.min(after, this.#seq)));
    response.on('drain', () => this.#pump());
    response.once('close', () => this.#detach(response));
    this.#timer = setInterval(() => this.#keepAlive(), KEEP_ALIVE).unref();
    this.#pump();
  }

  /** Ends the response and keeps the log. */
  release(): void {
    const response = this.#response;
    if (response === undefined) return;
    this.#detach(response);
    response.end();
    cutStalled(response);
  }

  /** An event without data tells a client where it is; older clients choke on one with an empty data line. */
  #opening(seq: number): string {
    if (this.name === undefined) return ':\n\n';
    return `id: ${this.name}-${seq}\nretry: ${RETRY}\n${this.#prime ? 'data: \n' : ''}\n`;
  }

  #pump(): void {
    const response = this.#response;
    if (response === undefined) return;
    while (!response.writableNeedDrain) {
      const entry = this.#entries[this.#next];
      if (entry === undefined) break;
      this.#next += 1;
      this.#stalls = 0;
      response.write(entry.text);
    }
    if (this.name === undefined) this.#forget(this.#next);
    if (this.#ended && this.#next >= this.#entries.length) this.release();
  }

  #forget(count: number): void {
    for (const { text, kept } of this.#entries.splice(0, count)) {
      if (kept) this.#kept -= text.length;
      else this.#notifications -= text.length;
    }
    this.#next = 0;
  }

  /** Down to three quarters, so that a flood pays for one pass in many events. */
  #drop(): void {
    const next = this.#entries[this.#next]?.seq;
    this.#entries = this.#entries.filter(({ text, kept }) => {
      if (kept || this.#notifications <= MAX_NOTIFICATIONS * 0.75) return true;
      this.#notifications -= text.length;
      return false;
    });
    const index = next === undefined ? -1 : this.#entries.findIndex(({ seq }) => seq >= next);
    this.#next = index < 0 ? this.#entries.length : index;
  }

  #keepAlive(): void {
    const response = this.#response;
    if (response === undefined) return;
    if (!response.writableNeedDrain) response.write(':\n\n');
    else if (++this.#stalls >= MAX_STALLS) response.destroy();
  }

  #detach(response: ServerResponse): void {
    if (this.#response !== response) return;
    clearInterval(this.#timer);
    this.#response = undefined;
  }
}

function written(head: string, data: string | Buffer[]): string | Buffer {
  if (typeof data === 'string') {
    const text = `${head}${data}\n\n`;
    return data.length < LARGE ? text : Buffer.from(text);
  }
  const text = Buffer.concat([Buffer.from(head), ...data, Buffer.from('\n\n')]);
  release(data);
  return text;
}

export interface AttachOptions {
  after?: number;
  headers?: Record<string, string>;
}

/** Finished streams that clients may still resume: for a while, and within one budget for all of them together. */
export interface Parking {
  /** `forget` is called when its time is over. */
  park(stream: EventStream, forget: () => void): void;
  remove(stream: EventStream): void;
  /** Forgets what is too old. */
  sweep(): void;
}

/** ms that one stream is kept, and bytes of memory that all of them together may hold. */
const PARKED_AGE = 5 * 60_000;
const PARKED_SIZE = 64 * 1024 * 1024;

export function createParking(): Parking {
  // Oldest first, which is the order of insertion.
  const parked = new Map<EventStream, { size: number; until: number; forget: () => void }>();
  let total = 0;

  const remove = (stream: EventStream) => {
    total -= parked.get(stream)?.size ?? 0;
    parked.delete(stream);
  };
  const sweep = () => {
    const now = Date.now();
    for (const [stream, { until, forget }] of parked) {
      if (total <= PARKED_SIZE && until > now) return;
      remove(stream);
      forget();
    }
  };

  return {
    park(stream, forget) {
      parked.set(stream, { size: stream.size, until: Date.now() + PARKED_AGE, forget });
      total += stream.size;
      sweep();
    },
    remove,
    sweep,
  };
}
