/** Marks an error whose message certainly did not reach the peer, so that the message may be sent again. */
import { type ErrorDetails, McpxError } from '../errors.ts';
import { isRecord } from './message.ts';

export function undelivered(message: string, details: Omit<ErrorDetails, 'data'> = {}): McpxError {
  return new McpxError('unreachable', message, { ...details, data: { delivered: false } });
}

export function isUndelivered(error: unknown): boolean {
  return error instanceof McpxError && isRecord(error.data) && error.data.delivered === false;
}
