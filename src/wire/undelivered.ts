/** The mark of a failure where the message certainly did not reach the far side, so that it may be sent again. */
import { type ErrorDetails, McpxError } from '../errors.ts';
import { isRecord } from './message.ts';

export function undelivered(message: string, details: Omit<ErrorDetails, 'data'> = {}): McpxError {
  return new McpxError('unreachable', message, { ...details, data: { delivered: false } });
}

export function isUndelivered(error: unknown): boolean {
  return error instanceof McpxError && isRecord(error.data) && error.data.delivered === false;
}
