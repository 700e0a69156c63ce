/** What commands print: answers on stdout, everything else on stderr, and whether a person is looking. */
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { McpxError, messageOf, RpcError } from '../errors.ts';

/** The answer of a command; resolves when it is written, so that an exit cannot cut it. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`, () => resolve());
  });
}

/** The same for what must arrive exactly as it is. */
export function printExactly(content: Uint8Array | string): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(content, () => resolve());
  });
}

/** Whether a person sees the answer, and no file or program gets it. */
export function isOnTerminal(): boolean {
  return process.stdout.isTTY === true;
}

export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value, null, 2));
}

/** Keeps stdout for one writer: whatever anybody else prints from now on goes to stderr. */
export function takeStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) });
}

/** A line beside the answer. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** `error: …`, a blank line, `hint: …`. */
export function printError(error: unknown): void {
  note(`${paint('red', 'error:')} ${errorText(error)}`);
  const hint = error instanceof McpxError ? error.hint : undefined;
  if (hint !== undefined) note(`\n${paint('cyan', 'hint:')} ${hint}`);
}

function errorText(error: unknown): string {
  if (error instanceof RpcError) return `${error.message} (${error.code})`;
  if (error instanceof McpxError) return error.message;
  const detail = process.env.MCPX_LOG_LEVEL === 'debug' && error instanceof Error ? error.stack : undefined;
  return detail ?? messageOf(error);
}

type Paint = 'red' | 'yellow' | 'green' | 'cyan' | 'bold' | 'dim';

/** Colour on stderr where a person sees it and has not said no. */
export function paint(style: Paint, text: string): string {
  return useColor(process.stderr) ? styleText(style, text) : text;
}

/** The same for stdout. */
export function paintAnswer(style: Paint, text: string): string {
  return useColor(process.stdout) ? styleText(style, text) : text;
}

function useColor(stream: NodeJS.WriteStream): boolean {
  return (
    stream.isTTY === true &&
    !process.env.NO_COLOR &&
    process.env.TERM !== 'dumb' &&
    !process.argv.includes('--no-color')
  );
}

/** Rows in columns, two spaces apart; the last column is not padded. */
export function table(rows: string[][]): string {
  const widths = rows.reduce<number[]>((max, row) => row.map((cell, i) => Math.max(max[i] ?? 0, cell.length)), []);
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
