/** Asks the user on the terminal before a tool runs that is not declared read-only. */
import { environmentOf, lookup } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import type { Confirm } from '../router/confirmation.ts';
import type { Flags } from './command.ts';
import { askOnTerminal, TERMINAL, type Terminal } from './question.ts';

/** Confirms with `--yes`, or by a question. Without a terminal, no question is possible. */
export function confirmOnTerminal(
  flags: Pick<Flags, 'has'>,
  signal: AbortSignal,
  terminal: Terminal = TERMINAL,
): Confirm {
  return async (question) => {
    if (flags.has('yes')) return 'accept';
    const { input, output } = terminal;
    if (input.isTTY !== true || output.isTTY !== true || lookup('MCPX_NO_INPUT', environmentOf())) {
      throw new McpxError('refused', 'the tool is not declared read-only, and there is no terminal to confirm it on', {
        hint: 'add --yes',
      });
    }
    const answer = await askOnTerminal(`${question} [y/N] `, signal, terminal).catch((cause: unknown) => {
      throw new McpxError('cancelled', 'interrupted: the tool did not run', { cause });
    });
    return /^y(?:es)?$/i.test(answer?.trim() ?? '') ? 'accept' : 'decline';
  };
}
