/** A result as the bytes in which its server wrote it, for a client that gets it as it is: large ones are never made into anything else. */
import { parseExact } from '../exact.ts';
import { parseProblem } from './cost.ts';
import type { Id } from './message.ts';
import { type Range, scanAnswer } from './scan.ts';

/** Bytes from which on an answer is worth it. */
export const LARGE = 256 * 1024;

/** Keys and kinds of content that somebody on the way has to know of: failures, tasks, questions, and what points to resources. */
const TELLING: ReadonlySet<string> = new Set(['isError', 'resultType', 'task', '_meta', 'resource', 'resource_link']);

export function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

export class Verbatim {
  readonly #pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
  }

  /** A JSON-RPC answer with it as the result, in pieces. */
  answer(id: Id | null): Buffer[] {
    return [Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`), ...this.#pieces, Buffer.from('}')];
  }

  /** Nobody wants it: its memory is given back at once. */
  discard(): void {
    release(this.#pieces);
  }

  /** The JSON of the result. */
  text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  /** For whoever writes it as JSON after all; what must not be parsed is its text. */
  toJSON(): unknown {
    const text = this.text();
    return parseProblem(text) === undefined ? parseExact(text) : text;
  }
}

/**
 * Gives the memory of pieces back that are written, and of nobody else's use: left to the collector, which looks at its own heap, five large
 * results in a row would be held at once. A piece that is a part of something larger is left alone.
 */
export function release(pieces: Iterable<string | Buffer>): void {
  for (const piece of pieces) {
    if (typeof piece === 'string' || piece.length !== piece.buffer.byteLength) continue;
    // Since Node 22.
    (piece.buffer as { transfer?: (length: number) => unknown }).transfer?.(0);
  }
}

/** A large answer: its id and its result; undefined where it has to be read in full. */
export function readVerbatim(pieces: readonly Buffer[]): { id: Id; result: Verbatim } | undefined {
  const found = scanAnswer(pieces, TELLING);
  return found && { id: found.id, result: new Verbatim(cut(pieces, found.result)) };
}

const NONE: ReadonlySet<string> = new Set();

/** The JSON of a result as bytes, whatever it tells of; undefined where it is no valid JSON object. */
export function verbatimOf(json: string): Verbatim | undefined {
  const bytes = Buffer.from(json);
  const [head, tail] = [Buffer.from('{"jsonrpc":"2.0","id":0,"result":'), Buffer.from('}')];
  const found = scanAnswer([head, bytes, tail], NONE)?.result;
  return found && found.to - found.from === bytes.length ? new Verbatim([bytes]) : undefined;
}

function cut(pieces: readonly Buffer[], { from, to }: Range): Buffer[] {
  let at = 0;
  return pieces.flatMap((piece) => {
    const part = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    at += piece.length;
    return part.length === 0 ? [] : [part];
  });
}
