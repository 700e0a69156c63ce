/** Shows planned changes of files as a diff with masked secrets, and asks once whether to make them. */
import { readBytes } from '../client-config/client-file.ts';
import { maskedText } from '../client-config/masked-text.ts';
import type { Format } from '../client-config/text-editor.ts';
import { McpxError } from '../errors.ts';
import type { Invocation } from './command.ts';
import { compareLines } from './line-diff.ts';
import { paint, paintAnswer } from './output.ts';
import { askYesNo, isInteractive, TERMINAL, type Terminal } from './question.ts';

/** The number of unchanged lines around a change. */
const CONTEXT = 2;

export interface PlannedText {
  file: string;
  format: Format;
  before: string;
  after: string;
}

/** Returns the diff of one file. `isAnswer` is true if it goes to stdout. */
export async function diffOf({ file, format, before, after }: PlannedText, isAnswer: boolean): Promise<string> {
  const color = isAnswer ? paintAnswer : paint;
  const [old, fresh] = [await maskedText(before, format, file), await maskedText(after, format, file)];
  const { diff } = compareLines(linesOf(old), linesOf(fresh), CONTEXT);
  const lines = diff.split('\n').map((line) => {
    if (line.startsWith('+')) return color('green', line);
    return line.startsWith('-') ? color('red', line) : color('dim', line);
  });
  const isNew = readBytes(file) === undefined;
  return [color('bold', `${file}${isNew ? ' (new)' : ''}`), ...lines].join('\n');
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** True if the user agrees. Without a terminal, only `--yes` agrees. */
export async function agree(
  question: string,
  { flags, stop }: Pick<Invocation, 'flags' | 'stop'>,
  terminal: Terminal = TERMINAL,
): Promise<boolean> {
  if (flags.has('yes')) return true;
  if (!isInteractive(terminal)) {
    throw new McpxError('refused', 'there is no terminal on which the changes could be confirmed', {
      hint: 'add --yes to make them, or --print to see them',
    });
  }
  return askYesNo(question, { signal: stop, interrupted: 'interrupted: nothing was changed', terminal });
}
