/** The icon and the file properties of the Windows executable. */
import { describe, expect, it } from 'vitest';
import { drawIcon } from '../../../scripts/release/icon.mjs';

/** Blue, green, red and alpha of a pixel of a bitmap whose rows go from bottom to top. */
function pixel(bitmap: Buffer, size: number, x: number, y: number): number[] {
  const at = 40 + ((size - 1 - y) * size + x) * 4;
  return [...bitmap.subarray(at, at + 4)];
}

describe('the icon', () => {
  it.each([16, 32, 48, 256])('of %d pixels is a bitmap of 32 bits with a mask', (size) => {
    const bitmap = drawIcon(size);
    expect(bitmap.readInt32LE(4)).toBe(size);
    expect(bitmap.readInt32LE(8)).toBe(2 * size);
    expect(bitmap.readUInt16LE(14)).toBe(32);
    expect(bitmap).toHaveLength(40 + size * size * 4 + size * Math.ceil(size / 32) * 4);
  });

  it('has transparent corners and an opaque centre', () => {
    const bitmap = drawIcon(48);
    expect(pixel(bitmap, 48, 0, 0)[3]).toBe(0);
    expect(pixel(bitmap, 48, 24, 24)[3]).toBe(255);
  });

  it('shows three white servers that lead to one green gateway', () => {
    const bitmap = drawIcon(256);
    for (const y of [61, 128, 194]) expect(pixel(bitmap, 256, 66, y)).toEqual([255, 255, 255, 255]);
    expect(pixel(bitmap, 256, 179, 128)).toEqual([170, 220, 80, 255]);
  });
});
