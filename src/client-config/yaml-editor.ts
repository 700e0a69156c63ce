/** The editor of YAML files. It replaces lines in the text, so comments, indentation and quotes of all others stay. */
import { isMap, isPair, isSeq, type Node, type Pair, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { isRecord, type Path } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import type { TextEditor } from './text-editor.ts';

export const yamlEditor: TextEditor = { parse: parseYaml, set, remove };

function parseYaml(text: string, file: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error === undefined) return document.toJS() ?? {};
  const { line = 1, col: column = 1 } = error.linePos?.[0] ?? {};
  // The rest of the parser's message quotes lines, which may hold secrets.
  const reason = error.message.split(/ at line |\n/)[0];
  const hint = 'correct the file, or rename it';
  const data = { file, line, column };
  throw new McpxError('config', `${file}:${line}:${column}: the file is not valid YAML: ${reason}`, { hint, data });
}

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>;

/** One entry of a map or list: from its key or its dash to the end of its value. */
interface Entry {
  parent: Collection;
  index: number;
  start: number;
  end: number;
  value: Node | null;
}

function isCollection(node: unknown): node is Collection {
  return isMap(node) || isSeq(node);
}

/** Returns the entry at the path; undefined if there is none. */
function find(text: string, path: Path): Entry | undefined {
  let node: unknown = parseDocument(text).contents;
  let entry: Entry | undefined;
  for (const key of path) {
    if (!isCollection(node)) return undefined;
    const index = isMap(node) ? node.items.findIndex((pair) => keyText(pair) === key) : Number(key);
    if (node.items[index] === undefined) return undefined;
    entry = entryAt(text, node, index);
    node = entry.value;
  }
  return entry;
}

function keyText({ key }: Pair<unknown, unknown>): unknown {
  return isRecord(key) && 'value' in key ? key.value : undefined;
}

function entryAt(text: string, parent: Collection, index: number): Entry {
  const item: unknown = parent.items[index];
  const key = (isPair(item) ? item.key : item) as Node;
  const value = (isPair(item) ? item.value : item) as Node | null;
  const [keyStart = 0, keyEnd = 0] = key.range ?? [];
  const end = Math.max(value === null ? 0 : endOf(value), keyEnd);
  const dash = isPair(item) ? 0 : (/-[ \t]*$/.exec(text.slice(0, keyStart))?.[0].length ?? 0);
  const start = parent.flow === true ? keyStart : keyStart - dash;
  // Without a value, the entry ends at the colon.
  const colon = isPair(item) && end === keyEnd ? (/^[ \t]*:/.exec(text.slice(end))?.[0].length ?? 0) : 0;
  return { parent, index, start, end: end + colon - trailing(text.slice(start, end + colon)), value };
}

function trailing(text: string): number {
  return text.length - text.trimEnd().length;
}

/** Returns the end of a value without comments that follow it. */
function endOf(node: Node): number {
  if (isCollection(node) && node.flow !== true) {
    const last: unknown = node.items.at(-1);
    const inner = (isPair(last) ? (last.value ?? last.key) : last) as Node | null | undefined;
    if (inner !== null && inner !== undefined) return endOf(inner);
  }
  return node.range?.[1] ?? 0;
}

function remove(text: string, path: Path): string {
  const entry = find(text, path);
  if (entry === undefined) return text;
  const { parent, index } = entry;
  if (parent.flow === true) return withoutFlowItem(text, entry);
  const lines = linesOf(text, entry);
  const rest = text.slice(0, lines.start) + text.slice(lines.end);
  if (parent.items.length > 1 || index > 0) return rest;
  // A block without entries would be null instead of empty.
  const holder = path.length < 2 ? undefined : find(text, path.slice(0, -1));
  if (holder === undefined) return rest;
  const at = text.slice(0, entry.start).trimEnd().length;
  const comments = text.slice(holder.start, entry.start).includes('#');
  const after = comments ? (endOfKey(text, holder.start) ?? at) : at;
  return `${rest.slice(0, after)} ${isMap(parent) ? '{}' : '[]'}${rest.slice(after)}`;
}

