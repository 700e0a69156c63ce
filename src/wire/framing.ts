/** Encodes and decodes messages as newline-delimited JSON or Content-Length frames, which the decoder detects. */
import { McpxError } from '../errors.ts';
import { createByteBuffer } from './byte-buffer.ts';
import {
  type Id,
  INVALID_REQUEST,
  invalidReason,
  isId,
  isRecord,
  type Message,
  PARSE_ERROR,
  parseMessages,
} from './message.ts';
import { createOversized, membersAtEdges, type Oversized } from './oversized.ts';
import type { Receiver } from './peer.ts';
import { LARGE } from './raw-result.ts';
import { readUnparsed } from './unparsed-result.ts';

export type Framing = 'newline' | 'content-length';

/** Input that is not a JSON-RPC message. */
export interface Invalid {
  /** -32700 (not JSON) or -32600 (JSON, but not a message). */
  code: number;
  reason: string;
  /** The id of the message; absent if it could not be read. */
  id?: Id;
  /** Set for an invalid response: it must not be answered. */
  answer?: true;
}

export type Decoded = { message: Message; invalid?: never } | { invalid: Invalid; message?: never };

export interface Decoder {
  push(chunk: Buffer): Decoded[];
  /** Returns the remaining messages at the end of the stream: a last line without its newline, or an error. */
  end(): Decoded[];
  /** The detected framing; undefined until the first message. */
  readonly framing: Framing | undefined;
}

export interface DecoderOptions {
  /** Maximum size of one message in bytes. */
  maxBytes?: number;
  /** Receives every large line as unparsed chunks; returns true if it handled the line. */
  large?: (pieces: Buffer[]) => boolean;
}

/** Default maximum size of one message in bytes. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const MAX_BATCH = 100;
const HEADER = /^content-(?:length|type)\s*:/i;

export function encode(message: Message, framing: Framing): string {
  const json = JSON.stringify(message);
  if (framing === 'newline') return `${json}\n`;
  return `Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

/** Decodes one message or each element of a batch. */
export function decode(text: string): Decoded[] {
  const out: Decoded[] = [];
  decodeInto(out, text);
  return out;
}

function decodeInto(out: Decoded[], text: string): void {
  let value: unknown;
  try {
    value = mayBeJson(text) ? parseMessages(text) : undefined;
  } catch (error) {
    if (error instanceof McpxError) {
      out.push(unparsed(text, error.message));
      return;
    }
    // A syntax error leaves `value` undefined, which no JSON text parses to.
  }
  if (value === undefined) {
    out.push({ invalid: { code: PARSE_ERROR, reason: `not JSON: ${excerpt(text)}` } });
    return;
  }
  if (!Array.isArray(value)) out.push(check(value));
  else if (value.length > 0 && value.length <= MAX_BATCH) for (const element of value) out.push(check(element));
  else out.push({ invalid: { code: INVALID_REQUEST, reason: `a batch holds 1 to ${MAX_BATCH} messages` } });
}

/**
 * Handles a message that is too costly to parse: the result of a response is kept as text, any other message is
 * invalid.
 */
function unparsed(text: string, reason: string): Decoded {
  const answer = readUnparsed(text);
  if (answer !== undefined) return { message: { jsonrpc: '2.0', ...answer } };
  const { id, method } = membersAtEdges(text);
  return {
    invalid: {
      code: INVALID_REQUEST,
      reason,
      ...(isId(id) ? { id } : {}),
      ...(method === undefined ? { answer: true } : {}),
    },
  };
}

/** Reports an invalid message, and fails our request if the message was meant as its response. */
export function reportInvalid(receiver: Receiver | undefined, { reason, id, answer }: Invalid, subject: string): void {
  receiver?.invalid(reason);
  if (id === undefined || answer === undefined) return;
  receiver?.failed?.(id, new McpxError('protocol', `${subject} sent an answer that cannot be used: ${reason}`));
}

/** Returns true if the first and last characters are braces, which holds for nearly every message. */
function isObjectLike(text: string): boolean {
  return text.charCodeAt(0) === OPEN && text.charCodeAt(text.length - 1) === CLOSE;
}

const OPEN = 123;
const CLOSE = 125;
const LONE_VALUE = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/**
 * Returns true if the first and last characters could be JSON. Servers may print thousands of log lines to stdout, and
 * an exception for each costs 20 times as much as this check.
 */
function mayBeJson(text: string): boolean {
  if (isObjectLike(text)) return true;
  const inner = text.trim();
  const last = inner.at(-1);
  if (inner.startsWith('{')) return last === '}';
  if (inner.startsWith('[')) return last === ']';
  return inner.startsWith('"') ? last === '"' : LONE_VALUE.test(inner);
}

function check(value: unknown): Decoded {
  const reason = invalidReason(value);
  if (reason === undefined) return { message: value as Message };
  if (!isRecord(value)) return { invalid: { code: INVALID_REQUEST, reason } };
  return {
    invalid: {
      code: INVALID_REQUEST,
      reason,
      ...(isId(value.id) ? { id: value.id } : {}),
      ...('method' in value ? {} : { answer: true }),
    },
  };
}

