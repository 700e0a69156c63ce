/** The question before a tool runs that is not declared read-only, on the terminal. */
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { lookup, worldOf } from '../config/world.ts';
import { McpxError } from '../errors.ts';
import type { Confirm } from '../router/confirm.ts';
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
    const terminal = createInterface({ input, output });
    try {
      const answer = await terminal.question(`${question} [y/N] `, { signal });
      return /^y(?:es)?$/i.test(answer.trim()) ? 'accept' : 'decline';
    } finally {
      terminal.close();
    }
  };
}
