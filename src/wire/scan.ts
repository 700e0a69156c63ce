/** Reads a large answer without making anything of it: whether it is valid JSON, whose answer it is, and where its result stands. */
import { isAscii, isUtf8 } from 'node:buffer';
import type { Id } from './message.ts';

/** Bytes from one place to another, counted over all pieces. */
export interface Range {
  from: number;
  to: number;
}

export interface ScannedAnswer {
  id: Id;
  result: Range;
}

/** Expectations, by what may come next. */
type Expect = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'next' | 'nothing';

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
const OPEN_LIST = 91;
/** Bytes of text of which nothing has to be known but that it is text. */
const SHORT = 64;
const MAX_DEPTH = 512;
const TOKEN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
/** 1 for every byte that ends a number or a word. */
const ENDS = Uint8Array.from({ length: 256 }, (_, code) => Number(/[\s,:{}[\]"]/.test(String.fromCharCode(code))));

/**
 * The answer in some bytes, if it is one with a result that is an object and none of the `telling` words stands in it as a key or a
 * value of its own; undefined where it has to be read in full.
 */
export function scanAnswer(pieces: readonly Buffer[], telling: ReadonlySet<string>): ScannedAnswer | undefined {
  const scanner = new Scanner(telling);
  for (const piece of pieces) if (hasControl(piece) || !scanner.take(piece)) return undefined;
  const found = scanner.end();
  // What is no UTF-8 would have to be mended.
  return found && (pieces.every(isAscii) || isUtf8(Buffer.concat(pieces))) ? found : undefined;
}

/** Nobody writes large messages with tabs in them, and inside of a text there must be none. Counted by hand, as a text of every piece would be garbage. */
function hasControl(piece: Buffer): boolean {
  for (let at = 0; at < piece.length; at++) if ((piece[at] as number) < 32) return true;
  return false;
}

/** Digits, with a point among them at most: as nearly all numbers are, and told without making a text of them. */
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
  /** Those of the telling words: no other text need be looked at. */
  readonly #lengths: ReadonlySet<number>;
  #expect: Expect = 'value';
  /** True for each object that is open, false for each list. */
  readonly #open: boolean[] = [];
  /** What is being read: text, a number or a word. */
  #inText = false;
  #escaped = false;
  /** Where the next backslash of this piece is. */
  #slash = -1;
  /** The beginning of it, as far as it is short. */
  #read = '';
  #isKey = false;
  #piece = 0;
  /** The key of the message that is being read, and where its value begins. */
  #field = '';
  #begin = 0;
  #id: string | undefined;
  #version: string | undefined;
  #result: Range | undefined;
  #fields = 0;

  constructor(telling: ReadonlySet<string>) {
    this.#telling = telling;
    this.#lengths = new Set([...telling].map(({ length }) => length));
  }

  /** False once it is known to be something else. */
  take(piece: Buffer): boolean {
    this.#slash = -1;
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
    if (code === 32) return this.#space(at + 1);
    if (code === QUOTE) return this.#beginText(at);
    if (code === 44 || code === 58 || code === 125 || code === 93) return this.#punctuation(code, at);
    if (!this.#beginValue(at)) return -1;
    if (code === OPEN_OBJECT || code === OPEN_LIST) return this.#enter(code === OPEN_OBJECT, at + 1);
    return this.#token(piece, at);
  }

  /** Space ends a number or a word. */
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

  /** A value may begin here; one that is directly in the message is remembered by its place. */
  #beginValue(at: number): boolean {
    if (this.#read !== '') return true;
    if (this.#expect !== 'value' && this.#expect !== 'first value') return false;
    if (this.#open.length === 1) this.#begin = this.#piece + at;
    return true;
  }

  #enter(isObject: boolean, next: number): number {
    if (this.#read !== '' || this.#open.length >= MAX_DEPTH) return -1;
    // A message is an object, and so is the result in it.
    if (this.#open.length === 0 && !isObject) return -1;
    if (this.#open.length === 1 && (this.#field !== 'result' || !isObject)) return -1;
    this.#open.push(isObject);
    this.#expect = isObject ? 'first key' : 'first value';
    return next;
  }

  /** Numbers and words, which have to be seen whole. */
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

  /** A short value of the message itself: its id, or its version. */
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
    if (code === 58) {
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

  /** Reads on in a text, to its end or that of the piece. */
  #text(piece: Buffer, from: number): number {
    if (this.#escaped) return this.#escape(piece, from);
    const quote = piece.indexOf(QUOTE, from);
    const end = quote < 0 ? piece.length : quote;
    if (this.#slash < from) {
      const next = piece.indexOf(BACKSLASH, from);
      this.#slash = next < 0 ? piece.length : next;
    }
    const escaped = this.#slash < end;
    const to = escaped ? this.#slash : end;
    if (!escaped && quote >= 0 && this.#read === '' && this.#open.length > 1 && !this.#lengths.has(to - from)) {
      this.#inText = false;
      this.#expect = this.#isKey ? 'colon' : 'next';
      return quote + 1;
    }
    if (this.#read.length < SHORT) this.#read += piece.toString('latin1', from, Math.min(to, from + SHORT));
    if (escaped) {
      this.#escaped = true;
      if (this.#read.length < SHORT) this.#read += '\\';
      return to + 1;
    }
    if (quote < 0) return end;
    return this.#endText() ? quote + 1 : -1;
  }

  /** What follows a backslash; of `\u` the digits are looked at here too, as far as they are in this piece. */
  #escape(piece: Buffer, at: number): number {
    const code = String.fromCharCode(piece[at] as number);
    this.#escaped = false;
    if (code === 'u') {
      // Split over two pieces is too rare to be worth more; a letter that is written so may be part of a telling word.
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
    // An id that is text is read in full.
    return this.#open.length !== 1 || (this.#field === 'jsonrpc' && this.#note(JSON.stringify(text)));
  }
}
