/** Finds a regular expression in a text in linear time, whatever the pattern: it follows all its branches at once. */
import { type Node, parsePattern } from './regex-parse.ts';
import { isLinearPattern } from './regex-safety.ts';

type Chars = Extract<Node, { kind: 'chars' }>['chars'];
type Assertion = Extract<Node, { kind: 'assert' }>['at'];

/** One step of the compiled pattern; `next` is the first choice of a fork, and `other` the second. */
type Step =
  | { does: 'match' }
  | { does: 'chars'; chars: Chars; ascii: Uint8Array; next: number }
  | { does: 'fork'; next: number; other: number }
  | { does: 'save'; slot: number; next: number }
  | { does: 'assert'; at: Assertion; next: number };

/** Maximum number of steps; the time is this times the length of the text. */
const MAX_STEPS = 2000;

/** Returns the whole match and its groups; undefined if there is none. */
export type Search = (text: string) => (string | undefined)[] | undefined;

/** Compiles a pattern; returns undefined for look-around, back references, properties, and too large patterns. */
export function compileSearch(source: string, isCaseless = false): Search | undefined {
  // The engine's own search is faster. Its proof of linear time is about the exact case.
  if (!isCaseless && isLinearPattern(source)) {
    const exact = new RegExp(source, 'u');
    return (text) => exact.exec(text) ?? undefined;
  }
  const pattern = parsePattern(source, { assertions: true });
  const program = pattern && new Compiler().compile(pattern.node);
  const begins = program && beginOf(program, isCaseless);
  return program && ((text) => find(program, { text, begins, ...(isCaseless && { folded: fold(text) }) }));
}

/** Returns a pattern for the characters that a match may begin with; undefined if it may begin anywhere. */
function beginOf({ steps, begin }: Program, isCaseless: boolean): RegExp | undefined {
  const ranges: Chars[number][] = [];
  const waiting = [begin];
  for (const index of waiting) {
    const step = steps[index] as Step;
    if (step.does === 'match' || step.does === 'assert') return undefined;
    const next = step.does === 'fork' ? [step.next, step.other] : step.does === 'save' ? [step.next] : [];
    for (const one of next) if (!waiting.includes(one)) waiting.push(one);
    if (step.does === 'chars') ranges.push(...step.chars);
  }
  const hex = (point: number) => `\\u{${point.toString(16)}}`;
  const set = ranges.map(([low, high]) => `${hex(low)}-${hex(high)}`).join('');
  return new RegExp(`[${set}]`, isCaseless ? 'giu' : 'gu');
}

interface Program {
  steps: Step[];
  begin: number;
  /** Number of positions in the text that a match notes: its start and end, then those of each group. */
  slots: number;
}

/** Builds the steps from the end to the beginning, so that each one knows its successor. */
class Compiler {
  private readonly steps: Step[] = [];
  private groups = 0;
  private readonly numbers = new Map<Node, number>();

  compile(node: Node): Program | undefined {
    this.count(node);
    try {
      const end = this.add({ does: 'save', slot: 1, next: this.add({ does: 'match' }) });
      const begin = this.add({ does: 'save', slot: 0, next: this.node(node, end) });
      return { steps: this.steps, begin, slots: 2 * (this.groups + 1) };
    } catch (error) {
      if (error === TOO_LARGE) return undefined;
      throw error;
    }
  }

  /** Numbers the groups in the order of their opening parentheses. */
  private count(node: Node): void {
    if (node.kind === 'group') this.numbers.set(node, ++this.groups);
    if (node.kind === 'sequence') for (const part of node.parts) this.count(part);
    else if (node.kind === 'choice') for (const option of node.options) this.count(option);
    else if (node.kind === 'repeat' || node.kind === 'group') this.count(node.part);
  }

  private add(step: Step): number {
    if (this.steps.length >= MAX_STEPS) throw TOO_LARGE;
    return this.steps.push(step) - 1;
  }

  /** Returns the first step of a node that continues at `next`. */
  private node(node: Node, next: number): number {
    if (node.kind === 'chars') return this.add({ does: 'chars', chars: node.chars, ascii: tableOf(node.chars), next });
    if (node.kind === 'assert') return this.add({ does: 'assert', at: node.at, next });
    if (node.kind === 'sequence') return node.parts.reduceRight((after, part) => this.node(part, after), next);
    if (node.kind === 'group') {
      const slot = 2 * (this.numbers.get(node) ?? 0);
      const end = this.add({ does: 'save', slot: slot + 1, next });
      return this.add({ does: 'save', slot, next: this.node(node.part, end) });
    }
    if (node.kind === 'repeat') return this.repeat(node, next);
    const [last, ...others] = node.options.map((option) => this.node(option, next)).reverse();
    return others.reduce((other, first) => this.add({ does: 'fork', next: first, other }), last ?? next);
  }

  private repeat({ part, least, most, lazy }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    const fork = (more: number, done: number) =>
      this.add(lazy ? { does: 'fork', next: done, other: more } : { does: 'fork', next: more, other: done });
    let at = next;
    if (most === Number.POSITIVE_INFINITY) {
      at = fork(next, next);
      const loop = this.steps[at] as Extract<Step, { does: 'fork' }>;
      loop[lazy ? 'other' : 'next'] = this.node(part, at);
    } else for (let count = least; count < most; count += 1) at = fork(this.node(part, at), next);
    for (let count = 0; count < least; count += 1) at = this.node(part, at);
    return at;
  }
}

