/** The editor of TOML files. It replaces whole statements in the text, so comments and formatting of all others stay. */
import { parse, TomlError } from 'smol-toml';
import { isRecord, type JsonRecord, type Path } from '../config/json-data.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { TextEditor } from './text-editor.ts';
import { statementsOf, type TomlPair, type TomlStatement } from './toml-statements.ts';

export const tomlEditor: TextEditor = {
  parse: parseToml,
  set: (text, path, value) => add(remove(text, path), path.map(String), value),
  remove,
};

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    const { line, column } = cause instanceof TomlError ? cause : { line: 1, column: 1 };
    // The rest of the parser's message quotes lines, which may hold secrets.
    const reason = messageOf(cause)
      .split('\n')[0]
      ?.replace(/^Invalid TOML document: /, '');
    const hint = 'correct the file, or rename it';
    const data = { file, line, column };
    throw new McpxError('config', `${file}:${line}:${column}: the file is not valid TOML: ${reason}`, {
      hint,
      data,
      cause,
    });
  }
}

const isBelow = (path: readonly string[], above: readonly string[]) => above.every((key, index) => path[index] === key);

/** Removes the table and its subtables, the pair, or the member of an inline table at the path. */
function remove(text: string, keys: Path): string {
  const path = keys.map(String);
  const statements = statementsOf(text);
  const own = statements.filter((statement) => isBelow(statement.path, path));
  if (own.length > 0) return own.reduceRight((rest, statement) => withoutLines(rest, statement), text);
  const inner = statements.flatMap((statement) => memberAt(statement, path) ?? []);
  return inner.reduceRight((rest, { members, member }) => withoutMember(rest, members, member), text);
}

interface Member {
  members: TomlPair[];
  member: TomlPair;
}

function memberAt(pair: TomlPair, path: string[]): Member | undefined {
  if (pair.inline === undefined || !isBelow(path, pair.path)) return undefined;
  const { members } = pair.inline;
  const member = members.find((one) => isBelow(one.path, path));
  if (member !== undefined) return { members, member };
  return members.map((one) => memberAt(one, path)).find((found) => found !== undefined);
}

/** Removes the lines of a statement with a comment at their end, and one blank line of two that would be left together. */
function withoutLines(text: string, { start, end }: TomlStatement): string {
  const from = start - (/[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0);
  const tail = /^[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/.exec(text.slice(end))?.[0].length ?? 0;
  const [before, after] = [text.slice(0, from), text.slice(end + tail)];
  const isGap = before === '' || /\n\r?\n$/.test(before);
  return before + (isGap ? after.replace(/^(?:[ \t]*\r?\n)+/, '') : after);
}

/** Removes a member of an inline table with the comma after it, or before it. */
function withoutMember(text: string, members: TomlPair[], { start, end }: TomlPair): string {
  const index = members.findIndex((member) => member.start === start);
  const [previous, next] = [members[index - 1], members[index + 1]];
  if (next !== undefined) return text.slice(0, start) + text.slice(next.start);
  return text.slice(0, previous?.end ?? start) + text.slice(end);
}

function add(text: string, path: string[], value: unknown): string {
  const container = path.slice(0, -1);
  const statements = statementsOf(text);
  const inline = statements.flatMap((one) => inlineAt(one, container) ?? [])[0];
  if (inline !== undefined) return addMember(text, inline, `${keyOf(path.at(-1) ?? '')} = ${inlineText(value)}`);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const at = endOfGroup(text, statements, container);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  const gap = before === '' ? '' : before.endsWith('\n') ? eol : eol + eol;
  const rest = after === '' || /^\r?\n/.test(after) ? after : eol + after;
  return before + (/(?:^|\n)[ \t]*\r?\n$/.test(before) ? '' : gap) + tableLines(path, value).join(eol) + eol + rest;
}

function inlineAt(pair: TomlPair, path: string[]): TomlPair['inline'] {
  if (pair.inline === undefined || !isBelow(path, pair.path)) return undefined;
  if (pair.path.length === path.length) return pair.inline;
  return pair.inline.members.map((member) => inlineAt(member, path)).find((found) => found !== undefined);
}

function addMember(text: string, { members, close }: NonNullable<TomlPair['inline']>, member: string): string {
  const last = members.at(-1);
  if (last !== undefined) return `${text.slice(0, last.end)}, ${member}${text.slice(last.end)}`;
  return `${text.slice(0, close).trimEnd()} ${member} ${text.slice(close)}`;
}

/** Returns the offset after the last table of the group, or the end of the text. A header must not capture the pairs of others. */
function endOfGroup(text: string, statements: TomlStatement[], container: string[]): number {
  const last = statements.findLastIndex(({ path }) => isBelow(path, container));
  if (last < 0) return text.length;
  const next = statements.findIndex(({ isHeader }, index) => index > last && isHeader);
  const end = statements[next < 0 ? statements.length - 1 : next - 1]?.end ?? text.length;
  const line = text.indexOf('\n', end);
  return line < 0 ? text.length : line + 1;
}

/** Returns the lines of a table with subtables for objects, as Codex writes them. */
function tableLines(path: string[], value: unknown): string[] {
  const entries = Object.entries(isRecord(value) ? value : {});
  const simple = entries.filter(([, item]) => !isRecord(item));
  return [
    `[${path.map(keyOf).join('.')}]`,
    ...simple.map(([key, item]) => `${keyOf(key)} = ${inlineText(item)}`),
    ...entries.filter(([, item]) => isRecord(item)).flatMap(([key, item]) => ['', ...tableLines([...path, key], item)]),
  ];
}

function keyOf(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function inlineText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inlineText).join(', ')}]`;
  if (isRecord(value)) return `{ ${pairsOf(value).join(', ')} }`;
  if (typeof value !== 'string') return String(value);
  // Windows paths are readable without doubled backslashes.
  const isLiteral = value.includes('\\') && !/['\u0000-\u001f\u007f]/.test(value);
  return isLiteral ? `'${value}'` : JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

function pairsOf(record: JsonRecord): string[] {
  return Object.entries(record).map(([key, item]) => `${keyOf(key)} = ${inlineText(item)}`);
}
