/** Text in the columns of a terminal: width, truncation, line breaks and tables. Chinese, Japanese and Korean letters take two columns. */
import measure from 'fast-string-truncated-width';

const ELLIPSIS = '…';
/** Columns that a shortened cell keeps at least. */
const MIN_CELL = 12;

/** Returns the number of columns that a terminal needs for the text; colours take none. */
export function widthOf(text: string): number {
  return measure(text).width;
}

/** Returns the text within `max` columns; a truncated text ends in "…", which counts. Colours are removed if it is truncated. */
export function cutToWidth(text: string, max: number): string {
  if (widthOf(text) <= max) return text;
  const { index } = measure(text, { limit: max, ellipsis: ELLIPSIS, ellipsisWidth: 1 });
  return `${text.slice(0, index).trimEnd()}${ELLIPSIS}`;
}

export function padToWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/**
 * The places where a line may end: after white space, and beside Chinese letters, but not before closing and after opening
 * punctuation.
 */
const BREAKS =
  /(?<=\s)|(?<=[\p{Script=Han}\u3000-\u303F\uFF00-\uFFEF])(?<![（《“‘【])(?![\s，。、；：！？）》”’】…])|(?<=[^\s（《“‘【])(?=\p{Script=Han})/u;

/** Splits a text into lines of at most `width` columns. A word is never broken, so a longer one has a line of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const part of text.split(BREAKS)) {
    if (line !== '' && widthOf((line + part).trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += part;
  }
  return [...lines, line.trimEnd()];
}

/**
 * Formats rows in columns, two spaces apart; the last column is not padded. With a width, cells are shortened to fit; if
 * the names of the first column leave no room for the others, each name has a line of its own.
 */
export function tableText(rows: string[][], width?: number): string {
  const natural = columnWidths(rows);
  if (width === undefined) return rows.map((row) => rowText(row, natural)).join('\n');
  const [first = 0, ...others] = natural;
  const least = others.reduce((sum, one) => sum + Math.min(one, MIN_CELL) + 2, first);
  if (least <= width) return rows.map((row) => rowText(row, fitted(natural, width))).join('\n');
  const widths = fitted([0, ...others], width).slice(1);
  return rows.map(([name = '', ...rest]) => `${name}\n  ${rowText(rest, widths)}`.trimEnd()).join('\n');
}

function columnWidths(rows: string[][]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
  }
  return widths;
}

/** Shortens the widest column until the row fits. The first column is kept: it holds the names that a user types next. */
function fitted([first = 0, ...others]: number[], width: number): number[] {
  const widths = others.map((one) => Math.min(one, width));
  let over = widths.reduce((sum, one) => sum + one + 2, first) - width;
  for (; over > 0; over--) {
    const widest = Math.max(...widths);
    if (widest <= MIN_CELL) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return [first, ...widths];
}

function rowText(row: string[], widths: number[]): string {
  const cells = row.map((cell, index) => {
    const width = widths[index] ?? 0;
    return index === row.length - 1 ? cutToWidth(cell, width) : padToWidth(cutToWidth(cell, width), width);
  });
  return cells.join('  ').trimEnd();
}

/** Formats terms with their texts beside them; a text that needs several lines is aligned, and a long term has a line of its own. */
export function definitionList(
  rows: readonly (readonly [term: string, text: string])[],
  { width, indent = 2, column }: { width: number; indent?: number; column?: number },
): string {
  const at = Math.min(column ?? definitionColumn(rows, indent), Math.floor(width / 2));
  const lines = rows.flatMap(([term, text]) => {
    const head = ' '.repeat(indent) + term;
    const wrapped = wrapText(text, Math.max(MIN_CELL, width - at));
    const isBeside = widthOf(head) + 2 <= at;
    const [first = '', ...rest] = isBeside ? wrapped : ['', ...wrapped];
    return [isBeside ? padToWidth(head, at) + first : head, ...rest.map((line) => ' '.repeat(at) + line)];
  });
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Columns that a term may take before its text moves to the next line. */
const MAX_TERM = 30;

/** Returns the column at which the texts of these terms begin. */
export function definitionColumn(rows: readonly (readonly [term: string, text: string])[], indent = 2): number {
  return Math.min(MAX_TERM, Math.max(...rows.map(([term]) => widthOf(term))) + indent + 2);
}