/** Returns a short excerpt without control characters, for error messages. */
function excerpt(text: string): string {
  const clean = text
    .slice(0, 200)
    .replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
    .trim();
  return JSON.stringify(clean.length > 80 ? `${clean.slice(0, 80)}…` : clean);
}

/**
 * Creates a decoder. It takes linear time and holds at most `maxBytes` of input (twice that while its buffer grows).
 */
export function createDecoder(options: DecoderOptions = {}): Decoder {
  return new StreamDecoder(options);
}

class StreamDecoder implements Decoder {
  readonly #maxBytes: number;
  readonly #large: NonNullable<DecoderOptions['large']>;
  readonly #held = createByteBuffer();
  /** The message over the limit that is being skipped. */
  #oversized: Oversized | undefined;
  #framing: Framing | undefined;
  #inHeaders = false;
  /** The length in the headers so far, and the bytes of the body that have not arrived. */
  #declared = 0;
  #bodyLeft = 0;
  #out: Decoded[] = [];

  constructor({ maxBytes = MAX_MESSAGE_BYTES, large = () => false }: DecoderOptions) {
    this.#maxBytes = maxBytes;
    this.#large = large;
  }

  get framing(): Framing | undefined {
    return this.#framing;
  }

  push(chunk: Buffer): Decoded[] {
    for (let at = 0; at < chunk.length; )
      at = this.#bodyLeft > 0 ? this.#readBody(chunk, at) : this.#readLine(chunk, at);
    return this.#drain();
  }

  end(): Decoded[] {
    if (this.#oversized) this.#finishOversized();
    else if (this.#bodyLeft > 0)
      this.#out.push({ invalid: { code: PARSE_ERROR, reason: 'the stream ended inside a message' } });
    else if (this.#held.length > 0) this.#takeLine(this.#held.take());
    this.#bodyLeft = 0;
    this.#held.clear();
    return this.#drain();
  }

  #drain(): Decoded[] {
    const decoded = this.#out;
    this.#out = [];
    return decoded;
  }

  #readLine(chunk: Buffer, from: number): number {
    const newline = chunk.indexOf(10, from);
    const to = newline < 0 ? chunk.length : newline;
    const held = this.#held;
    if (!this.#oversized && held.length + to - from > this.#maxBytes)
      this.#oversized = createOversized(held, this.#maxBytes);
    if (this.#oversized) {
      this.#oversized.skip(chunk, from, to);
      if (newline >= 0) this.#finishOversized();
    } else {
      if (newline < 0 || held.length > 0) held.append(chunk, from, to);
      if (newline >= 0) this.#endLine(chunk, from, to);
    }
    return to + 1;
  }

  #endLine(chunk: Buffer, from: number, to: number): void {
    const held = this.#held;
    if (held.length === 0) this.#takeLine(chunk.toString('utf8', from, to));
    else if (held.length >= LARGE && !this.#inHeaders && this.#large(held.pieces())) held.clear();
    else this.#takeLine(held.take());
  }

  #takeLine(raw: string): void {
    if (!this.#inHeaders && isObjectLike(raw)) {
      this.#takeMessage(raw);
      return;
    }
    // A BOM may occur at the start of the stream, or after output that a wrapper script printed.
    const line = raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw;
    const blank = line === '' || line === '\r' || line.trim() === '';
    if (this.#inHeaders) {
      if (blank) this.#endHeaders();
      else this.#header(line);
    } else if (this.#framing !== 'newline' && HEADER.test(line)) this.#header(line);
    else if (!blank) this.#takeMessage(line);
  }

  #header(line: string): void {
    this.#framing = 'content-length';
    this.#inHeaders = true;
    const length = /^content-length\s*:\s*(\d{1,15})\s*$/i.exec(line);
    if (length) this.#declared = Number(length[1]);
  }

  #endHeaders(): void {
    this.#inHeaders = false;
    this.#bodyLeft = this.#declared;
    if (this.#declared > this.#maxBytes) this.#oversized = createOversized(this.#held, this.#maxBytes);
    this.#declared = 0;
  }

  #readBody(chunk: Buffer, from: number): number {
    const to = Math.min(chunk.length, from + this.#bodyLeft);
    this.#bodyLeft -= to - from;
    if (this.#oversized) {
      this.#oversized.skip(chunk, from, to);
      if (this.#bodyLeft === 0) this.#finishOversized();
    } else if (this.#bodyLeft === 0) this.#takeMessage(this.#text(chunk, from, to));
    else this.#held.append(chunk, from, to);
    return to;
  }

  #text(chunk: Buffer, from: number, to: number): string {
    if (this.#held.length === 0) return chunk.toString('utf8', from, to);
    this.#held.append(chunk, from, to);
    return this.#held.take();
  }

  #takeMessage(json: string): void {
    const before = this.#out.length;
    decodeInto(this.#out, json);
    if (this.#framing === undefined && this.#out[before]?.message) this.#framing = 'newline';
  }

  #finishOversized(): void {
    if (this.#oversized) this.#out.push(this.#oversized.finish());
    this.#oversized = undefined;
  }
}
