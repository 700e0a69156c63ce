/** Requests the client's roots before the first call that may start a server in the client's folder. */

import { usesWorkspace } from '../config/workspace-folder.ts';
import { messageOf } from '../errors.ts';
import type { RequestContext, Router } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';

/** Timeout in milliseconds; without a response, servers start in the working directory of mcpx. */
const PATIENCE = 5000;

export interface RootsQuestion {
  /** Requests the roots once, and only if a server of the profile uses `${workspaceFolder}`. */
  learn(way: RequestContext): Promise<void> | undefined;
  /** Forgets the roots after a change, so that the next call requests them again. */
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

async function learn(caller: RequestContext['caller'], ask: NonNullable<RequestContext['ask']>): Promise<void> {
  const answer = await ask('roots/list', {}, { timeout: PATIENCE }).catch((error: unknown) => messageOf(error));
  if (!isRecord(answer) || !Array.isArray(answer.roots)) return;
  caller.roots = answer.roots.flatMap((root) => (isRecord(root) && typeof root.uri === 'string' ? [root.uri] : []));
}