const TOO_LARGE = new Error('the pattern has too many steps');

interface Subject {
  text: string;
  /** The text in lower case, for a search that ignores case. */
  folded?: string;
  /** Finds the next character that a match may begin with. */
  begins?: RegExp | undefined;
}

/** A position that a branch has noted, and those it noted before. */
interface Noted {
  slot: number;
  at: number;
  before: Noted | undefined;
}

/** A branch: the step that reads the next character, and the positions noted so far. */
interface Branch {
  step: number;
  noted: Noted | undefined;
}

/** Returns the leftmost match. Branches are in order of preference, and at each character each step has only one. */
function find(program: Program, subject: Subject): ReturnType<Search> {
  const { text, folded, begins } = subject;
  const place: Place = { steps: program.steps, marks: new Uint32Array(program.steps.length), mark: 0, text, at: 0 };
  let found: Branch | undefined;
  let waiting: Branch[] = [];
  while (place.at <= text.length) {
    if (begins !== undefined && waiting.length === 0) {
      begins.lastIndex = place.at;
      const next = begins.exec(text);
      if (next === null) break;
      place.at = next.index;
    }
    place.mark += 1;
    const branches: Branch[] = [];
    let end: Branch | undefined;
    for (let index = 0; index < waiting.length && end === undefined; index += 1) {
      end = advance(waiting[index] as Branch, place, branches);
    }
    if (end === undefined && found === undefined)
      end = advance({ step: program.begin, noted: undefined }, place, branches);
    found = end ?? found;
    const point = text.codePointAt(place.at);
    if (point === undefined || (branches.length === 0 && found !== undefined)) break;
    waiting = matching(branches, program.steps, { point, other: folded?.codePointAt(place.at) });
    place.at += point > 0xffff ? 2 : 1;
  }
  return found && texts(found.noted, program.slots, text);
}

/** Returns the branches that continue after a character; `other` is the character in lower case, if case is ignored. */
function matching(
  branches: Branch[],
  steps: Step[],
  { point, other }: { point: number; other?: number | undefined },
): Branch[] {
  const following: Branch[] = [];
  for (const { step, noted } of branches) {
    const { chars, ascii, next } = steps[step] as Extract<Step, { does: 'chars' }>;
    const fits = point < ASCII ? ascii[point] === 1 : includes(chars, point);
    const isSame = fits || (other !== undefined && (includes(chars, other) || includes(chars, upper(other))));
    if (isSame) following.push({ step: next, noted });
  }
  return following;
}

interface Place {
  steps: Step[];
  /** The last character at which each step was reached; it is reached once per character. */
  marks: Uint32Array;
  mark: number;
  text: string;
  at: number;
}

/**
 * Follows a branch to the steps that read a character and adds these to `branches`. Returns the branch if the pattern
 * ends here; less preferred branches are then dropped.
 */
function advance(branch: Branch, place: Place, branches: Branch[]): Branch | undefined {
  const { steps, marks, mark, at } = place;
  const stack = [branch];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { step: index, noted } = top;
    if (marks[index] === mark) continue;
    marks[index] = mark;
    const step = steps[index] as Step;
    if (step.does === 'match') return top;
    if (step.does === 'chars') branches.push(top);
    else if (step.does === 'fork') stack.push({ step: step.other, noted }, { step: step.next, noted });
    else if (step.does === 'save') stack.push({ step: step.next, noted: { slot: step.slot, at, before: noted } });
    else if (holds(step.at, place)) stack.push({ step: step.next, noted });
  }
  return undefined;
}

function holds(assertion: Assertion, { text, at }: Place): boolean {
  if (assertion === 'start') return at === 0;
  if (assertion === 'end') return at === text.length;
  const isEdge = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
  return isEdge === (assertion === 'word');
}

function isWord(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122);
}

const ASCII = 128;

/** Returns 1 for each ASCII character of a set. */
function tableOf(chars: Chars): Uint8Array {
  return Uint8Array.from({ length: ASCII }, (_, point) => (includes(chars, point) ? 1 : 0));
}

function includes(chars: Chars, point: number): boolean {
  return chars.some(([low, high]) => point >= low && point <= high);
}

/** Returns the whole match and the groups; of a position that was noted several times, the last one counts. */
function texts(noted: Noted | undefined, slots: number, text: string): (string | undefined)[] {
  const ends: (number | undefined)[] = new Array(slots).fill(undefined);
  for (let one = noted; one !== undefined; one = one.before) ends[one.slot] ??= one.at;
  return Array.from({ length: slots / 2 }, (_, group) => {
    const from = ends[2 * group];
    return from === undefined ? undefined : text.slice(from, ends[2 * group + 1]);
  });
}

/** Lower case without a change of length, so that positions stay the same. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
}

function upper(point: number): number {
  return String.fromCodePoint(point).toUpperCase().codePointAt(0) ?? point;
}
