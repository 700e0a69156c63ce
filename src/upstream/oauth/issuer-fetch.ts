/** Fetches metadata, keys and answers about tokens from the issuer of the access tokens of the gateway. */
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts';
import { createIssuerGuard } from './network-guard.ts';

/** Milliseconds until a response has to be complete; requests of clients wait for it. */
const TIMEOUT = 10_000;

/** Creates the fetch for a URL of the config and for those that its metadata names; redirects are not followed. */
export function createIssuerFetch(url: string): GuardedFetch {
  return createGuardedFetch({
    guard: createIssuerGuard(url),
    name: 'issuer',
    subject: 'the issuer of access tokens',
    timeout: TIMEOUT,
  });
}
