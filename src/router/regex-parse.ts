/** Parses a regular expression of a JSON schema or of a search, and builds a text that matches it. */

/** Inclusive ranges of code points. */
type Chars = readonly (readonly [number, number])[];

export type Node =
  | { kind: 'chars'; chars: Chars }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; part: Node; least: number; most: number; lazy?: true }
  | { kind: 'group'; part: Node }
  | { kind: 'assert'; at: 'start' | 'end' | 'word' | 'no word' };

export interface Pattern {
  node: Node;
  /** True if every alternative begins with `^`, so that the engine tries a single start position. */
  anchored: boolean;
}

const LAST = 0x10ffff;
const MAX_LENGTH = 1000;
const MAX_NESTING = 20;

const DIGITS: Chars = [[48, 57]];
const WORD: Chars = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
const SPACE: Chars = [
  [9, 13],
  [32, 32],
  [160, 160],
  [5760, 5760],
  [8192, 8202],
  [8232, 8233],
  [8239, 8239],
  [8287, 8287],
  [12288, 12288],
  [65279, 65279],
];
const LINE_ENDS: Chars = [
  [10, 10],
  [13, 13],
  [8232, 8233],
];

const CLASS_ESCAPES: ReadonlyMap<string, Chars> = new Map([
  ['d', DIGITS],
  ['D', complement(DIGITS)],
  ['w', WORD],
  ['W', complement(WORD)],
  ['s', SPACE],
  ['S', complement(SPACE)],
]);

const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['f', 12],
  ['v', 11],
]);

function complement(chars: Chars): Chars {
  const gaps: [number, number][] = [];
  let next = 0;
  for (const [low, high] of [...chars].sort((a, b) => a[0] - b[0])) {
    if (low > next) gaps.push([next, low - 1]);
    next = Math.max(next, high + 1);
  }
  if (next <= LAST) gaps.push([next, LAST]);
  return gaps;
}

export interface ParseOptions {
  /** Accepts `^`, `$` and `\\b` everywhere, as nodes of the tree; otherwise `^` and `$` only around an alternative. */
  assertions?: boolean;
}

/** Returns the syntax tree, or undefined for unsupported syntax: look-around, back references, properties. */
export function parsePattern(source: string, { assertions = false }: ParseOptions = {}): Pattern | undefined {
  if (source.length > MAX_LENGTH || !compiles(source)) return undefined;
  const reader = new Reader(source, assertions);
  const node = reader.choice(0);
  if (node === undefined || !reader.done) return undefined;
  return { node, anchored: reader.anchors === reader.alternatives };
}

function compiles(source: string): boolean {
  try {
    new RegExp(source, 'u');
    return true;
  } catch {
    return false;
  }
}

/** Parses patterns that `RegExp` has accepted; every method returns undefined for unsupported syntax. */
class Reader {
  anchors = 0;
  alternatives = 0;
  private position = 0;
  private readonly points: string[];
  private readonly assertions: boolean;

  constructor(source: string, assertions: boolean) {
    this.points = [...source];
    this.assertions = assertions;
  }

  get done(): boolean {
    return this.position === this.points.length;
  }

  choice(nesting: number): Node | undefined {
    if (nesting > MAX_NESTING) return undefined;
    const options: Node[] = [];
    do {
      const option = this.sequence(nesting);
      if (option === undefined) return undefined;
      options.push(option);
    } while (this.take('|'));
    const [only] = options;
    return only !== undefined && options.length === 1 ? only : { kind: 'choice', options };
  }

  private sequence(nesting: number): Node | undefined {
    const parts: Node[] = [];
    if (nesting === 0 && !this.assertions) {
      this.alternatives += 1;
      if (this.take('^')) this.anchors += 1;
    }
    while (!this.done && this.peek() !== '|' && this.peek() !== ')') {
      // `$` is skipped at the end of an alternative, because it does not affect the length of a match; elsewhere it
      // is unsupported.
      if (
        nesting === 0 &&
        !this.assertions &&
        this.peek() === '$' &&
        [undefined, '|'].includes(this.points[this.position + 1])
      ) {
        this.position += 1;
        continue;
      }
      const part = this.assertion() ?? this.atom(nesting);
      const repeated = part && this.repeated(part);
      if (repeated === undefined) return undefined;
      parts.push(repeated);
    }
    return { kind: 'sequence', parts };
  }

