/** Formats JSON rows as a table: Markdown, CSV or TSV. */
import { rejectInput } from './input.ts';

export const FORMATS = ['markdown', 'csv', 'tsv'] as const;
export type Format = (typeof FORMATS)[number];

const MAX_ROWS = 10_000;
const MAX_COLUMNS = 100;

export interface Table {
  columns: string[];
  rows: string[][];
}

/** Reads the rows of a table; by default the columns are in the order in which the rows first name them. */
export function tableOf(value: unknown, wanted?: string[]): Table {
  if (!Array.isArray(value)) rejectInput('"value" must be a list of objects');
  if (value.length > MAX_ROWS) rejectInput(`the list has ${value.length} rows; the limit is ${MAX_ROWS}`);
  const records = value.map((row) => new Map(Object.entries(isObject(row) ? row : { value: row })));
  const columns = wanted ?? [...new Set(records.flatMap((record) => [...record.keys()]))];
  if (columns.length > MAX_COLUMNS) rejectInput(`the rows have ${columns.length} columns; the limit is ${MAX_COLUMNS}`);
  return { columns, rows: records.map((record) => columns.map((column) => cell(record.get(column)))) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function writeTable({ columns, rows }: Table, format: Format): string {
  return WRITERS[format]([columns, ...rows]).join('\n');
}

const WRITERS = {
  csv: (lines) =>
    lines.map((line) =>
      line.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(','),
    ),
  tsv: (lines) => lines.map((line) => line.map((text) => text.replace(/[\t\r\n]+/g, ' ')).join('\t')),
  markdown: (lines) => {
    const [head = [], ...body] = lines.map((line) =>
      line.map((text) =>
        text
          .replace(/[\r\n]+/g, ' ')
          .replaceAll('\\', '\\\\')
          .replaceAll('|', '\\|'),
      ),
    );
    return [head, head.map(() => '---'), ...body].map((line) => `| ${line.join(' | ')} |`);
  },
} satisfies Record<Format, (lines: string[][]) => string[]>;
