/** Reads one config file as text and syntax tree: JSONC in UTF-8 or UTF-16, with the position of each value. */
import { readFileSync } from 'node:fs';
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { McpxError } from '../errors.ts';
import { codeOf } from '../files.ts';
import { blockText, lineStarts, type Position, positionAt } from './excerpt.ts';
import { type Path, sameJson } from './json-data.ts';
import { maskText } from './redact.ts';
import { isHarmless } from './sensitive.ts';

export interface Source {
  /** The absolute path of the file. */
  file: string;
  text: string;
  /** The offsets at which lines begin. */
  starts: number[];
  root: Node;
  value: unknown;
  /** Keys that occur twice in one object with different values; `value` holds the last one. */
  duplicates: Duplicate[];
}

export interface Duplicate {
  path: Path;
  first: Position;
  second: Position;
}

/** The hint for a missing file that was named explicitly. A missing file at the default path is created when it is needed. */
export const NAMED_FILE_HINT =
  'create it with the text {"mcpServers": {}}, or name another file with --config or MCPX_CONFIG';

/** Throws McpxError('config') for a file that is missing, unreadable or not JSON. */
export function readSource(file: string): Source {
  return parseSource(file, decode(readBytes(file)));
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT') {
      throw new McpxError('config', `config file "${file}" does not exist`, { hint: NAMED_FILE_HINT, cause });
    }
    const reason = code === 'EISDIR' ? 'is a folder' : `cannot be read (${code ?? 'unknown reason'})`;
    throw new McpxError('config', `config file "${file}" ${reason}`, { hint: 'name a file that you may read', cause });
  }
}

/** Decodes UTF-8, or UTF-16 with a byte order mark, which Windows PowerShell writes. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le').slice(1);
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** Encodes a text as the file with these bytes is: with its byte order mark, or in UTF-16. */
export function encodedLike(bytes: Uint8Array, text: string): Uint8Array {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return Buffer.from(`\uFEFF${text}`, 'utf16le');
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return Buffer.from(hasMark ? `\uFEFF${text}` : text);
}

export function parseSource(file: string, text: string): Source {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) throw isToml(text) ? tomlError(file) : syntaxError(file, text, error);
  if (root === undefined) throw syntaxError(file, text, { error: 4, offset: text.length, length: 0 });
  const source: Source = { file, text, starts: lineStarts(text), root, value: undefined, duplicates: [] };
  source.value = toValue(root, [], source);
  return source;
}