  private assertion(): Node | undefined {
    if (!this.assertions) return undefined;
    if (this.take('^')) return { kind: 'assert', at: 'start' };
    if (this.take('$')) return { kind: 'assert', at: 'end' };
    const escaped = this.peek() === '\\' ? this.points[this.position + 1] : undefined;
    if (escaped !== 'b' && escaped !== 'B') return undefined;
    this.position += 2;
    return { kind: 'assert', at: escaped === 'b' ? 'word' : 'no word' };
  }

  private atom(nesting: number): Node | undefined {
    const point = this.next();
    if (point === '(') return this.group(nesting);
    if (point === '[') return asNode(this.set());
    if (point === '\\') return asNode(this.escape());
    if (point === '.') return asNode(complement(LINE_ENDS));
    return '^$*+?{}'.includes(point) ? undefined : asNode(one(point));
  }

  private group(nesting: number): Node | undefined {
    const special = this.take('?');
    if (special && !this.take(':')) return undefined;
    const inner = this.choice(nesting + 1);
    if (!this.take(')') || inner === undefined) return undefined;
    return special ? inner : { kind: 'group', part: inner };
  }

  private set(): Chars | undefined {
    const negated = this.take('^');
    const chars: (readonly [number, number])[] = [];
    while (!this.take(']')) {
      const low = this.member();
      const ranged = this.peek() === '-' && this.points[this.position + 1] !== ']' && this.take('-');
      const high = ranged ? this.member() : low;
      if (low === undefined || high === undefined) return undefined;
      if (ranged) chars.push([low[0]?.[0] ?? 0, high[0]?.[1] ?? 0]);
      else chars.push(...low);
    }
    return negated ? complement(chars) : chars;
  }

  private member(): Chars | undefined {
    const point = this.next();
    return point === '\\' ? this.escape() : one(point);
  }

  private escape(): Chars | undefined {
    const point = this.next();
    const known = CLASS_ESCAPES.get(point) ?? asChars(CONTROL_ESCAPES.get(point));
    if (known) return known;
    const digits = point === 'x' ? 2 : point === 'u' ? 4 : 0;
    if (digits > 0) return this.hex(digits);
    return /^[A-Za-z0-9]$/.test(point) ? undefined : one(point);
  }

  private hex(digits: number): Chars | undefined {
    const text = this.points.slice(this.position, this.position + digits).join('');
    if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== digits) return undefined;
    this.position += digits;
    return asChars(Number.parseInt(text, 16));
  }

  private repeated(part: Node): Node | undefined {
    const rest = this.points.slice(this.position, this.position + 12).join('');
    const match = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(rest);
    if (!match) return this.peek() === '{' ? undefined : part;
    const lazy = match[0].length > 1 && match[0].endsWith('?') ? ({ lazy: true } as const) : {};
    this.position += [...match[0]].length;
    const [, sign, from, comma, to] = match;
    if (sign !== undefined) {
      const most = sign === '?' ? 1 : Number.POSITIVE_INFINITY;
      return { kind: 'repeat', part, least: sign === '+' ? 1 : 0, most, ...lazy };
    }
    const least = Number(from);
    const most = to === '' ? (comma === '' ? least : Number.POSITIVE_INFINITY) : Number(to);
    return { kind: 'repeat', part, least, most, ...lazy };
  }

  private peek(): string {
    return this.points[this.position] ?? '';
  }

  private next(): string {
    const point = this.peek();
    this.position += 1;
    return point;
  }

  private take(point: string): boolean {
    if (this.peek() !== point) return false;
    this.position += 1;
    return true;
  }
}

function one(point: string): Chars {
  return asChars(point.codePointAt(0)) ?? [];
}

function asChars(point: number | undefined): Chars | undefined {
  return point === undefined ? undefined : [[point, point]];
}

function asNode(chars: Chars | undefined): Node | undefined {
  return chars && { kind: 'chars', chars };
}

/** Returns a short text that matches, with letters and digits preferred; undefined if a character set is empty. */
export function sampleOf(node: Node): string | undefined {
  if (node.kind === 'chars') return pleasant(node.chars);
  if (node.kind === 'choice') return node.options[0] && sampleOf(node.options[0]);
  if (node.kind === 'group') return sampleOf(node.part);
  if (node.kind === 'assert') return '';
  const parts = node.kind === 'sequence' ? node.parts : new Array<Node>(Math.min(node.least, 1000)).fill(node.part);
  const texts = parts.map(sampleOf);
  return texts.includes(undefined) ? undefined : texts.join('');
}

function pleasant(chars: Chars): string | undefined {
  const fits = (point: number) => chars.some(([low, high]) => point >= low && point <= high);
  const point = [97, 65, 49, 48, 45, 32].find(fits) ?? chars[0]?.[0];
  return point === undefined ? undefined : String.fromCodePoint(point);
}
