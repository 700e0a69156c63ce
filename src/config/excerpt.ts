/** Prints the line of a file that a message is about, with a caret under the position and with secrets masked. */
import { maskSource } from './redacted-source.ts';

/** A range in a text. Line and column are 1-based and count UTF-16 units, as editors do. */
export interface Position {
  offset: number;
  length: number;
  line: number;
  column: number;
}

/** Returns the offsets at which lines begin. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

export function positionAt(starts: readonly number[], offset: number, length: number): Position {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { offset, length, line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

export interface Block {
  message: string;
  file: string;
  text: string;
  position: Position;
}

/** Returns the message, then `file:line:column`, then the line with a caret below it. */
export function blockText({ message, file, text, position }: Block): string {
  const { line, column } = position;
  return [message, `  at ${file}:${line}:${column}`, ...excerpt(text, position)].join('\n');
}

/** The number of characters of a long line that are shown before and after the position. */
const BEFORE = 50;
const AFTER = 50;

function excerpt(text: string, { line, column, length }: Position): string[] {
  const whole = (maskSource(text).split('\n')[line - 1] ?? '').replace(/\r$/, '');
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

/** Returns the number of terminal columns; East Asian wide characters and emoji take two. */
function width(text: string): number {
  let columns = 0;
  for (const character of text) columns += WIDE.test(character) ? 2 : 1;
  return columns;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
