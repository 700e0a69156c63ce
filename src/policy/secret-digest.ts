/** Compares secrets by their digests, in a time that does not reveal which one matched. */
import { createHash, timingSafeEqual } from 'node:crypto';

export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Returns the entry with the digest of this secret. Every entry is compared, also after a match. */
export function findBySecret<T extends { digest: Buffer }>(entries: readonly T[], secret: string): T | undefined {
  const given = digestOf(secret);
  return entries.filter(({ digest }) => timingSafeEqual(digest, given))[0];
}
