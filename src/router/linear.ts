/** Proves that a pattern is matched in linear time, or gives up: at every point of a text there is one way to go on. */
import { type Node, parsePattern } from './pattern.ts';

type Chars = Extract<Node, { kind: 'chars' }>['chars'];

/** Positions in the pattern that consume a character; longer counts than this are treated as loops. */
const MAX_POSITIONS = 600;
const MAX_COUNT = 64;

/** What a part of the pattern looks like from outside: the positions at its ends, and whether it may be empty. */
interface Part {
  empty: boolean;
  first: number[];
  last: number[];
}

/**
 * True only when certain. The test: number the characters of the pattern and note which may follow which. If no two that
 * may follow the same one share a character, and no way to go on is written twice, the engine never has two roads for one
 * text. Without `^` the engine begins anew at every place, so then a match must also be of bounded length.
 */
export function isLinearPattern(source: string): boolean {
  const pattern = parsePattern(source);
  if (!pattern) return false;
  const survey = new Survey();
  const whole = survey.part(pattern.node);
  return whole !== undefined && survey.isDistinct(whole.first) && (pattern.anchored || !survey.loops);
}

class Survey {
  loops = false;
  private readonly chars: Chars[] = [];
  private readonly follow: Set<number>[] = [];

  part(node: Node): Part | undefined {
    if (node.kind === 'chars') return this.position(node.chars);
    if (node.kind === 'sequence') return this.sequence(node.parts);
    return node.kind === 'choice' ? this.choice(node.options) : this.repeat(node);
  }

  private position(chars: Chars): Part | undefined {
    if (this.chars.length >= MAX_POSITIONS) return undefined;
    const index = this.chars.push(chars) - 1;
    this.follow.push(new Set());
    return { empty: false, first: [index], last: [index] };
  }

  private sequence(nodes: Node[]): Part | undefined {
    let whole: Part | undefined = { empty: true, first: [], last: [] };
    for (const node of nodes) {
      const part = this.part(node);
      whole = part && whole && this.join(whole, part);
      if (whole === undefined) return undefined;
    }
    return whole;
  }

  private join(left: Part, right: Part): Part | undefined {
    if (!this.link(left.last, right.first)) return undefined;
    return {
      empty: left.empty && right.empty,
      first: left.empty ? [...left.first, ...right.first] : left.first,
      last: right.empty ? [...left.last, ...right.last] : right.last,
    };
  }

  /** Two alternatives that may both be empty are two roads for the same text. */
  private choice(nodes: Node[]): Part | undefined {
    const parts: Part[] = [];
    for (const node of nodes) {
      const part = this.part(node);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    const empty = parts.filter((part) => part.empty).length;
    const first = parts.flatMap((part) => part.first);
    if (empty > 1 || !this.isDistinct(first)) return undefined;
    return { empty: empty === 1, first, last: parts.flatMap((part) => part.last) };
  }

  /** A repeated part that may itself be empty can be repeated in many ways. */
  private repeat({ part: node, least, most }: Extract<Node, { kind: 'repeat' }>): Part | undefined {
    if (most <= MAX_COUNT) return this.counted(node, least, most);
    this.loops = true;
    const part = this.part(node);
    if (part === undefined || part.empty || !this.link(part.last, part.first)) return undefined;
    return { ...part, empty: least === 0 };
  }

  /** Copies one after the other: each can be reached from the one before it only. */
  private counted(node: Node, least: number, most: number): Part | undefined {
    const whole: Part = { empty: least === 0, first: [], last: [] };
    let before: Part | undefined;
    for (let count = 1; count <= most; count += 1) {
      const part = this.part(node);
      if (part === undefined || part.empty) return undefined;
      if (before && !this.link(before.last, part.first)) return undefined;
      if (!before) whole.first = part.first;
      if (count >= least) whole.last.push(...part.last);
      before = part;
    }
    return whole;
  }

  /** False when a road is written twice, as in `(a+)*`. */
  private link(from: number[], to: number[]): boolean {
    for (const index of from) {
      const follow = this.follow[index] ?? new Set();
      for (const next of to) {
        if (follow.has(next)) return false;
        follow.add(next);
      }
      if (!this.isDistinct([...follow])) return false;
    }
    return true;
  }

  /** True when no character fits two of these positions. */
  isDistinct(positions: number[]): boolean {
    const ranges = positions.flatMap((index) => (this.chars[index] ?? []).map((range) => ({ range, index })));
    ranges.sort((a, b) => a.range[0] - b.range[0]);
    let reach = -1;
    let owner = -1;
    for (const { range, index } of ranges) {
      if (range[0] <= reach && index !== owner) return false;
      if (range[1] > reach) [reach, owner] = [range[1], index];
    }
    return true;
  }
}
