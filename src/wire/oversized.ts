/** Skips a message that is over the limit, keeping only its edges, so that whoever waits for it can be told by its id. */
import { parseExact } from '../exact.ts';
import type { ByteBuffer } from './bytes.ts';
import type { Decoded } from './framing.ts';
import { INVALID_REQUEST, isId, type Params } from './message.ts';

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
const TEXT = String.raw`"(?:[^"\\]|\\.){0,200}"`;
const MEMBER = String.raw`\s*${TEXT}\s*:\s*(?:${TEXT}|[\w.+-]{1,40})\s*`;
const MEMBERS = `${MEMBER}(?:,${MEMBER})*`;
/** Small members before the first large one, and after the last. Anything in between could be inside another. */
const AT_HEAD = new RegExp(String.raw`^\s*\{(${MEMBERS}),`);
const AT_TAIL = new RegExp(String.raw`,(${MEMBERS})\}\s*$`);

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
      const { id, method } = {
        ...membersAt(AT_TAIL, tail.toString('utf8')),
        ...membersAt(AT_HEAD, head.toString('utf8')),
      };
      return {
        invalid: {
          code: INVALID_REQUEST,
          reason: `a message is over the limit of ${maxBytes} bytes`,
          ...(isId(id) ? { id } : {}),
          ...(method === undefined ? { answer: true } : {}),
        },
      };
    },
  };
}

/** Small members of a message, such as its id and method, as far as they stand before or after everything large in it. */
export function membersAtEdges(text: string): Params {
  return { ...membersAt(AT_TAIL, text.slice(-EDGE)), ...membersAt(AT_HEAD, text.slice(0, EDGE)) };
}

function membersAt(edge: RegExp, text: string): Params {
  try {
    return parseExact(`{${edge.exec(text)?.[1] ?? ''}}`) as Params;
  } catch {
    // It was no JSON in the first place.
    return {};
  }
}
