/** A growing byte buffer: keeps large chunks by reference, copies small ones together, and joins all of them once. */
import { release } from './raw-result.ts';

export interface ByteBuffer {
  readonly length: number;
  append(chunk: Buffer, from: number, to: number): void;
  /** The bytes as UTF-8 text; the buffer is empty afterwards. */
  take(): string;
  /** Returns the chunks without joining them; the buffer keeps its content. */
  pieces(): Buffer[];
  /** Returns a copy of the bytes between two offsets. */
  slice(from: number, to: number): Buffer;
  clear(): void;
}

/** Chunks of at least this many bytes are kept by reference; the memory they are a view of is rarely much larger. */
const LARGE = 8 * 1024;
const SMALLEST = 4096;
/** Bytes of small chunks that are copied together before a new store is allocated. */
const GATHERED = 256 * 1024;

export function createByteBuffer(): ByteBuffer {
  let pieces: Buffer[] = [];
  let joined = 0;
  /** The memory that small chunks are copied into; it is reused for the next message. */
  let store: Buffer = Buffer.alloc(0);
  let filled = 0;

  const grow = (needed: number) => {
    const grown = Buffer.allocUnsafeSlow(Math.max(SMALLEST, store.length * 2, needed));
    store.copy(grown, 0, 0, filled);
    store = grown;
  };
  /** Turns the bytes in `store` into a piece of their own. */
  const seal = () => {
    if (filled === 0) return;
    pieces.push(store.subarray(0, filled));
    joined += filled;
    store = Buffer.alloc(0);
    filled = 0;
  };
  const clear = () => {
    pieces = [];
    joined = 0;
    filled = 0;
  };
  const gathered = () => store.subarray(0, filled);
  return {
    get length() {
      return joined + filled;
    },
    append(chunk, from, to) {
      const size = to - from;
      if (size >= LARGE) {
        seal();
        pieces.push(chunk.subarray(from, to));
        joined += size;
        return;
      }
      if (filled + size > store.length) {
        if (filled >= GATHERED) seal();
        grow(filled + size);
      }
      chunk.copy(store, filled, from, to);
      filled += size;
    },
    take() {
      const joined = pieces.length === 0 ? undefined : Buffer.concat([...pieces, gathered()]);
      const text = (joined ?? gathered()).toString('utf8');
      if (joined) release([joined]);
      clear();
      return text;
    },
    pieces() {
      seal();
      return [...pieces];
    },
    slice(from, to) {
      let at = 0;
      const found: Buffer[] = [];
      for (const piece of [...pieces, gathered()]) {
        found.push(piece.subarray(Math.max(0, from - at), Math.max(0, to - at)));
        at += piece.length;
      }
      return Buffer.concat(found);
    },
    clear,
  };
}
