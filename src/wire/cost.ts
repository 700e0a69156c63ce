/** Estimates what `JSON.parse` would make of a text, without parsing it: how much memory, and how deep. */

/** Bytes of memory that one parsed text may take: with the text itself, its copies and the answer, a message stays below 200 MB. */
export const MAX_PARSED = 80 * 1024 * 1024;
/** Levels of lists and objects: `JSON.stringify` and everything else that walks a value recurses. */
export const MAX_NESTING = 512;

/** Bytes, as V8 was measured to take at the peak of a parse. An empty list or object is larger than one of which the parser knows the size. */
const LIST = 64;
const OBJECT = 60;
const EMPTY = 112;
const ELEMENT = 14;
const STRING = 40;
/** Characters up to which many strings share a few places in memory, quotes included. */
const SHORT = 3;
const KEY = 8;
/** A key that makes a combination of keys which no object before had: V8 keeps a description of each. */
const NEW_KEY = 170;

/** The hash of a combination of keys has so many bits at most; two with the same one count once. */
const MAX_HASH = 21;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const OPEN_OBJECT = 123;
const BACKSLASH = 92;

export interface ParseCost {
  /** Bytes; counting stops a little above `maxBytes`. */
  bytes: number;
  /** Whether it is nested deeper than `MAX_NESTING`. */
  isDeep: boolean;
}

/** Linear in the length of the text, which need not be valid JSON. */
export function estimateParse(text: string, maxBytes = MAX_PARSED): ParseCost {
  /** One bit for each hash that was seen; a short text has few keys. */
  const hashBits = Math.min(MAX_HASH, 32 - Math.clz32(text.length | 1024));
  const seen = new Uint8Array(1 << (hashBits - 3));
  /** The hash of the keys so far of each object that is open. */
  const keys = new Uint32Array(MAX_NESTING + 1);
  const { length } = text;
  let bytes = 0;
  let depth = 0;
  /** The hash of the last string, which is a key where a colon follows, and what it was counted with. */
  let last = 0;
  let cost = 0;
  for (let at = 0; at < length && bytes <= maxBytes; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      last = 0;
      const from = at;
      for (at++; at < length; at++) {
        const inner = text.charCodeAt(at);
        if (inner === QUOTE) break;
        last = (Math.imul(last, 31) + inner) | 0;
        if (inner === BACKSLASH) at++;
      }
      cost = at - from > SHORT ? STRING : 0;
      bytes += cost;
    } else if (code === COMMA) bytes += ELEMENT;
    else if (code === COLON) {
      const hash = Math.imul((keys[depth] as number) ^ last, 0x9e3779b1);
      keys[depth] = hash ^ (hash >>> 15);
      const bit = hash >>> (32 - hashBits);
      const byte = seen[bit >>> 3] as number;
      // The key was counted as a string.
      bytes += (byte & (1 << (bit & 7))) === 0 ? NEW_KEY - cost : KEY - cost;
      seen[bit >>> 3] = byte | (1 << (bit & 7));
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      // The code of what closes is that of what opens and two more.
      if (text.charCodeAt(at + 1) === code + 2) bytes += EMPTY;
      else bytes += code === OPEN_OBJECT ? OBJECT : LIST;
      if (++depth > MAX_NESTING) return { bytes, isDeep: true };
      keys[depth] = 0;
    } else if ((code === OPEN_OBJECT + 2 || code === OPEN_LIST + 2) && depth > 0) depth -= 1;
  }
  return { bytes, isDeep: false };
}

/** Why a text is not parsed, as the end of a sentence about it; undefined where it can be. */
export function parseProblem(text: string, maxBytes = MAX_PARSED): string | undefined {
  const { bytes, isDeep } = estimateParse(text, maxBytes);
  if (isDeep) return `is nested deeper than ${MAX_NESTING} levels`;
  return bytes > maxBytes ? 'holds too many values to be read at once' : undefined;
}
