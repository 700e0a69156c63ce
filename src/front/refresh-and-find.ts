/** Finds an object that the catalog lacks: waits for listings in progress, then lists the servers again. */
import type { Wanted } from '../catalog/catalog.ts';
import type { ServerView } from '../router/router.ts';
import type { ClientDeps } from './front-interface.ts';

export interface Lookup<T> {
  /** Searches the catalog. */
  find(): T | undefined;
  /** True if an object of that server can have the name (default: any server). */
  mayHave?(server: ServerView): boolean;
  /** The lists that can contain it (default: tools). */
  lists?: 'tools' | 'all';
  /** Servers that may be started for the search (default: those not listed in this run, and a sole candidate). */
  start?: 'never';
}

type Deps = Pick<ClientDeps, 'router' | 'listed' | 'verify'>;

export async function refreshAndFind<T>(
  { find, mayHave = () => true, lists, start }: Lookup<T>,
  deps: Deps,
): Promise<T | undefined> {
  const { router, listed, verify } = deps;
  await listed(undefined, lists);
  if (find() !== undefined) return find();
  const servers = router.servers().filter(mayHave);
  const wanted: Wanted = { lists, start: start ?? (servers.length === 1 ? 'always' : 'stored') };
  await new Promise<void>((resolve) => {
    // The first server that has it ends the wait for the others.
    const looks = servers.map(({ name }) => verify(name, wanted).then(() => find() !== undefined && resolve()));
    void Promise.allSettled(looks).then(() => resolve());
  });
  return find();
}
