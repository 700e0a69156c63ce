/** Rejects requests without a sufficient token with 401 or 403, and with 429 after too many wrong ones from one address. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RPC_CODES } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import type { TokenRefusal } from '../../policy/access-tokens.ts';
import { createWrongTokens } from '../../policy/wrong-tokens.ts';
import { rejectRequest } from './error-response.ts';
import { proxiedAddress } from './guard.ts';
import { challengeOf, hasOAuth } from './protected-resource.ts';
import type { Served } from './route.ts';
import { SEND_TOKEN, SIGN_IN } from './unknown-routes.ts';

export interface Unauthorized {
  /** Sends the error response to a request without a token, or with one that was refused. */
  reject(exchange: { request: IncomingMessage; response: ServerResponse }, served: Asked, refused?: TokenRefusal): void;
  /** True if the sender of a request has sent so many wrong tokens that further ones get 429. */
  isBraked(request: IncomingMessage, trustProxy: boolean): boolean;
}

type Asked = Pick<Served, 'settings' | 'gateway'>;

const MISSING = 'Unauthorized: this gateway takes a token, and the request has none in "Authorization: Bearer <token>"';
const WRONG: TokenRefusal = {
  status: 401,
  message: 'the token is not known to this gateway',
  hint: SEND_TOKEN,
  isGuess: true,
};

export function createUnauthorized({ log }: { log: Pick<Log, 'warn'> }): Unauthorized {
  const wrong = createWrongTokens();
  return {
    isBraked: (request, trustProxy) => wrong.isBraked(proxiedAddress(request, trustProxy)),
    reject({ request, response }, { settings, gateway }, refused) {
      // A request without a token is not counted: clients use it to find out if they need one.
      const why = request.headers.authorization === undefined ? undefined : (refused ?? WRONG);
      const address = proxiedAddress(request, settings.trustProxy);
      const braked = why?.isGuess ? wrong.count(address) : undefined;
      if (braked !== undefined) {
        if (braked.first)
          log.warn(`many wrong tokens come from "${address}": further ones get 429 for ${braked.wait} s`);
        return tooMany(response, braked.wait);
      }
      if (why?.status === 503)
        return rejectRequest(response, 503, { ...why, rpc: RPC_CODES.overloaded }, { 'Retry-After': '5' });
      const challenge = { 'WWW-Authenticate': challengeOf({ request, settings, gateway }, why) };
      if (why === undefined) {
        const hint = hasOAuth(settings) ? SIGN_IN : SEND_TOKEN;
        return rejectRequest(response, 401, { message: MISSING, hint }, challenge);
      }
      const message = why === WRONG ? UNKNOWN : `${why.status === 403 ? 'Forbidden' : 'Unauthorized'}: ${why.message}`;
      rejectRequest(response, why.status, { message, hint: why.hint }, challenge);
    },
  };
}

const UNKNOWN = 'Unauthorized: the token in "Authorization: Bearer <token>" is not known to this gateway';

function tooMany(response: ServerResponse, wait: number): void {
  const message = `too many wrong tokens: try again in ${wait} s`;
  const hint = 'a right token is accepted at once; correct the header "Authorization: Bearer <token>"';
  const headers = { 'Retry-After': String(wait), Connection: 'close' };
  rejectRequest(response, 429, { message, hint, rpc: RPC_CODES.auth }, headers);
}
