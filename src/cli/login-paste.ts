/** Reads the address of the last page of a sign-in, for a browser on another machine, which cannot reach the callback. */
import { createInterface } from 'node:readline/promises';
import { messageOf } from '../errors.ts';
import { askOnTerminal, TERMINAL } from './question.ts';
import { status } from './status-lines.ts';

export interface Pastable {
  /** Throws if the text is not the address. */
  paste(redirected: string): void;
  cancel(): void;
}

/** True if a user can type the address. */
export function isTyped(): boolean {
  return TERMINAL.input.isTTY === true;
}

/** Reads lines from the terminal or the pipe until one completes the sign-in. Ctrl-C on the terminal cancels it. */
export async function readPasted(pending: Pastable, signal: AbortSignal): Promise<void> {
  if (isTyped())
    status.info(
      'if the browser is on another machine, paste the address of the last page (it begins with http://127.0.0.1):',
    );
  try {
    for await (const line of isTyped() ? typedLines(signal) : createInterface({ input: TERMINAL.input, signal }))
      if (isTaken(line, pending)) return;
  } catch {
    // If the browser came first, there is nothing left to cancel.
    pending.cancel();
  }
}

async function* typedLines(signal: AbortSignal): AsyncGenerator<string> {
  for (;;) {
    const line = await askOnTerminal('> ', signal);
    if (line === undefined) return;
    yield line;
  }
}

function isTaken(line: string, pending: Pick<Pastable, 'paste'>): boolean {
  try {
    pending.paste(line);
    return true;
  } catch (error) {
    status.warn(messageOf(error));
    return false;
  }
}
