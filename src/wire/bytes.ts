/** A byte buffer that doubles as it grows: something that comes in many pieces is copied a bounded number of times. */

export interface ByteBuffer {
  readonly length: number;
  append(chunk: Buffer, from: number, to: number): void;
  /** The bytes as UTF-8 text; the buffer is empty afterwards. */
  take(): string;
  /** A copy of the bytes from one place to another. */
  slice(from: number, to: number): Buffer;
  clear(): void;
}

const SMALLEST = 4096;
/** A buffer that grew beyond this is given back after use, so that one large message does not cost memory for ever. */
const LARGEST_KEPT = 256 * 1024;

export function createByteBuffer(): ByteBuffer {
  let store: Buffer = Buffer.alloc(0);
  let length = 0;

  const grow = (needed: number) => {
    const grown = Buffer.allocUnsafeSlow(Math.max(SMALLEST, store.length * 2, needed));
    store.copy(grown, 0, 0, length);
    store = grown;
  };
  const clear = () => {
    length = 0;
    if (store.length > LARGEST_KEPT) store = Buffer.alloc(0);
  };
  return {
    get length() {
      return length;
    },
    append(chunk, from, to) {
      const needed = length + to - from;
      if (needed > store.length) grow(needed);
      chunk.copy(store, length, from, to);
      length = needed;
    },
    take() {
      const text = store.toString('utf8', 0, length);
      clear();
      return text;
    },
    slice: (from, to) => Buffer.from(store.subarray(Math.max(0, from), Math.min(to, length))),
    clear,
  };
}
