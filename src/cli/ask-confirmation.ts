/** Asks the user on the terminal before a tool runs that is not declared read-only. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { environmentOf, lookup } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import type { Confirm, Verdict } from '../router/confirmation.ts';
import type { Flags } from './command.ts';

/** The streams for a prompt; it is interactive if both are a terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean };
}

/** Confirms with `--yes`, or by a prompt. Without a terminal, no prompt is possible. */
export function confirmOnTerminal(
  flags: Pick<Flags, 'has'>,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Confirm {
  return async (question) => {
    if (flags.has('yes')) return 'accept';
    if (input.isTTY !== true || output.isTTY !== true || lookup('MCPX_NO_INPUT', environmentOf())) {
      throw new McpxError('refused', 'the tool is not declared read-only, and there is no terminal to confirm it on', {
        hint: 'add --yes',
      });
    }
    return ask(`${question} [y/N] `, signal, { input, output });
  };
}

/** Shows the prompt. Ctrl-D ends the input and declines; Ctrl-C arrives as a key and cancels, as SIGINT does. */
function ask(question: string, signal: AbortSignal, { input, output }: Terminal): Promise<Verdict> {
  const terminal = createInterface({ input, output });
  let answered = false;
  return new Promise<Verdict>((resolve, reject) => {
    const interrupted = () => {
      reject(new McpxError('cancelled', 'interrupted: the tool did not run'));
      terminal.close();
    };
    terminal.once('SIGINT', interrupted);
    terminal.once('close', () => {
      signal.removeEventListener('abort', interrupted);
      // Without an answer the cursor is still on the line of the prompt.
      if (!answered) output.write('\n');
      resolve('decline');
    });
    terminal.question(question, (answer) => {
      answered = true;
      resolve(/^y(?:es)?$/i.test(answer.trim()) ? 'accept' : 'decline');
      terminal.close();
    });
    if (signal.aborted) interrupted();
    else signal.addEventListener('abort', interrupted, { once: true });
  });
}
