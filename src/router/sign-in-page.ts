/** Offers the sign-in page of a server to a client that can open pages (URL elicitation), and waits until the user has signed in. */
import { randomUUID } from 'node:crypto';
import { type SignInData, signInData } from '../errors.ts';
import type { PendingSignIn } from '../upstream/oauth/oauth.ts';
import { isRecord } from '../wire/message.ts';
import type { RequestContext } from './request-context.ts';
import { declares, withServer } from './server-requests.ts';

/** Resolves with true if the user has signed in, so that the call can be sent again; false if the error stays. */
export type OfferSignIn = (error: unknown, way: RequestContext) => Promise<boolean>;

/** Begins a sign-in in the browser. */
export type BeginSignIn = (needed: SignInData) => Promise<Pick<PendingSignIn, 'url' | 'done' | 'cancel'>>;

/** Timeout in milliseconds for the answer of the client; long, because a user answers. */
const PATIENCE = 10 * 60_000;

interface SharedPage {
  begun: ReturnType<BeginSignIn>;
  /** The number of offers that wait for it; without any the sign-in is cancelled. */
  users: number;
}

/** Creates the offers of one process: all clients get the same page, and each client gets it once at a time. */
export function createSignInOffers(begin: BeginSignIn): OfferSignIn {
  const pages = new Map<string, SharedPage>();
  const offers = new Map<string, Promise<boolean>>();

  const borrow = (needed: SignInData) => {
    const key = JSON.stringify([needed.signIn, needed.scope]);
    const shared = pages.get(key) ?? { begun: begin(needed), users: 0 };
    pages.set(key, shared);
    shared.users += 1;
    const giveBack = () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      pages.delete(key);
      shared.begun.then(
        (page) => page.cancel(),
        () => undefined,
      );
    };
    return { begun: shared.begun, giveBack };
  };

  return async (error, way) => {
    const needed = signInData(error);
    const { ask, caller } = way;
    if (needed === undefined || ask === undefined || !declares(caller.capabilities.elicitation, 'url')) return false;
    const key = JSON.stringify([caller.key, needed.signIn, needed.scope]);
    const running = offers.get(key);
    if (running !== undefined) return running;
    const { begun, giveBack } = borrow(needed);
    const offer = begun
      .then((page) => signedIn(page, needed, { ...way, ask }))
      // The error of the call names the command, which shows the reason.
      .catch(() => false)
      .finally(() => {
        offers.delete(key);
        giveBack();
      });
    offers.set(key, offer);
    return offer;
  };
}

/** Sends the page to the client; resolves with true after the sign-in, also if the client has not answered yet. */
async function signedIn(
  page: Pick<PendingSignIn, 'url' | 'done'>,
  { signIn: server }: SignInData,
  { ask, notify, signal }: RequestContext & { ask: NonNullable<RequestContext['ask']> },
): Promise<boolean> {
  const elicitationId = randomUUID();
  const message = `Sign in to "${server}" on this page; the call then goes on by itself.`;
  const params = withServer(server, { mode: 'url', elicitationId, url: page.url, message });
  const over = new AbortController();
  const abort = () => over.abort();
  signal?.addEventListener('abort', abort, { once: true });
  const cancelled = new Promise<boolean>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(false), { once: true });
  });
  const done = page.done.then(() => true);
  const answered = ask('elicitation/create', params, { signal: over.signal, timeout: PATIENCE }).then((answer) =>
    isRecord(answer) && answer.action === 'accept' ? done : false,
  );
  try {
    const isOver = await Promise.race([done, answered, cancelled]);
    if (isOver) notify?.('notifications/elicitation/complete', { elicitationId });
    return isOver;
  } finally {
    signal?.removeEventListener('abort', abort);
    // A client that has not answered yet need not answer any more.
    answered.catch(() => undefined);
    over.abort();
  }
}
