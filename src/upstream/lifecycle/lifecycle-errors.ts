/** Error texts of the state machine of an upstream. */
import { McpxError, signInData } from '../../errors.ts';

/** Returns the message for the status, with the command that signs in if that is the remedy. */
export function withRemedy(failure: McpxError): string {
  const { message, hint } = failure;
  return signInData(failure) && hint !== undefined ? `${message}: ${hint}` : message;
}

export function stopped(name: string): McpxError {
  return new McpxError('unreachable', `server "${name}" is stopped`);
}
