/** Rejects requests without a valid token with 401, and with 429 after too many invalid ones from one address. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RPC_CODES } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { createWrongTokens } from '../../policy/wrong-tokens.ts';
import { rejectRequest } from './error-response.ts';
import { proxiedAddress } from './guard.ts';
import { SEND_TOKEN } from './unknown-routes.ts';

/** Sends the error response to a request without a valid token. */
export type Unauthorized = (request: IncomingMessage, response: ServerResponse, trustProxy: boolean) => void;

const MISSING = {
  message: 'Unauthorized: this gateway takes a token, and the request has none in "Authorization: Bearer <token>"',
  hint: SEND_TOKEN,
};
const WRONG = {
  message: 'Unauthorized: the token in "Authorization: Bearer <token>" is not known to this gateway',
  hint: SEND_TOKEN,
};

/** Returns the challenge, with an error only if a token was sent. https://www.rfc-editor.org/rfc/rfc6750#section-3 */
function challenge(given: boolean): Record<string, string> {
  const error = 'error="invalid_token", error_description="the token is not known to this gateway"';
  return { 'WWW-Authenticate': given ? `Bearer ${error}` : 'Bearer' };
}

export function createUnauthorized({ log }: { log: Pick<Log, 'warn'> }): Unauthorized {
  const wrong = createWrongTokens();
  return (request, response, trustProxy) => {
    // A request without a token is not counted: clients use it to find out if they need one.
    const given = request.headers.authorization !== undefined;
    const address = proxiedAddress(request, trustProxy);
    const braked = given ? wrong.count(address) : undefined;
    if (braked === undefined) return rejectRequest(response, 401, given ? WRONG : MISSING, challenge(given));
    const { wait, first } = braked;
    if (first) log.warn(`many wrong tokens come from "${address}": further ones get 429 for ${wait} s`);
    const message = `too many wrong tokens: try again in ${wait} s`;
    const hint = 'a right token is accepted at once; correct the header "Authorization: Bearer <token>"';
    const headers = { 'Retry-After': String(wait), Connection: 'close' };
    rejectRequest(response, 429, { message, hint, rpc: RPC_CODES.auth }, headers);
  };
}
