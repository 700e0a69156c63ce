/** Estimates the memory and the nesting depth of `JSON.parse` for a text, without parsing it. */

/**
 * Maximum bytes of memory for one parsed text; with the text, its copies and the response, a message stays below 200
 * MB.
 */
export const MAX_PARSED = 80 * 1024 * 1024;
/** Maximum levels of arrays and objects; `JSON.stringify` and other functions that walk a value are recursive. */
export const MAX_NESTING = 512;

/**
 * Bytes of memory measured in V8 at the peak of a parse. An empty container takes more than one whose size the parser
 * knows.
 */
const LIST = 64;
const OBJECT = 60;
const EMPTY = 112;
const ELEMENT = 18;
const STRING = 40;
/** Strings up to this many characters, quotes included, are shared in memory. */
const SHORT = 3;
const KEY = 8;
/** Bytes for a key that forms a new combination of keys: V8 keeps a description of each combination. */
const NEW_KEY = 170;

/** Maximum number of hash bits for a combination of keys; combinations with equal hashes count once. */
const MAX_HASH = 21;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const OPEN_OBJECT = 123;
const BACKSLASH = 92;

export interface ParseCost {
  /** Estimated bytes; counting stops a little above `maxBytes`. */
  bytes: number;
  /** True if the text is nested deeper than `MAX_NESTING`. */
  isDeep: boolean;
}

/** Estimates the cost in linear time. The text need not be valid JSON. */
export function estimateParse(text: string, maxBytes = MAX_PARSED): ParseCost {
  /** One bit for each hash; a short text has few keys and needs few bits. */
  const hashBits = Math.min(MAX_HASH, 32 - Math.clz32(text.length | 1024));
  const seen = new Uint8Array(1 << (hashBits - 3));
  /** The hash of the keys so far, for each open object. */
  const keys = new Uint32Array(MAX_NESTING + 1);
  const { length } = text;
  let bytes = 0;
  let depth = 0;
  /** The hash and the cost of the last string, which is a key if a colon follows. */
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
      // The key has already been counted as a string.
      bytes += (byte & (1 << (bit & 7))) === 0 ? NEW_KEY - cost : KEY - cost;
      seen[bit >>> 3] = byte | (1 << (bit & 7));
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      // The code of a closing bracket is the code of the opening one plus two.
      if (text.charCodeAt(at + 1) === code + 2) bytes += EMPTY;
      else bytes += code === OPEN_OBJECT ? OBJECT : LIST;
      if (++depth > MAX_NESTING) return { bytes, isDeep: true };
      keys[depth] = 0;
    } else if ((code === OPEN_OBJECT + 2 || code === OPEN_LIST + 2) && depth > 0) depth -= 1;
  }
  return { bytes, isDeep: false };
}

/** Returns the reason why a text is not parsed, without a subject; undefined if it can be parsed. */
export function parseProblem(text: string, maxBytes = MAX_PARSED): string | undefined {
  const { bytes, isDeep } = estimateParse(text, maxBytes);
  if (isDeep) return `is nested deeper than ${MAX_NESTING} levels`;
  return bytes > maxBytes ? 'holds too many values to be read at once' : undefined;
}