/** True if the first line that is not a comment is a TOML table or key. It is called only for text that is not JSON. */
function isToml(text: string): boolean {
  const first = text.split(/\r?\n/).find((line) => !/^\s*(#.*)?$/.test(line)) ?? '';
  return /^\s*(\[\[?\s*[A-Za-z_][^[\],]*\]\]?\s*(#.*)?|[\w."'-]+\s*=.*)$/.test(first);
}

/** The message quotes no line, because mcpx cannot tell which parts of TOML are secrets. */
function tomlError(file: string): McpxError {
  const hint =
    'write each [mcp_servers.<name>] table as an entry of a JSON file: {"mcpServers": {"<name>": {"command": "…", "args": ["…"]}}}';
  return new McpxError('config', `config file "${file}" is TOML, and mcpx reads JSON`, { hint, data: { file } });
}

/** Builds the value so that `__proto__` becomes an ordinary key, and records duplicate keys. */
function toValue(node: Node, path: Path, source: Source): unknown {
  if (node.type === 'array')
    return (node.children ?? []).map((child, index) => toValue(child, [...path, index], source));
  if (node.type !== 'object') return node.value;
  const entries = new Map<string, { value: unknown; node: Node }>();
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const value = toValue(valueNode, [...path, key], source);
    const earlier = entries.get(key);
    if (earlier !== undefined && !sameJson(earlier.value, value)) {
      const [first, second] = [earlier.node, keyNode].map((at) => positionAt(source.starts, at.offset, at.length));
      if (first !== undefined && second !== undefined) source.duplicates.push({ path: [...path, key], first, second });
    }
    entries.set(key, { value, node: keyNode });
  }
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

/** Returns the position of the value or the key at a path, or of its nearest existing ancestor. */
export function positionOf(source: Source, path: Path, part: 'key' | 'value' = 'value'): Position {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(source.root, path.slice(0, length));
    if (node === undefined) continue;
    const keyNode = node.parent?.type === 'property' ? node.parent.children?.[0] : undefined;
    // For an object or a list, the position of its key is clearer than that of the whole value.
    const pointAtKey = part === 'key' || length < path.length || node.type === 'object' || node.type === 'array';
    const target = pointAtKey && keyNode !== undefined ? keyNode : node;
    return positionAt(source.starts, target.offset, target.type === 'object' ? 1 : target.length);
  }
  return positionAt(source.starts, source.root.offset, 1);
}

interface Trouble {
  message: string;
  hint: string;
  /** The offset of the mistake, if it differs from the offset that the parser reported. */
  offset?: number;
}

function syntaxError(file: string, text: string, error: ParseError): McpxError {
  const found = text.slice(error.offset, error.offset + Math.max(1, error.length));
  const trouble = describe(printParseErrorCode(error.error), found, text, error.offset);
  const moved = trouble.offset !== undefined;
  const position = positionAt(lineStarts(text), trouble.offset ?? error.offset, moved ? 1 : error.length);
  const message = blockText({ message: trouble.message, file, text, position });
  const { line, column } = position;
  return new McpxError('config', message, { hint: trouble.hint, data: { file, line, column } });
}

function describe(code: string, found: string, text: string, offset: number): Trouble {
  const before = endOfPrevious(text, offset);
  if (before === 0 && found.trim() === '') {
    return { message: 'the file is empty', hint: 'begin with {"mcpServers": {}}' };
  }
  switch (code) {
    case 'CommaExpected':
      if (/^[}\]]/.test(found)) return unclosed(found === '}' ? ']' : '}', before);
      return { message: 'a comma is missing', hint: 'put a comma at the mark', offset: before };
    case 'ColonExpected':
      return { message: 'a colon is missing after the key', hint: 'write "key": value', offset: before };
    case 'PropertyNameExpected':
      return { message: 'a key in double quotes was expected', hint: 'write "key": value' };
    case 'ValueExpected':
      return {
        message: 'a value was expected',
        hint: 'write text in double quotes, a number, true, false, null, [] or {}',
      };
    case 'CloseBraceExpected':
      return unclosed('}', before);
    case 'CloseBracketExpected':
      return unclosed(']', before);
    case 'EndOfFileExpected':
      return { message: 'there is more text after the end of the config', hint: 'remove it, or one "}" before it' };
    case 'InvalidEscapeCharacter':
    case 'InvalidUnicode':
      return { message: 'a backslash inside text must be doubled', hint: 'write "C:\\\\folder" or "C:/folder"' };
    case 'UnexpectedEndOfString':
      return { message: 'the text is not closed', hint: 'end it with a double quote on the same line' };
    case 'UnexpectedEndOfComment':
      return { message: 'the comment is not closed', hint: 'end it with */' };
    case 'InvalidCharacter':
      return { message: 'the text contains a control character', hint: 'write a tab as \\t and a line break as \\n' };
    default:
      return { message: `${symbolText(found, text, offset)} is not valid here`, hint: symbolHint(found) };
  }
}

function unclosed(closer: string, offset: number): Trouble {
  return { message: `a "${closer}" is missing`, hint: `put "${closer}" at the mark`, offset };
}

/** Quotes the symbol only if it is a key; any other text may be a secret without its quotes. */
function symbolText(found: string, text: string, offset: number): string {
  const isKey = /^\s*:/.test(text.slice(offset + found.length));
  return isKey || isHarmless(found) ? JSON.stringify(maskText(found)) : 'text without double quotes';
}

function symbolHint(found: string): string {
  if (/^(true|false|null)$/i.test(found)) return `write ${found.toLowerCase()}`;
  if (/^\.\d/.test(found)) return `write 0${found}`;
  return 'keys and text need straight double quotes';
}

/** Returns the end of the last token before an offset, skipping whitespace and comments. */
function endOfPrevious(text: string, offset: number): number {
  const blanked = text
    .slice(0, offset)
    .replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
      part.startsWith('/') ? ' '.repeat(part.length) : part,
    );
  return blanked.trimEnd().length;
}
