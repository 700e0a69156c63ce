/** The roots that clients have: asked for when a server wants to know, and kept until the client says that they changed. */
import { cancelled } from '../errors.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { RequestOptions } from '../wire/peer.ts';
import type { Caller } from './sharing.ts';

/** As the client wrote them. `refused` = it did not say. */
export type Roots = readonly Params[] | 'refused';

export interface RootsMemory {
  /** The roots that a client has said before; undefined where it has to be asked. */
  known(caller: Caller): Roots | undefined;
  /** Asks the client of a call, unless it has said them before. Rejects only where the call was cancelled meanwhile. */
  learn(caller: Caller, call: Pick<RequestOptions, 'asked' | 'signal'>): Promise<Roots>;
  /** A session is over. */
  forget(key: string): void;
}

/** ms that a call waits for the answer. */
const PATIENCE = 10_000;
/** ms for which the word of a client holds that does not tell of changes, and a refusal. */
const LIFE = 60_000;
/** Clients; those that spoke first are forgotten first. */
const MAX_CLIENTS = 1000;

interface Said {
  roots: Roots;
  /** Which change of them it has told of before. */
  revision: number;
  /** Monotonic ms. */
  until: number;
}

export function createRootsMemory(): RootsMemory {
  const said = new Map<string, Said>();
  /** Several calls of one client ask once; undefined where the call that asked was cancelled. */
  const asking = new Map<string, Promise<Roots | undefined>>();

  const known = (caller: Caller): Roots | undefined => {
    const found = said.get(clientKey(caller));
    if (found === undefined || found.revision !== revisionOf(caller)) return undefined;
    return performance.now() < found.until ? found.roots : undefined;
  };

  const note = (caller: Caller, roots: Roots, revision: number) => {
    const [oldest] = said.keys();
    if (said.size >= MAX_CLIENTS && oldest !== undefined) said.delete(oldest);
    const holds = roots !== 'refused' && tellsOfChanges(caller);
    const until = holds ? Number.POSITIVE_INFINITY : performance.now() + LIFE;
    said.set(clientKey(caller), { roots, revision, until });
  };

  const ask = (caller: Caller, call: Pick<RequestOptions, 'asked' | 'signal'>): Promise<Roots | undefined> => {
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
    forget: (key) => void said.delete(key),
  };
}

/** Equal for equal roots, in any order of their fields. */
export function rootsKey(roots: Roots): string {
  return JSON.stringify(roots === 'refused' ? roots : roots.map((root) => Object.entries(root).sort()));
}

function revisionOf({ rootsRevision = 0 }: Caller): number {
  return rootsRevision;
}

/** A client without a session is known by its token and by what it says of itself. */
function clientKey({ key, lasts, principal, holder, clientInfo, capabilities }: Caller): string {
  if (lasts !== 'request') return key;
  return JSON.stringify([principal ?? null, holder ?? null, clientInfo ?? null, capabilities]);
}

/** One without a session has no way to. */
function tellsOfChanges({ lasts, capabilities: { roots } }: Caller): boolean {
  return lasts !== 'request' && isRecord(roots) && roots.listChanged === true;
}

/** The client may be asked for as long as the call waits, and no longer than `PATIENCE`. */
async function askClient({ asked, signal }: Pick<RequestOptions, 'asked' | 'signal'>): Promise<Roots> {
  if (asked === undefined) return 'refused';
  const enough = new AbortController();
  const end = () => enough.abort();
  const timer = setTimeout(end, PATIENCE);
  signal?.addEventListener('abort', end, { once: true });
  const givenUp = new Promise<undefined>((resolve) => {
    enough.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    const question = asked({ jsonrpc: '2.0', id: 0, method: 'roots/list' }, { signal: enough.signal });
    const answer = await Promise.race([question.catch(() => undefined), givenUp]);
    return isRecord(answer) && Array.isArray(answer.roots) ? answer.roots.filter(isRecord) : 'refused';
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}
