/** Proves that a regular expression matches in linear time, or gives up. */
import { type Node, parsePattern } from './regex-parse.ts';

type Chars = Extract<Node, { kind: 'chars' }>['chars'];

/**
 * Limits: positions that consume a character, and the largest repeat count that is expanded; larger counts are loops.
 */
const MAX_POSITIONS = 600;
const MAX_COUNT = 64;

/** A part of the pattern: the positions at its start and end, and whether it can match the empty text. */
interface Part {
  empty: boolean;
  first: number[];
  last: number[];
}

/**
 * True only if linear time is certain. The pattern's characters are numbered as positions, and each position gets the
 * set of positions that may follow it. If no two positions that may follow the same one share a character, and none
 * is reached in two ways, the engine never has a choice and does not backtrack. Without `^` the engine starts at
 * every character, so the match must also have a bounded length.
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
    if (node.kind === 'group') return this.part(node.part);
    if (node.kind === 'assert') return undefined;
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

  /** Gives up if two alternatives can match the empty text, because the engine then has a choice. */
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

  /** Gives up on a repeated part that can match the empty text, because it can repeat in many ways. */
  private repeat({ part: node, least, most }: Extract<Node, { kind: 'repeat' }>): Part | undefined {
    if (most <= MAX_COUNT) return this.counted(node, least, most);
    this.loops = true;
    const part = this.part(node);
    if (part === undefined || part.empty || !this.link(part.last, part.first)) return undefined;
    return { ...part, empty: least === 0 };
  }

  /** Expands a counted repeat into copies; each copy follows only the copy before it. */
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

  /** Returns false if the same step is possible in two ways, as in `(a+)*`. */
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

  /** True if no character matches two of these positions. */
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
