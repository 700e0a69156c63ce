/** Output of commands: results go to stdout, all other lines to stderr, with colours on a terminal. */
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { McpxError, messageOf, RpcError } from '../errors.ts';
import { tableText, widthOf, wrapText } from '../render/columns.ts';
import { inLanguage } from './language/language.ts';
import { createSpinner } from './spinner.ts';

/** Prints the result of a command. Resolves when it is written, so that an exit cannot truncate it. */
export function print(text: string): Promise<void> {
  eraseWait();
  return new Promise((resolve) => {
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`, () => resolve());
  });
}

/** Prints a sentence to stdout in the language of the user. A result that a program may read goes to `print`. */
export function say(text: string): Promise<void> {
  return print(inLanguage(text));
}

/** Like `print`, without changing the content. */
export function printExactly(content: Uint8Array | string): Promise<void> {
  eraseWait();
  return new Promise((resolve) => {
    process.stdout.write(content, () => resolve());
  });
}

/** True if stdout is a terminal, not a file or a pipe. */
export function isOnTerminal(): boolean {
  return process.stdout.isTTY === true;
}

export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value, null, 2));
}

/** Returns a stream to stdout, and redirects all other writes to stdout to stderr. */
export function takeStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) });
}

const spinner = createSpinner(process.stderr);

/** Shows a text on stderr for as long as a command waits; undefined ends it. Only for terminals. */
export function showWait(text: string | undefined): void {
  if (text === undefined) spinner.stop();
  else spinner.start(inLanguage(text));
}

/** True while a wait is shown, whose text may be replaced. */
export function isWaitShown(): boolean {
  return spinner.isRunning;
}

function eraseWait(): void {
  if (spinner.isRunning) spinner.erase();
}

/** Prints a line to stderr. */
export function note(text: string): void {
  eraseWait();
  process.stderr.write(`${inLanguage(text)}\n`);
}

/** Prints `warning: …` to stderr. */
export function warn(text: string): void {
  note(wrapped(labelled('yellow', 'warning:', inLanguage(text)), { stream: process.stderr }));
}

/** Prints `error: …`, a blank line, and `hint: …` to stderr. */
export function printError(error: unknown): void {
  note(wrapped(labelled('red', 'error:', inLanguage(errorText(error))), { stream: process.stderr }));
  const hint = error instanceof McpxError ? error.hint : undefined;
  if (hint !== undefined) note(`\n${hintText(hint, { stream: process.stderr })}`);
}

/** Prints the text of a tool's error to stderr as the server wrote it. */
export function noteToolError(text: string): void {
  eraseWait();
  process.stderr.write(`${labelled('red', 'error:', text)}\n`);
}

function errorText(error: unknown): string {
  if (error instanceof RpcError) return `${error.message} (${error.code})`;
  if (error instanceof McpxError) return error.message;
  const detail = process.env.MCPX_LOG_LEVEL === 'debug' && error instanceof Error ? error.stack : undefined;
  return detail ?? messageOf(error);
}

type Paint = 'red' | 'yellow' | 'green' | 'cyan' | 'bold' | 'dim';

/** Colours text for stderr if it is a terminal and colours are not disabled. */
export function paint(style: Paint, text: string): string {
  return useColor(process.stderr) ? styleText(style, text) : text;
}

/** Puts a coloured label before a text. After a Chinese colon there is no space. `color` is that of the stream. */
export function labelled(style: Paint, label: string, text: string, color = paint): string {
  const own = inLanguage(label);
  return `${color(style, own)}${own.endsWith('：') ? '' : ' '}${text}`;
}

/** Colours text for stdout, under the same conditions. */
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

/** Formats rows in columns. On a terminal, cells are shortened to its width; a file or a pipe gets them complete. */
export function table(rows: string[][]): string {
  return tableText(rows, terminalWidth());
}

/** Returns the columns of the terminal at stdout; undefined for a file or a pipe. */
function terminalWidth(): number | undefined {
  return isOnTerminal() && process.stdout.columns > 0 ? process.stdout.columns : undefined;
}

interface Place {
  stream?: NodeJS.WriteStream;
  /** Spaces before the text, which further lines get too. */
  indent?: number;
}

/** Breaks text between words at the width of the terminal, stdout by default. A file or a pipe gets it unchanged. */
export function wrapped(text: string, { stream = process.stdout, indent = 0 }: Place = {}): string {
  if (stream.isTTY !== true || !(stream.columns > 0)) return text;
  const width = Math.max(TEXT_WIDTH.least, stream.columns) - indent;
  const broken = (line: string) =>
    widthOf(line) <= width ? line : wrapText(line, width).join(`\n${' '.repeat(indent)}`);
  return text.split('\n').map(broken).join('\n');
}

/** A line to copy into a shell, which a break would split. */
const COMMAND = /^(?:mcpx|export|set|chmod|mkdir|curl|cd|npx|npm|sudo|-{1,2}\w)\b/;

/** Returns `hint: …`; a command stays on one line. */
export function hintText(hint: string, place: Place = {}): string {
  const text = labelled('cyan', 'hint:', inLanguage(hint), place.stream === process.stderr ? paint : paintAnswer);
  return COMMAND.test(hint) ? text : wrapped(text, place);
}

/** Columns of help where the width is unknown, and the most that a line of text has: longer lines are hard to read. */
const TEXT_WIDTH = { unknown: 80, most: 100, least: 40 };

/** Returns the columns for running text on stdout. */
export function textWidth(): number {
  return Math.max(TEXT_WIDTH.least, Math.min(TEXT_WIDTH.most, terminalWidth() ?? TEXT_WIDTH.unknown));
}
