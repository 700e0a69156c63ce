/** Multi round-trip requests: results that ask for input, and the retry with the input responses. */
import { isRecord, type Params } from '../wire/message.ts';

/** The input responses that a client sends with the retry of a request. */
export interface Inputs {
  inputResponses?: unknown;
  requestState?: string;
}

/**
 * A result that asks the client for input; the client retries the request with it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export interface InputRequired extends Params {
  resultType: 'input_required';
}

export function asksForInput(result: unknown): result is InputRequired {
  return isRecord(result) && result.resultType === 'input_required';
}