/** Returns the offset after the colon of a key. */
function endOfKey(text: string, start: number): number | undefined {
  const found = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^:#\n]+):/.exec(text.slice(start));
  return found === null ? undefined : start + found[0].length;
}

/** Returns the whole lines of an entry, with a comment at their end. */
function linesOf(text: string, { start, end }: Pick<Entry, 'start' | 'end'>): { start: number; end: number } {
  const line = text.lastIndexOf('\n', start - 1) + 1;
  const next = text.indexOf('\n', end);
  return { start: line, end: next < 0 ? text.length : next + 1 };
}

function withoutFlowItem(text: string, { parent, index, start, end }: Entry): string {
  const [previous, next] = [index - 1, index + 1].map((one) =>
    parent.items[one] === undefined ? undefined : entryAt(text, parent, one),
  );
  if (next !== undefined) return text.slice(0, start) + text.slice(next.start);
  return text.slice(0, previous?.end ?? start) + text.slice(end);
}

function set(text: string, path: Path, value: unknown): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const existing = find(text, path);
  if (existing !== undefined) return replace(text, existing, path, value, eol);
  const key = path.at(-1) ?? '';
  const holder = path.length === 1 ? undefined : find(text, path.slice(0, -1));
  const container = path.length === 1 ? parseDocument(text).contents : holder?.value;
  if (path.length > 1 && holder === undefined) return set(text, path.slice(0, -1), nested(key, value));
  if (!isCollection(container) || container.items.length === 0) {
    if (holder !== undefined) return replace(text, holder, path.slice(0, -1), nested(key, value), eol);
    const gap = text === '' || text.endsWith('\n') ? '' : eol;
    return `${text}${gap}${blockLines({ [key]: value }, '').join(eol)}${eol}`;
  }
  const last = entryAt(text, container, container.items.length - 1);
  const json = isMap(container) ? `${JSON.stringify(key)}: ${JSON.stringify(value)}` : JSON.stringify(value);
  if (container.flow === true) return `${text.slice(0, last.end)}, ${json}${text.slice(last.end)}`;
  const indent = ' '.repeat(columnOf(text, last.start));
  const lines = isMap(container) ? blockLines({ [key]: value }, indent) : blockLines([value], indent);
  const { end } = linesOf(text, last);
  const gap = text.slice(0, end).endsWith('\n') ? '' : eol;
  return `${text.slice(0, end)}${gap}${lines.join(eol)}${eol}${text.slice(end)}`;
}

function nested(key: string | number, value: unknown): unknown {
  return typeof key === 'number' ? [value] : { [key]: value };
}

function replace(text: string, entry: Entry, path: Path, value: unknown, eol: string): string {
  const key = path.at(-1) ?? '';
  if (entry.parent.flow === true) {
    const json = isMap(entry.parent) ? `${JSON.stringify(key)}: ${JSON.stringify(value)}` : JSON.stringify(value);
    return text.slice(0, entry.start) + json + text.slice(entry.end);
  }
  const indent = ' '.repeat(columnOf(text, entry.start));
  const lines = isMap(entry.parent) ? blockLines({ [key]: value }, indent) : blockLines([value], indent);
  return text.slice(0, entry.start) + lines.join(eol).trimStart() + text.slice(entry.end);
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}

/** Writes a map or list in block style. */
function blockLines(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (!isFilled(item)) return [`${indent}- ${scalarText(item)}`];
      const [first = '', ...rest] = blockLines(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(isRecord(value) ? value : {}).flatMap(([key, item]) =>
    isFilled(item)
      ? [`${indent}${scalarText(key)}:`, ...blockLines(item, `${indent}  `)]
      : [`${indent}${scalarText(key)}: ${scalarText(item)}`],
  );
}

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Writes a text without quotes if it cannot be taken for anything else; JSON is valid YAML. */
function scalarText(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[A-Za-z_/][\w/.@-]*$/.test(value);
  return isPlain && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(value) ? value : JSON.stringify(value);
}
