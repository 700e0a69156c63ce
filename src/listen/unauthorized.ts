/** Requests without a right token: 401, and after too many wrong ones from one address 429. A right token is never held back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RPC_CODES } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { createWrongTokens } from '../policy/wrong-tokens.ts';
import { proxiedAddress } from './guard.ts';
import { refuse } from './refuse.ts';

/** Answers a request that carries no right token. */
export type Unauthorized = (request: IncomingMessage, response: ServerResponse, trustProxy: boolean) => void;

export function createUnauthorized({ log }: { log: Pick<Log, 'warn'> }): Unauthorized {
  const wrong = createWrongTokens();
  return (request, response, trustProxy) => {
    // A client that sends none asks whether it needs one.
    const given = request.headers.authorization !== undefined;
    const address = proxiedAddress(request, trustProxy);
    const braked = given ? wrong.count(address) : undefined;
    if (braked === undefined) return refuse(response, 401, 'Unauthorized', { 'WWW-Authenticate': 'Bearer' });
    const { wait, first } = braked;
    if (first) log.warn(`many wrong tokens come from "${address}": further ones get 429 for ${wait} s`);
    const message = `too many wrong tokens: try again in ${wait} s`;
    const hint = 'a right token is accepted at once; correct the header "Authorization: Bearer <token>"';
    const headers = { 'Retry-After': String(wait), Connection: 'close' };
    refuse(response, 429, { message, hint, rpc: RPC_CODES.auth }, headers);
  };
}
