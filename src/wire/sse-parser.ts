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

export function createSseDecoder(options: { maxBytes?: number } = {}): SseDecoder {
  const maxBytes = options.maxBytes ?? MAX_MESSAGE_BYTES;
  const held = createByteBuffer();
  let lines: string[] = [];
  let size = 0;
  let type = '';
  let oversized = false;
  /** True if the current line has content that is skipped. */
  let content = false;
  let afterCr = false;
  let atStart = true;
  let lastId: string | undefined;
  let retry: number | undefined;
  let out: SseEvent[] = [];

  const dispatch = () => {
    if (oversized) out.push({ type: type || 'message', data: undefined });
    else if (lines.length > 0) out.push({ type: type || 'message', data: lines.join('\n') });
    lines = [];
    size = 0;
    type = '';
    oversized = false;
  };

  const field = (name: string, value: string) => {
    if (name === 'data') {
      lines.push(value);
      size += value.length + 1;
    } else if (name === 'event') type = value;
    else if (name === 'id' && !value.includes('\0')) lastId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retry = Number(value);
  };

  const takeLine = (raw: string) => {
    const line = atStart && raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw;
    atStart = false;
    const colon = line.indexOf(':');
    if (line === '') dispatch();
    else if (colon < 0) field(line, '');
    else if (colon > 0) field(line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1));
  };

  /** Returns false if these bytes of the current line are skipped because the event is too large. */
  const fits = (bytes: number) => {
    if (!oversized && size + held.length + bytes > maxBytes) {
      oversized = true;
      content = held.length > 0;
      held.clear();
      lines = [];
    }
    if (oversized && bytes > 0) content = true;
    return !oversized;
  };

  const endLine = (chunk: Buffer, from: number, to: number) => {
    if (fits(to - from)) {
      if (held.length === 0) return takeLine(chunk.toString('utf8', from, to));
      held.append(chunk, from, to);
      return takeLine(held.take());
    }
    if (!content) dispatch();
    content = false;
  };

  return {
    get lastId() {
      return lastId;
    },
    get retry() {
      return retry;
    },
    push(chunk) {
      let at = afterCr && chunk[0] === LF ? 1 : 0;
      if (chunk.length > 0) afterCr = false;
      let lf = chunk.indexOf(LF, at);
      let cr = chunk.indexOf(CR, at);
      while (lf >= 0 || cr >= 0) {
        const end = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf;
        endLine(chunk, at, end);
        at = end + 1;
        if (end === cr && at === chunk.length) afterCr = true;
        if (end === cr && chunk[at] === LF) at += 1;
        if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at);
        if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at);
      }
      if (at < chunk.length && fits(chunk.length - at)) held.append(chunk, at, chunk.length);
      const events = out;
      out = [];
      return events;
    },
  };
}
