/** Sets one value in JSONC text. Text outside the value stays byte for byte: comments, indentation, line ends. */
import { createScanner, findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser';

/** Token kinds of jsonc-parser for a comma, and for whitespace, line breaks and comments. */
const COMMA = 5;
const TRIVIA: ReadonlySet<number> = new Set([12, 13, 14, 15]);

/** Replaces the value at the path, or adds it at the end of its object or list; missing objects on the way are created. */
export function setValue(text: string, path: JSONPath, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return `${jsonText(nest(path, value), { unit: '  ', eol: '\n', indent: '' })}\n`;
  const existing = findNodeAtLocation(root, path);
  const depth = existing === undefined ? deepestObject(root, path) : path.length;
  const node = existing ?? findNodeAtLocation(root, path.slice(0, depth)) ?? root;
  if (existing !== undefined || !isContainer(node)) {
    const indent = indentAt(text, node.offset);
    const json = jsonText(nest(path.slice(depth), value), { ...layoutOf(text), indent });
    return text.slice(0, node.offset) + json + text.slice(node.offset + node.length);
  }
  return insert(text, node, path[depth] ?? '', nest(path.slice(depth + 1), value));
}

/** Returns how many keys of the path exist, down to the deepest value that can hold the next key, or that has to be replaced. */
function deepestObject(root: Node, path: JSONPath): number {
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    if (findNodeAtLocation(root, path.slice(0, depth)) !== undefined) return depth;
  }
  return 0;
}

function isContainer({ type }: Node): boolean {
  return type === 'object' || type === 'array';
}

/** Returns the value inside objects with the keys of the path. */
function nest(path: JSONPath, value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

interface Layout {
  /** The indentation of one level. */
  unit: string;
  eol: string;
}

function layoutOf(text: string): Layout {
  return { unit: /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' };
}

/** The maximum length of a list that is written in one line. */
const SHORT_LIST = 100;

/** Formats a value for a line with this indentation. A short list of simple values stays in one line. */
function jsonText(value: unknown, layout: Layout & { indent: string }): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = { ...layout, indent: layout.indent + layout.unit };
  const items = Array.isArray(value)
    ? value.map((item) => jsonText(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${jsonText(item, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (items.length === 0) return `${open}${close}`;
  const line = `[${items.join(', ')}]`;
  if (Array.isArray(value) && line.length <= SHORT_LIST && !line.includes('\n')) return line;
  const { eol, indent } = layout;
  return `${open}${eol}${inner.indent}${items.join(`,${eol}${inner.indent}`)}${eol}${indent}${close}`;
}

/** Adds one entry after the last one of an object or list. An object in one line stays in one line. */
function insert(text: string, container: Node, key: string | number, value: unknown): string {
  const isList = container.type === 'array';
  const label = isList ? '' : `${JSON.stringify(String(key))}: `;
  const last = container.children?.at(-1);
  const close = container.offset + container.length - 1;
  if (last === undefined) return insertFirst(text, container, label, value);
  const end = last.offset + last.length;
  const comma = commaAfter(text, end, close);
  const layout = layoutOf(text);
  const lead = leadOf(text, last.offset);
  if (lead === undefined) {
    const json = `${label}${JSON.stringify(value)}`;
    const at = comma ?? end;
    return `${text.slice(0, at)}${comma === undefined ? ', ' : ' '}${json}${comma === undefined ? '' : ','}${text.slice(at)}`;
  }
  const unit = unitOf(lead, indentAt(text, container.offset)) ?? layout.unit;
  const json = `${label}${jsonText(value, { ...layout, unit, indent: lead })}`;
  const after = endOfLine(text, comma ?? end, close);
  const line = `${layout.eol}${lead}${json}${comma === undefined ? '' : ','}`;
  const head = comma === undefined ? `${text.slice(0, end)},${text.slice(end, after)}` : text.slice(0, after);
  return head + line + text.slice(after);
}

/** Adds the first entry. Comments in the container stay above it. */
function insertFirst(text: string, container: Node, label: string, value: unknown): string {
  const layout = layoutOf(text);
  const outer = indentAt(text, container.offset);
  const close = container.offset + container.length - 1;
  const inner = text.slice(container.offset + 1, close).trimEnd();
  const indent = outer + layout.unit;
  const json = `${label}${jsonText(value, { ...layout, indent })}`;
  const head = text.slice(0, container.offset + 1) + inner;
  return `${head}${layout.eol}${indent}${json}${layout.eol}${outer}${text.slice(close)}`;
}

/** Returns the whitespace before an entry that begins its line; undefined if other text precedes it in the line. */
function leadOf(text: string, offset: number): string | undefined {
  return /(?:^|\n)([ \t]*)$/.exec(text.slice(0, offset))?.[1];
}

/** Returns the indentation of the line that contains an offset. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? '';
}

function unitOf(inner: string, outer: string): string | undefined {
  return inner.length > outer.length && inner.startsWith(outer) ? inner.slice(outer.length) : undefined;
}

/** Returns the offset after the comma that follows, if there is one before the container closes. */
function commaAfter(text: string, from: number, close: number): number | undefined {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let token = scanner.scan();
  while (TRIVIA.has(token)) token = scanner.scan();
  return Number(token) === COMMA && scanner.getTokenOffset() < close ? scanner.getTokenOffset() + 1 : undefined;
}

/** Returns the end of the line after its comment, if only blanks and comments follow there. */
function endOfLine(text: string, from: number, close: number): number {
  const rest = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(text.slice(from, close));
  return rest === null ? from : from + rest[0].trimEnd().length;
}
