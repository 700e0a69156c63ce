/** The line of a file that a message is about, with a caret under the place; secrets on it are starred out. */
import { maskLine } from './redact.ts';

/** 1-based line and column (UTF-16 units, as editors count). */
export interface Position {
  offset: number;
  length: number;
  line: number;
  column: number;
}

export function positionAt(text: string, offset: number, length: number): Position {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { offset, length, line, column: offset - before.lastIndexOf('\n') };
}

export interface Block {
  message: string;
  file: string;
  text: string;
  position: Position;
}

/** What is wrong, then file:line:column, then the line and a caret. */
export function blockText({ message, file, text, position }: Block): string {
  const { line, column } = position;
  return [message, `  at ${file}:${line}:${column}`, ...excerpt(text, position)].join('\n');
}

/** Characters of a long line shown on either side of the place. */
const BEFORE = 50;
const AFTER = 50;

function excerpt(text: string, { line, column, length }: Position): string[] {
  const whole = maskLine((text.split('\n')[line - 1] ?? '').replace(/\r$/, ''));
  const start = column - 1 > BEFORE ? column - 1 - BEFORE : 0;
  const end = Math.max(column - 1 + Math.min(length, AFTER), start + BEFORE + AFTER);
  const [head, tail] = [start > 0 ? '…' : '', end < whole.length ? '…' : ''];
  const shown = `${head}${whole.slice(start, end)}${tail}`.replaceAll('\t', ' ');
  const lead = `${head}${whole.slice(start, column - 1)}`;
  const marked = whole.slice(column - 1, Math.min(column - 1 + Math.max(1, length), end));
  const gutter = String(line);
  return [
    `  ${gutter} | ${shown}`,
    `  ${' '.repeat(gutter.length)} | ${' '.repeat(width(lead))}${'^'.repeat(Math.max(1, width(marked)))}`,
  ];
}

/** Columns on a terminal: East Asian wide characters and emoji take two. */
function width(text: string): number {
  let columns = 0;
  for (const character of text) columns += WIDE.test(character) ? 2 : 1;
  return columns;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
