/** The question before a tool runs that is not declared read-only, on the terminal. */
import { createInterface } from 'node:readline/promises';
import { lookup, worldOf } from '../config/world.ts';
import { McpxError } from '../errors.ts';
import type { Confirm } from '../router/confirm.ts';
import type { Flags } from './command.ts';

/** `--yes` answers for the person; without a terminal nobody can be asked. */
export function confirmOnTerminal(flags: Flags, stop: AbortSignal): Confirm {
  return async (question) => {
    if (flags.has('yes')) return 'accept';
    if (process.stdin.isTTY !== true || process.stderr.isTTY !== true || lookup('MCPX_NO_INPUT', worldOf())) {
      throw new McpxError('refused', 'the tool is not declared read-only, and there is no terminal to confirm it on', {
        hint: 'add --yes',
      });
    }
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    try {
      const answer = await terminal.question(`${question} [y/N] `, { signal: stop });
      return /^y(?:es)?$/i.test(answer.trim()) ? 'accept' : 'decline';
    } finally {
      terminal.close();
    }
  };
}
