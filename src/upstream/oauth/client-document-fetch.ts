/** Fetches the document that describes an OAuth client of the gateway, from a URL that a stranger has named. */
import { createGuardedFetch } from './guarded-fetch.ts';
import { createPublicGuard } from './network-guard.ts';

/** Milliseconds until the document has to be complete; a user waits for it. */
const TIMEOUT = 5000;

/** Redirects are not followed. Rejects if the document is on a forbidden network or cannot be fetched. */
export async function fetchClientDocument(
  url: string,
  allowLoopback: boolean,
): Promise<{ status: number; text: string }> {
  const guard = createPublicGuard(allowLoopback);
  const fetch = createGuardedFetch({ guard, name: 'OAuth client', signal: AbortSignal.timeout(TIMEOUT) });
  const response = await fetch(url, { headers: { accept: 'application/json' } });
  return { status: response.status, text: await response.text() };
}
