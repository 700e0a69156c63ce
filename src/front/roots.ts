/** Learns the roots of a client before the first call that may start a server in its folder. */
import { messageOf } from '../errors.ts';
import type { Router, Way } from '../router/router.ts';
import { usesWorkspace } from '../upstream/sharing.ts';
import { isRecord } from '../wire/message.ts';

/** ms for the answer; a client that is silent works in our own working directory. */
const PATIENCE = 5000;

export interface RootsQuestion {
  /** Asks once, and only where a server of the profile depends on `${workspaceFolder}`. */
  learn(way: Way): Promise<void> | undefined;
  /** They have changed: what starts from now on starts in the new ones. */
  forget(): void;
}

export function createRootsQuestion(router: Pick<Router, 'servers'>): RootsQuestion {
  let asked: Promise<void> | undefined;
  return {
    learn({ caller, ask }) {
      if (caller.capabilities.roots === undefined || ask === undefined) return undefined;
      const matters = () => router.servers().some(({ entry }) => usesWorkspace(entry.spec));
      asked ??= matters() ? learn(caller, ask) : Promise.resolve();
      return asked;
    },
    forget() {
      asked = undefined;
    },
  };
}

async function learn(caller: Way['caller'], ask: NonNullable<Way['ask']>): Promise<void> {
  const answer = await ask('roots/list', {}, { timeout: PATIENCE }).catch((error: unknown) => messageOf(error));
  if (!isRecord(answer) || !Array.isArray(answer.roots)) return;
  caller.roots = answer.roots.flatMap((root) => (isRecord(root) && typeof root.uri === 'string' ? [root.uri] : []));
}
