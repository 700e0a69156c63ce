/** Asks the user on the terminal before a tool runs that is not declared read-only. */
import { McpxError } from '../errors.ts';
import type { Confirm } from '../router/confirmation.ts';
import type { Flags } from './command.ts';
import { askYesNo, isInteractive, TERMINAL, type Terminal } from './question.ts';

/** Confirms with `--yes`, or by a question. Without a terminal, no question is possible. */
export function confirmOnTerminal(
  flags: Pick<Flags, 'has'>,
  signal: AbortSignal,
  terminal: Terminal = TERMINAL,
): Confirm {
  return async (question) => {
    if (flags.has('yes')) return 'accept';
    if (!isInteractive(terminal)) {
      throw new McpxError('refused', 'the tool is not declared read-only, and there is no terminal to confirm it on', {
        hint: 'add --yes',
      });
    }
    const isYes = await askYesNo(question, { signal, interrupted: 'interrupted: the tool did not run', terminal });
    return isYes ? 'accept' : 'decline';
  };
}
