/** Enforces the maximum size of one sent message, in bytes. */
import { McpxError } from '../errors.ts';
import { sizeOf } from './raw-result.ts';

/** Throws if a serialized message is over the limit by more than `slack` bytes. */
export function checkSize(written: string | readonly Buffer[], maxBytes: number, slack = 0): void {
  if (isWithin(written, maxBytes + slack)) return;
  throw new McpxError('overloaded', `a message is over the limit of ${maxBytes} bytes`, {
    hint: 'raise "limits.messageBytes" in the config',
  });
}

function isWithin(written: string | readonly Buffer[], most: number): boolean {
  if (typeof written !== 'string') return sizeOf(written) <= most;
  // A UTF-16 code unit takes at most three bytes, so a short text need not be measured.
  return written.length <= most / 3 || Buffer.byteLength(written) <= most;
}
