/** The roots of each client: requested when a server needs them, and cached until the client reports a change. */
import { BoundedMap } from '../../bounded-map.ts';
import { cancelled } from '../../errors.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { RequestOptions } from '../../wire/peer.ts';
import type { ClientIdentity } from '../client-identity.ts';

/** Roots as the client sent them. `refused` = the client sent none. */
export type Roots = readonly Params[] | 'refused';

/**
 * The roots are cached by session. A client without one is asked again for each request, because nothing tells two
 * windows of one program apart.
 */
export interface RootsMemory {
  /** Returns the cached roots of a client; undefined if the client has to be asked. */
  known(caller: ClientIdentity): Roots | undefined;
  /** Requests the roots from the client unless they are cached. Rejects only if the call was cancelled meanwhile. */
  learn(caller: ClientIdentity, call: Pick<RequestOptions, 'onServerRequest' | 'signal'>): Promise<Roots>;
  /** Records that a session has reported a change: its roots are requested again. */
  changed(key: string): void;
  /** Drops the roots of a session that has ended. */
  forget(key: string): void;
}

/** Milliseconds that a call waits for the client's response. */
const PATIENCE = 10_000;
/** Milliseconds that a refusal is cached, or the roots of a client that reports no changes. */
const LIFE = 60_000;
/** The maximum number of cached clients; the oldest entries are dropped first. */
const MAX_CLIENTS = 1000;

interface Said {
  roots: Roots;
  /** The number of changes that the client had reported when it was asked. */
  revision: number;
  /** Expiry in monotonic ms. */
  until: number;
}

export function createRootsMemory(): RootsMemory {
  const said = new BoundedMap<string, Said>(MAX_CLIENTS);
  /** Concurrent calls of one client share a request; undefined if the call that sent it was cancelled. */
  const asking = new Map<string, Promise<Roots | undefined>>();
  /** The number of changes that each session has reported. */
  const revisions = new Map<string, number>();
  const revisionOf = ({ key }: ClientIdentity) => revisions.get(key) ?? 0;

  const known = (caller: ClientIdentity): Roots | undefined => {
    const found = said.get(caller.key);
    if (found === undefined || found.revision !== revisionOf(caller)) return undefined;
    return performance.now() < found.until ? found.roots : undefined;
  };

  const note = (caller: ClientIdentity, roots: Roots, revision: number) => {
    const holds = roots !== 'refused' && tellsOfChanges(caller);
    const until = holds ? Number.POSITIVE_INFINITY : performance.now() + LIFE;
    said.set(caller.key, { roots, revision, until });
  };

  const ask = (
    caller: ClientIdentity,
    call: Pick<RequestOptions, 'onServerRequest' | 'signal'>,
  ): Promise<Roots | undefined> => {
    const revision = revisionOf(caller);
    const key = `${revision} ${caller.key}`;
    const answer = askClient(call)
      .then((roots) => {
        if (call.signal?.aborted) return undefined;
        note(caller, roots, revision);
        return roots;
      })
      .finally(() => asking.delete(key));
    asking.set(key, answer);
    return answer;
  };

  return {
    known,
    async learn(caller, call) {
      for (;;) {
        const before = known(caller);
        if (before !== undefined) return before;
        const roots = await (asking.get(`${revisionOf(caller)} ${caller.key}`) ?? ask(caller, call));
        if (roots !== undefined) return roots;
        if (call.signal?.aborted) throw cancelled('roots/list');
      }
    },
    changed: (key) => void revisions.set(key, (revisions.get(key) ?? 0) + 1),
    forget(key) {
      said.delete(key);
      revisions.delete(key);
    },
  };
}

/** Returns a key that is equal for equal roots, in any order of their fields. */
export function rootsKey(roots: Roots): string {
  return JSON.stringify(roots === 'refused' ? roots : roots.map((root) => Object.entries(root).sort()));
}

/** Returns true if the client reports changes of its roots. */
function tellsOfChanges({ capabilities: { roots } }: ClientIdentity): boolean {
  return isRecord(roots) && roots.listChanged === true;
}

/** Requests the roots for as long as the call waits, at most `PATIENCE` ms. */
async function askClient({
  onServerRequest,
  signal,
}: Pick<RequestOptions, 'onServerRequest' | 'signal'>): Promise<Roots> {
  if (onServerRequest === undefined) return 'refused';
  const enough = new AbortController();
  const end = () => enough.abort();
  const timer = setTimeout(end, PATIENCE);
  signal?.addEventListener('abort', end, { once: true });
  const givenUp = new Promise<undefined>((resolve) => {
    enough.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    const question = onServerRequest({ jsonrpc: '2.0', id: 0, method: 'roots/list' }, { signal: enough.signal });
    const answer = await Promise.race([question.catch(() => undefined), givenUp]);
    return isRecord(answer) && Array.isArray(answer.roots) ? answer.roots.filter(isRecord) : 'refused';
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}
