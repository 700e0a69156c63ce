/** Removes one entry from JSONC text with its comma, and keeps the comments of its neighbours. */
import { createScanner, findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser';

const COMMA = 5;
/** Token kinds of jsonc-parser for whitespace, line breaks and comments. */
const TRIVIA: ReadonlySet<number> = new Set([12, 13, 14, 15]);

/** Returns the text without the value at the path; unchanged if there is none. */
export function removeAt(text: string, path: JSONPath): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const node = root && findNodeAtLocation(root, path);
  const item = node?.parent?.type === 'property' ? node.parent : node;
  if (item?.parent === undefined) return text;
  const after = commaAfter(text, endOf(item));
  const whole = widen(text, item.offset, after === undefined ? endOf(item) : after + 1);
  const before = after === undefined ? commaBefore(text, item) : undefined;
  const rest = text.slice(whole.end);
  if (before === undefined) return text.slice(0, whole.start) + rest;
  const between = text.slice(before + 1, whole.start);
  return text.slice(0, before) + (/^[ \t]*$/.test(between) ? '' : between) + rest;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function commaAfter(text: string, from: number): number | undefined {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let token = scanner.scan();
  while (TRIVIA.has(token)) token = scanner.scan();
  return Number(token) === COMMA ? scanner.getTokenOffset() : undefined;
}

/** Returns the offset of the comma before the last entry. */
function commaBefore(text: string, item: Node): number | undefined {
  const siblings = item.parent?.children ?? [];
  const previous = siblings[siblings.indexOf(item) - 1];
  return previous && commaAfter(text, endOf(previous));
}

/** Extends the range to whole lines if the entry does not share them, including a comment at the end of its last line. */
function widen(text: string, start: number, end: number): { start: number; end: number } {
  const lead = /[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  const from = start - lead;
  if (from > 0 && text[from - 1] !== '\n') return { start, end };
  const tail = /^[ \t]*(?:\/\/[^\n]*)?\r?\n/.exec(text.slice(end))?.[0].length;
  return tail === undefined ? { start, end } : { start: from, end: end + tail };
}
