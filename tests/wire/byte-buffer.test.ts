/** The buffer for what comes in pieces: whatever their sizes, the bytes come out as they went in. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createByteBuffer } from '../../src/wire/byte-buffer.ts';

/** Sizes on both sides of what is kept as it is, and enough to fill what is gathered. */
const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 8000, max: 70_000 })), {
  maxLength: 40,
});

function filled(lengths: number[]) {
  const buffer = createByteBuffer();
  const all = lengths.map((length, index) => Buffer.alloc(length, 97 + (index % 26)));
  for (const piece of all)
    buffer.append(Buffer.concat([Buffer.from('##'), piece, Buffer.from('#')]), 2, piece.length + 2);
  return { buffer, whole: Buffer.concat(all) };
}

test('gives back what it was given, and is empty afterwards', () => {
  fc.assert(
    fc.property(sizes, (lengths) => {
      const { buffer, whole } = filled(lengths);
      expect(buffer.length).toBe(whole.length);
      expect(buffer.take() === whole.toString()).toBe(true);
      expect(buffer.length).toBe(0);
      expect(buffer.take()).toBe('');
    }),
    { numRuns: 50 },
  );
});

test('copies any part of it', () => {
  fc.assert(
    fc.property(sizes, fc.nat(100_000), fc.nat(1000), (lengths, from, length) => {
      const { buffer, whole } = filled(lengths);
      expect(buffer.slice(from, from + length).equals(whole.subarray(from, from + length))).toBe(true);
      expect(buffer.slice(-5, length).equals(whole.subarray(0, length))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('gathers many small pieces beyond what it keeps for the next message', () => {
  const { buffer, whole } = filled(Array.from({ length: 300 }, () => 3000));
  expect(buffer.take() === whole.toString()).toBe(true);
  buffer.append(Buffer.from('next'), 0, 4);
  expect(buffer.take()).toBe('next');
});
