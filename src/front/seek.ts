/** Finds what a client names and nothing that is known has: it may be listed right now, or be newer than what is known. */
import type { Wanted } from '../catalog/catalog.ts';
import type { ServerView } from '../router/router.ts';
import type { FrontDeps } from './front.ts';

export interface Sought<T> {
  /** Looks among what is known. */
  find(): T | undefined;
  /** Whether something of that server can have such a name (default: of any). */
  mayHave?(server: ServerView): boolean;
  /** The lists that it can be in (default: tools). */
  lists?: 'tools' | 'all';
  /** Servers that may be started to look (default: those that were never listed in this run, and the only one that can have it). */
  start?: 'never';
}

type Deps = Pick<FrontDeps, 'router' | 'listed' | 'verify'>;

export async function seek<T>(
  { find, mayHave = () => true, lists, start }: Sought<T>,
  deps: Deps,
): Promise<T | undefined> {
  const { router, listed, verify } = deps;
  await listed(undefined, lists);
  if (find() !== undefined) return find();
  const servers = router.servers().filter(mayHave);
  const wanted: Wanted = { lists, start: start ?? (servers.length === 1 ? 'always' : 'stored') };
  await new Promise<void>((resolve) => {
    // What one of them has does not wait for the others.
    const looks = servers.map(({ name }) => verify(name, wanted).then(() => find() !== undefined && resolve()));
    void Promise.allSettled(looks).then(() => resolve());
  });
  return find();
}
