/** Parses server-sent events with a size limit. https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { createByteBuffer } from './byte-buffer.ts';
import { MAX_MESSAGE_BYTES } from './framing.ts';

export interface SseEvent {
  /** The event type; `message` unless the stream sets another. */
  type: string;
  /** The data; undefined for an event over the limit, which was skipped. */
  data: string | undefined;
}

export interface SseDecoder {
  /** Returns the events completed by this chunk. An incomplete event at the end of the stream is dropped. */
  push(chunk: Buffer): SseEvent[];
  /** The last event id, for the `Last-Event-ID` header of a resumed stream. */
  readonly lastId: string | undefined;
  /** Milliseconds before a reconnect, as requested by the server. */
  readonly retry: number | undefined;
}

const CR = 13;
const LF = 10;

export function createSseDecoder({ maxBytes = MAX_MESSAGE_BYTES }: { maxBytes?: number } = {}): SseDecoder {
  return new LineDecoder(maxBytes);
}

/** Collects the fields of events. */
class EventFields {
  lastId: string | undefined;
  retry: number | undefined;
  /** Characters of the data so far. */
  size = 0;
  /** The events that are complete. */
  out: SseEvent[] = [];
  #lines: string[] = [];
  #type = '';

  add(line: string): void {
    const colon = line.indexOf(':');
    if (line === '') this.end();
    else if (colon < 0) this.#field(line, '');
    else if (colon > 0) this.#field(line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1));
  }

  /** Drops the data of an event that is too large. */
  clear(): void {
    this.#lines = [];
  }

  end(isOversized = false): void {
    const type = this.#type || 'message';
    if (isOversized) this.out.push({ type, data: undefined });
    else if (this.#lines.length > 0) this.out.push({ type, data: this.#lines.join('\n') });
    this.#lines = [];
    this.size = 0;
    this.#type = '';
  }

  #field(name: string, value: string): void {
    if (name === 'data') {
      this.#lines.push(value);
      this.size += value.length + 1;
    } else if (name === 'event') this.#type = value;
    else if (name === 'id' && !value.includes('\0')) this.lastId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retry = Number(value);
  }
}

/** Splits chunks into lines, which end with CR, LF or both, and skips events over the limit. */
class LineDecoder implements SseDecoder {
  readonly #maxBytes: number;
  readonly #held = createByteBuffer();
  readonly #fields = new EventFields();
  #isOversized = false;
  /** True if the current line has content that is skipped. */
  #hasContent = false;
  #afterCr = false;
  #atStart = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get lastId(): string | undefined {
    return this.#fields.lastId;
  }

  get retry(): number | undefined {
    return this.#fields.retry;
  }

  push(chunk: Buffer): SseEvent[] {
    let at = this.#afterCr && chunk[0] === LF ? 1 : 0;
    if (chunk.length > 0) this.#afterCr = false;
    let lf = chunk.indexOf(LF, at);
    let cr = chunk.indexOf(CR, at);
    while (lf >= 0 || cr >= 0) {
      const end = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf;
      this.#endLine(chunk, at, end);
      at = end + 1;
      if (end === cr && at === chunk.length) this.#afterCr = true;
      if (end === cr && chunk[at] === LF) at += 1;
      if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at);
      if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at);
    }
    if (at < chunk.length && this.#fits(chunk.length - at)) this.#held.append(chunk, at, chunk.length);
    const events = this.#fields.out;
    this.#fields.out = [];
    return events;
  }

  #endLine(chunk: Buffer, from: number, to: number): void {
    if (this.#fits(to - from)) {
      this.#takeLine(this.#text(chunk, from, to));
      return;
    }
    if (!this.#hasContent) {
      this.#fields.end(true);
      this.#isOversized = false;
    }
    this.#hasContent = false;
  }

  #text(chunk: Buffer, from: number, to: number): string {
    if (this.#held.length === 0) return chunk.toString('utf8', from, to);
    this.#held.append(chunk, from, to);
    return this.#held.take();
  }

  #takeLine(raw: string): void {
    this.#fields.add(this.#atStart && raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw);
    this.#atStart = false;
  }

  /** Returns false if these bytes of the current line are skipped because the event is too large. */
  #fits(bytes: number): boolean {
    if (!this.#isOversized && this.#fields.size + this.#held.length + bytes > this.#maxBytes) {
      this.#isOversized = true;
      this.#hasContent = this.#held.length > 0;
      this.#held.clear();
      this.#fields.clear();
    }
    if (this.#isOversized && bytes > 0) this.#hasContent = true;
    return !this.#isOversized;
  }
}
