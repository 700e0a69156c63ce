/** Scans a large JSON-RPC response without building values: validates it and finds its id and its result. */
import { isAscii, isUtf8 } from 'node:buffer';
import type { Id } from './message.ts';

/** A range of byte offsets, counted over all chunks. */
export interface Range {
  from: number;
  to: number;
}

export interface ScannedAnswer {
  id: Id;
  result: Range;
}

/** The token that the scanner expects next. */
type Expect = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'next' | 'nothing';

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const OPEN_OBJECT = 123;
const OPEN_LIST = 91;
/** Maximum number of bytes that are kept of a string or a token. */
const SHORT = 64;
const MAX_DEPTH = 512;
const TOKEN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
/** 1 for every byte that ends a number or a literal. */
const ENDS = bytesThat(/[\s,:{}[\]"]/);
/** 1 for every byte that ends a run of plain characters in a string. JSON forbids control characters there. */
const STOPS = bytesThat(/[\x00-\x1f"\\]/);
/** 1 for every byte that follows the backslash of an escape of two characters; no such escape is a letter. */
const SIMPLE = bytesThat(/["\\/bfnrt]/);
const HEX = bytesThat(/[0-9a-fA-F]/);
const LETTER_U = 117;
const ZERO = 48;

/** Returns a table with 1 for every byte that matches. */
function bytesThat(match: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => Number(match.test(String.fromCharCode(code))));
}

/**
 * Returns the id and the result range of a response. Returns undefined if the message must be parsed in full: it is not
 * a valid response, its result is not an object, or one of the `telling` strings occurs in it as a key or as a value.
 */
export function locateResult(pieces: readonly Buffer[], telling: ReadonlySet<string>): ScannedAnswer | undefined {
  const scanner = new Scanner(telling);
  for (const piece of pieces) if (!scanner.take(piece)) return undefined;
  const found = scanner.end();
  // Invalid UTF-8 must be replaced on decoding, so such a message cannot be passed on as bytes.
  return found && (pieces.every(isAscii) || isUtf8(Buffer.concat(pieces))) ? found : undefined;
}

/** Returns the offset of the next quotation mark, control character, or escape that may be a letter. */
function endOfRun(piece: Buffer, from: number): number {
  for (let at = from; ; ) {
    while (at < piece.length && STOPS[piece[at] as number] === 0) at += 1;
    if (piece[at] !== BACKSLASH) return at;
    const next = afterEscape(piece, at);
    if (next === at) return at;
    at = next;
  }
}

/** Returns the offset after an escape; the same offset if it is not whole, not valid, or may be a letter. */
function afterEscape(piece: Buffer, at: number): number {
  const code = piece[at + 1];
  if (code === undefined) return at;
  if (SIMPLE[code] === 1) return at + 2;
  if (code !== LETTER_U || at + 6 > piece.length || (piece[at + 2] === ZERO && piece[at + 3] === ZERO)) return at;
  for (let digit = at + 2; digit < at + 6; digit++) if (HEX[piece[digit] as number] === 0) return at;
  return at + 6;
}

/** Returns true for digits with at most one decimal point, as nearly all numbers are, without creating a string. */
function isPlainNumber(piece: Buffer, from: number, to: number): boolean {
  let point = -1;
  for (let at = from; at < to; at++) {
    const code = piece[at] as number;
    if (code === 46 && point < 0) point = at;
    else if (code < 48 || code > 57) return false;
  }
  const whole = point < 0 ? to : point;
  return whole > from && point !== to - 1 && (piece[from] !== 48 || whole === from + 1);
}

class Scanner {
  readonly #telling: ReadonlySet<string>;
  /** 1 at the length and first byte of each `telling` string; other strings are skipped without a comparison. */
  readonly #suspects = new Uint8Array((SHORT + 1) * 256);
  #expect: Expect = 'value';
  /** The open containers: true for an object, false for an array. */
  readonly #open: boolean[] = [];
  /** True inside a string; false for numbers, literals and punctuation. */
  #inText = false;
  #escaped = false;
  /** The start of the current string or token, at most about `SHORT` characters. */
  #read = '';
  #isKey = false;
  #piece = 0;
  /** The current top-level key of the message, and the offset of its value. */
  #field = '';
  #begin = 0;
  #id: string | undefined;
  #version: string | undefined;
  #result: Range | undefined;
  #fields = 0;

  constructor(telling: ReadonlySet<string>) {
    this.#telling = telling;
    for (const text of telling) this.#suspects[text.length * 256 + text.charCodeAt(0)] = 1;
  }

  /** Scans one chunk; returns false once the message must be parsed in full. */
  take(piece: Buffer): boolean {
    for (let at = 0; at < piece.length; ) {
      const next = this.#inText ? this.#text(piece, at) : this.#structure(piece, at);
      if (next < 0) return false;
      at = next;
    }
    this.#piece += piece.length;
    return true;
  }

  end(): ScannedAnswer | undefined {
    if (this.#expect !== 'nothing' || this.#fields !== 3 || this.#version !== '2.0' || !this.#result) return undefined;
    return this.#id === undefined ? undefined : { id: JSON.parse(this.#id) as Id, result: this.#result };
  }

  #structure(piece: Buffer, at: number): number {
    const code = piece[at] as number;
    // Large messages are written without line breaks.
    if (code < 32) return -1;
    if (code === 32) return this.#space(at + 1);
    if (code === QUOTE) return this.#beginText(at);
    if (code === 44 || code === COLON || code === 125 || code === 93) return this.#punctuation(code, at);
    if (!this.#beginValue(at)) return -1;
    if (code === OPEN_OBJECT || code === OPEN_LIST) return this.#enter(code === OPEN_OBJECT, at + 1);
    return this.#token(piece, at);
  }

  /** Ends a number or a literal at a space. */
  #space(next: number): number {
    return this.#endToken() ? next : -1;
  }

  #beginText(at: number): number {
    if (this.#read !== '') return -1;
    this.#isKey = this.#expect === 'key' || this.#expect === 'first key';
    if (!this.#isKey && !this.#beginValue(at)) return -1;
    this.#inText = true;
    return at + 1;
  }

  /** Returns true if a value may begin here, and stores the offset of a top-level value. */
  #beginValue(at: number): boolean {
    if (this.#read !== '') return true;
    if (this.#expect !== 'value' && this.#expect !== 'first value') return false;
    if (this.#open.length === 1) this.#begin = this.#piece + at;
    return true;
  }

  #enter(isObject: boolean, next: number): number {
    if (this.#read !== '' || this.#open.length >= MAX_DEPTH) return -1;
    // The message and its result must be objects.
    if (this.#open.length === 0 && !isObject) return -1;
    if (this.#open.length === 1 && (this.#field !== 'result' || !isObject)) return -1;
    this.#open.push(isObject);
    this.#expect = isObject ? 'first key' : 'first value';
    return next;
  }

  /** Reads a number or a literal, which must be known in full. */
  #token(piece: Buffer, from: number): number {
    let at = from;
    while (at < piece.length && at - from <= SHORT && ENDS[piece[at] as number] === 0) at += 1;
    if (at < piece.length && this.#read === '' && this.#open.length > 1 && isPlainNumber(piece, from, at)) {
      this.#expect = 'next';
      return at;
    }
    this.#read += piece.toString('latin1', from, at);
    return this.#read.length > SHORT ? -1 : at;
  }

  #endToken(): boolean {
    if (this.#read === '') return true;
    const token = this.#read;
    this.#read = '';
    if (!TOKEN.test(token)) return false;
    if (this.#open.length === 1 && !this.#note(token)) return false;
    this.#expect = this.#open.length === 0 ? 'nothing' : 'next';
    return this.#open.length > 0;
  }

  /** Stores the id or the version of the message. */
  #note(json: string): boolean {
    if (this.#field === 'id') this.#id = json;
    else if (this.#field === 'jsonrpc') this.#version = JSON.parse(json);
    else return false;
    return true;
  }

  #punctuation(code: number, at: number): number {
    if (!this.#endToken()) return -1;
    const { length } = this.#open;
    const inObject = this.#open[length - 1];
    if (code === COLON) {
      if (this.#expect !== 'colon') return -1;
      this.#expect = 'value';
    } else if (code === 44) {
      if (this.#expect !== 'next') return -1;
      this.#expect = inObject ? 'key' : 'value';
    } else {
      const empty = this.#expect === (inObject ? 'first key' : 'first value');
      if (length === 0 || inObject !== (code === 125) || !(empty || this.#expect === 'next')) return -1;
      this.#open.pop();
      this.#expect = length === 1 ? 'nothing' : 'next';
      if (length === 2) this.#result = { from: this.#begin, to: this.#piece + at + 1 };
    }
    return at + 1;
  }

  /** Reads a string up to its end or the end of the chunk. */
  #text(piece: Buffer, from: number): number {
    if (this.#escaped) return this.#escape(piece, from);
    const to = endOfRun(piece, from);
    const stop = piece[to];
    const isSuspect = this.#suspects[(to - from) * 256 + (piece[from] as number)] === 1;
    if (stop === QUOTE && this.#read === '' && this.#open.length > 1 && !isSuspect) {
      this.#inText = false;
      if (this.#isKey && piece[to + 1] === COLON) {
        this.#expect = 'value';
        return to + 2;
      }
      this.#expect = this.#isKey ? 'colon' : 'next';
      return to + 1;
    }
    if (this.#read.length < SHORT) this.#read += piece.toString('latin1', from, Math.min(to, from + SHORT));
    if (stop === BACKSLASH) {
      this.#escaped = true;
      if (this.#read.length < SHORT) this.#read += '\\';
      return to + 1;
    }
    if (stop === undefined) return to;
    return stop === QUOTE && this.#endText() ? to + 1 : -1;
  }

  /** Checks the character after a backslash, and for `\u` the four digits. */
  #escape(piece: Buffer, at: number): number {
    const code = String.fromCharCode(piece[at] as number);
    this.#escaped = false;
    if (code === 'u') {
      // An escape that is split over two chunks is rare, so it ends the scan, as does an escaped letter: it may be part
      // of a `telling` string.
      const digits = piece.toString('latin1', at + 1, at + 5);
      const plain = /^[0-9a-fA-F]{4}$/.test(digits) && !/\w/.test(String.fromCharCode(Number.parseInt(digits, 16)));
      return plain ? at + 5 : -1;
    }
    return '"\\/bfnrt'.includes(code) ? at + 1 : -1;
  }

  #endText(): boolean {
    const text = this.#read;
    this.#read = '';
    this.#inText = false;
    if (this.#telling.has(text)) return false;
    if (this.#isKey) {
      this.#expect = 'colon';
      if (this.#open.length !== 1) return true;
      this.#field = text;
      this.#fields += 1;
      return true;
    }
    if (this.#open.length === 0) return false;
    this.#expect = 'next';
    // A message whose id is a string is parsed in full.
    return this.#open.length !== 1 || (this.#field === 'jsonrpc' && this.#note(JSON.stringify(text)));
  }
}
