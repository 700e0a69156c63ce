/** Skips a message that is over the limit, keeping only its edges, so that whoever waits for it can be told by its id. */
import { parseExact } from '../exact.ts';
import type { ByteBuffer } from './bytes.ts';
import type { Decoded } from './framing.ts';
import { type Id, INVALID_REQUEST } from './message.ts';

export interface Oversized {
  readonly active: boolean;
  /** Starts skipping; what is held already is looked at and given up. */
  begin(held: ByteBuffer): void;
  skip(chunk: Buffer, from: number, to: number): void;
  /** Ends skipping and reports. */
  finish(): Decoded;
}

/** Bytes kept of either end. */
const EDGE = 512;
const ID = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,40}(?![\d.eE]))`;
/** At the head the id may follow "jsonrpc" only; at the tail it must be followed by the last brace. Elsewhere it could be somebody else's. */
const AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID}`);
const AT_TAIL = new RegExp(String.raw`${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);
const REQUEST = /^\s*\{[^{]*"method"\s*:/;

export function createOversized(maxBytes: number): Oversized {
  let active = false;
  let head: Buffer = Buffer.alloc(0);
  let tail: Buffer = Buffer.alloc(0);

  const add = (piece: Buffer) => {
    if (head.length < EDGE) head = Buffer.concat([head, piece.subarray(0, EDGE - head.length)]);
    tail = piece.length >= EDGE ? Buffer.from(piece.subarray(-EDGE)) : Buffer.concat([tail, piece]).subarray(-EDGE);
  };
  return {
    get active() {
      return active;
    },
    begin(held) {
      active = true;
      head = held.slice(0, EDGE);
      tail = held.slice(held.length - EDGE, held.length);
      held.clear();
    },
    skip: (chunk, from, to) => add(chunk.subarray(from, to)),
    finish() {
      active = false;
      const start = head.toString('utf8');
      const id = idIn(AT_HEAD, start) ?? idIn(AT_TAIL, tail.toString('utf8'));
      return {
        invalid: {
          code: INVALID_REQUEST,
          reason: `a message is over the limit of ${maxBytes} bytes`,
          ...(id === undefined ? {} : { id }),
          ...(REQUEST.test(start) ? {} : { answer: true }),
        },
      };
    },
  };
}

function idIn(pattern: RegExp, text: string): Id | undefined {
  const found = pattern.exec(text)?.[1];
  try {
    return found === undefined ? undefined : (parseExact(found) as Id);
  } catch {
    // Such as 007: what only looks like an id is none.
    return undefined;
  }
}
