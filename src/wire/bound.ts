/** The bound on what is sent: one message, in bytes. */
import { McpxError } from '../errors.ts';
import { sizeOf } from './verbatim.ts';

/** Throws where a message, as it is written, is over the bound by more than `slack` bytes. */
export function checkSize(written: string | readonly Buffer[], maxBytes: number, slack = 0): void {
  if (isWithin(written, maxBytes + slack)) return;
  throw new McpxError('overloaded', `a message is over the limit of ${maxBytes} bytes`, {
    hint: 'raise "limits.messageBytes" in the config',
  });
}

function isWithin(written: string | readonly Buffer[], most: number): boolean {
  if (typeof written !== 'string') return sizeOf(written) <= most;
  // A character is three bytes at most, so that what is short need not be counted.
  return written.length <= most / 3 || Buffer.byteLength(written) <= most;
}
