/** The question before a tool runs that is not declared read-only, on the terminal. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { lookup, worldOf } from '../config/world.ts';
import { McpxError } from '../errors.ts';
import type { Confirm, Verdict } from '../router/confirm.ts';
import type { Flags } from './command.ts';

/** Where a person sits, if both ends are a terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean };
}

/** `--yes` answers for the person; without a terminal nobody can be asked. */
export function confirmOnTerminal(
  flags: Pick<Flags, 'has'>,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Confirm {
  return async (question) => {
    if (flags.has('yes')) return 'accept';
    if (input.isTTY !== true || output.isTTY !== true || lookup('MCPX_NO_INPUT', worldOf())) {
      throw new McpxError('refused', 'the tool is not declared read-only, and there is no terminal to confirm it on', {
        hint: 'add --yes',
      });
    }
    return ask(`${question} [y/N] `, signal, { input, output });
  };
}

/** Ctrl-D, which ends the input, declines; Ctrl-C, which the terminal hands over as a key, cancels as the signal does. */
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
      // What comes next begins on a line of its own; after an answer it does so by itself.
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
