/** A large result as the bytes that the server sent, which are forwarded to the client without being parsed. */
import { parseLossless } from '../lossless-json.ts';
import { locateResult, type Range } from './json-scanner.ts';
import type { Id } from './message.ts';
import { parseProblem } from './parse-cost.ts';

/** Minimum bytes of a response that is handled without parsing. */
export const LARGE = 256 * 1024;

/**
 * Keys and content types that mcpx must process (errors, tasks, elicitation, resource links), so such results are
 * parsed.
 */
const TELLING: ReadonlySet<string> = new Set(['isError', 'resultType', 'task', '_meta', 'resource', 'resource_link']);

export function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

export class RawResult {
  readonly #pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
  }

  /** Returns a JSON-RPC response with this result, in chunks. */
  answer(id: Id | null): Buffer[] {
    return [Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`), ...this.#pieces, Buffer.from('}')];
  }

  /** Releases the memory at once; called when the result is not used. */
  discard(): void {
    release(this.#pieces);
  }

  /** Returns the JSON of the result. */
  text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  /** Returns the parsed result for JSON.stringify, or its text if it is too costly to parse. */
  toJSON(): unknown {
    const text = this.text();
    return parseProblem(text) === undefined ? parseLossless(text) : text;
  }
}

/**
 * Releases the memory of chunks that are written and used nowhere else. The garbage collector only considers its own
 * heap, so that five large results in a row would be held at once. A chunk that is a view of a larger buffer is left
 * alone.
 */
export function release(pieces: Iterable<string | Buffer>): void {
  for (const piece of pieces) {
    if (typeof piece === 'string' || piece.length !== piece.buffer.byteLength) continue;
    // `transfer` exists since Node 22.
    (piece.buffer as { transfer?: (length: number) => unknown }).transfer?.(0);
  }
}

/** Returns the id and the result of a large response; undefined if it must be parsed in full. */
export function readRawResult(pieces: readonly Buffer[]): { id: Id; result: RawResult } | undefined {
  const found = locateResult(pieces, TELLING);
  return found && { id: found.id, result: new RawResult(cut(pieces, found.result)) };
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the JSON of a result as bytes, without regard to its keys; undefined if it is not a valid JSON object. */
export function rawResultOf(json: string): RawResult | undefined {
  const bytes = Buffer.from(json);
  const [head, tail] = [Buffer.from('{"jsonrpc":"2.0","id":0,"result":'), Buffer.from('}')];
  const found = locateResult([head, bytes, tail], NONE)?.result;
  return found && found.to - found.from === bytes.length ? new RawResult([bytes]) : undefined;
}

function cut(pieces: readonly Buffer[], { from, to }: Range): Buffer[] {
  let at = 0;
  return pieces.flatMap((piece) => {
    const part = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    at += piece.length;
    return part.length === 0 ? [] : [part];
  });
}
