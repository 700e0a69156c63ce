/** Event streams that outlive their HTTP response: a bounded log of events, read by at most one response. */
import type { ServerResponse } from 'node:http';
import { LARGE, release } from '../../wire/raw-result.ts';
import { cutStalled, headersOf } from '../http/http-response.ts';

/**
 * Maximum characters of notifications that one stream stores; then the oldest are dropped. Responses and requests are
 * kept.
 */
const MAX_NOTIFICATIONS = 1024 * 1024;
/** Milliseconds between comments, so that no proxy closes the stream as idle. */
const KEEP_ALIVE = 15_000;
/** Number of keep-alive intervals without progress after which a response is closed. */
const MAX_STALLS = 4;
/** Milliseconds that a client should wait before it reconnects. */
const RETRY = 1000;
/** Bytes of memory of a stream and of each event in addition to the text (measured on Node 24). */
const STREAM_BYTES = 600;
const ENTRY_BYTES = 150;

interface Entry {
  seq: number;
  /** The event; large ones are bytes, which are shared with the socket instead of copied. */
  text: string | Buffer;
  /** True for a response or a request, which is never dropped. */
  kept: boolean;
}

export interface StreamOptions {
  /** Unique name within the session; if absent, events have no ids and are removed once written. */
  name?: string;
  /** True if the client accepts an event without data, from which it learns the stream's id at once (2025-11-25). */
  prime?: boolean;
}

export class EventStream {
  readonly name: string | undefined;
  readonly #prime: boolean;
  #entries: Entry[] = [];
  /** Index of the first entry that is not written to the response. */
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

  /** Bytes of memory of all stored events: one byte per character, and the objects. */
  get size(): number {
    return this.#notifications + this.#kept + STREAM_BYTES + this.#entries.length * ENTRY_BYTES;
  }

  /** Number of characters that are not written yet. */
  get waiting(): number {
    return this.#entries.slice(this.#next).reduce((sum, { text }) => sum + text.length, 0);
  }

  /**
   * Queues an event; one that is not `kept` may be dropped if the client does not read. Chunks of data are released.
   */
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

  /** Ends the stream; the response ends once everything is written. */
  end(): void {
    this.#ended = true;
    this.#pump();
  }

  /** Attaches a response, which reads the events after `after` on a resume; ends the one attached before. */
  attach(response: ServerResponse, { after = this.#seq, headers = {} }: AttachOptions = {}): void {
    this.release();
    // A destroyed response emits no `close` event any more.
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

  /**
   * Returns the first event, which tells the client its position; older clients fail on an event with an empty data
   * line.
   */
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

  /** Drops notifications down to three quarters of the limit, so that a flood needs a pass only once in many events. */
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

/** Finished streams that clients may still resume, within a time limit and one memory limit for all. */
export interface Parking {
  /** Stores a finished stream; calls `forget` when it expires. */
  park(stream: EventStream, forget: () => void): void;
  remove(stream: EventStream): void;
  /** Removes expired streams. */
  sweep(): void;
}

/** Milliseconds that a stream is stored, and the maximum bytes of memory of all of them. */
const PARKED_AGE = 5 * 60_000;
const PARKED_SIZE = 64 * 1024 * 1024;

export function createParking(): Parking {
  // The order of insertion is the order of age, the oldest first.
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
