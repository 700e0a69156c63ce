/** Skips a message over the size limit but keeps its first and last bytes, so that its id can be reported. */
import { parseLossless } from '../lossless-json.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import type { Decoded } from './framing.ts';
import { INVALID_REQUEST, isId, type Params } from './message.ts';

export interface Oversized {
  skip(chunk: Buffer, from: number, to: number): void;
  /** Returns the error when the message has ended. */
  finish(): Decoded;
}

/** Bytes kept at either end of the message. */
const EDGE = 512;
const TEXT = String.raw`"(?:[^"\\]|\\.){0,200}"`;
const MEMBER = String.raw`\s*${TEXT}\s*:\s*(?:${TEXT}|[\w.+-]{1,40})\s*`;
const MEMBERS = `${MEMBER}(?:,${MEMBER})*`;
/**
 * Match the small members before the first large one and after the last. A member in between could belong to a nested
 * object.
 */
const AT_HEAD = new RegExp(String.raw`^\s*\{(${MEMBERS}),`);
const AT_TAIL = new RegExp(String.raw`,(${MEMBERS})\}\s*$`);

/** Starts to skip a message; keeps the first and last bytes of its beginning, and clears it. */
export function createOversized(held: ByteBuffer, maxBytes: number): Oversized {
  let head = held.slice(0, EDGE);
  let tail = held.slice(held.length - EDGE, held.length);
  held.clear();

  const add = (piece: Buffer) => {
    if (head.length < EDGE) head = Buffer.concat([head, piece.subarray(0, EDGE - head.length)]);
    tail = piece.length >= EDGE ? Buffer.from(piece.subarray(-EDGE)) : Buffer.concat([tail, piece]).subarray(-EDGE);
  };
  return {
    skip: (chunk, from, to) => add(chunk.subarray(from, to)),
    finish() {
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

/** Returns the small members of a message, such as id and method, that precede or follow its large members. */
export function membersAtEdges(text: string): Params {
  return { ...membersAt(AT_TAIL, text.slice(-EDGE)), ...membersAt(AT_HEAD, text.slice(0, EDGE)) };
}

function membersAt(edge: RegExp, text: string): Params {
  try {
    return parseLossless(`{${edge.exec(text)?.[1] ?? ''}}`) as Params;
  } catch {
    // The text is not valid JSON.
    return {};
  }
}
