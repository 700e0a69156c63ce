/** Asks a question on the terminal. Question and answer are on stderr, because stdout carries only the answer of a command. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { environmentOf, isAutomated, lookup } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import { inLanguage } from './language/language.ts';

/** The streams for a question; it is interactive if both are a terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean };
}

export const TERMINAL: Terminal = { input: process.stdin, output: process.stderr };

/** Resolves with the line that the user typed, or with undefined if Ctrl-D ended the input. Ctrl-C and the signal reject. */
export async function askOnTerminal(
  question: string,
  signal: AbortSignal,
  { input, output }: Terminal = TERMINAL,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output });
  const ended = once(terminal, 'close').then(() => undefined);
  const interrupted = new AbortController();
  // In raw mode Ctrl-C is a key, not a signal.
  terminal.once('SIGINT', () => interrupted.abort());
  const stopped = AbortSignal.any([signal, interrupted.signal]);
  let answer: string | undefined;
  try {
    answer = await Promise.race([terminal.question(inLanguage(question), { signal: stopped }), ended]);
  } catch (error) {
    // Node rejects for Ctrl-D too.
    if (stopped.aborted) throw error;
  } finally {
    // Without an answer the cursor is still on the line of the question.
    if (answer === undefined) output.write('\n');
    terminal.close();
  }
  return answer;
}

/** True if a question can be asked: both streams are a terminal, and neither MCPX_NO_INPUT nor CI is set. */
export function isInteractive({ input, output }: Terminal = TERMINAL): boolean {
  const world = environmentOf();
  const isAttended = !lookup('MCPX_NO_INPUT', world) && !isAutomated(world);
  return input.isTTY === true && output.isTTY === true && isAttended;
}

/** Asks a question whose usual answer is no. Throws `cancelled` with the message for Ctrl-C and the signal. */
export async function askYesNo(
  question: string,
  { signal, interrupted, terminal = TERMINAL }: { signal: AbortSignal; interrupted: string; terminal?: Terminal },
): Promise<boolean> {
  const answer = await askOnTerminal(`${inLanguage(question)} [y/N] `, signal, terminal).catch((cause: unknown) => {
    throw new McpxError('cancelled', interrupted, { cause });
  });
  return /^(?:y(?:es)?|是)$/i.test(answer?.trim() ?? '');
}
