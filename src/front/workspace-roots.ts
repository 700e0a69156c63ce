/** Requests the client's roots before the first call that may start a server in the client's folder. */

import { usesWorkspace } from '../config/workspace-folder.ts';
import { messageOf } from '../errors.ts';
import type { RequestContext } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';
import type { Client } from './front-interface.ts';

/** Timeout in milliseconds; without a response, servers start in the working directory of mcpx. */
const PATIENCE = 5000;

export interface RootsQuestion {
  /** Requests the roots once, and only if a server of the profile uses `${workspaceFolder}`. */
  learn(way: Pick<RequestContext, 'ask'>): Promise<void> | undefined;
  /** Forgets the roots after a change, so that the next call requests them again. */
  forget(): void;
}

export function createRootsQuestion(client: Pick<Client, 'router' | 'identity'>): RootsQuestion {
  let asked: Promise<void> | undefined;
  return {
    learn({ ask }) {
      if (client.identity.capabilities.roots === undefined || ask === undefined) return undefined;
      const matters = () => client.router.servers().some(({ entry }) => usesWorkspace(entry.spec));
      asked ??= matters() ? learn(client, ask) : Promise.resolve();
      return asked;
    },
    forget() {
      asked = undefined;
    },
  };
}

async function learn(client: Pick<Client, 'identity'>, ask: NonNullable<RequestContext['ask']>): Promise<void> {
  const answer = await ask('roots/list', {}, { timeout: PATIENCE }).catch((error: unknown) => messageOf(error));
  if (!isRecord(answer) || !Array.isArray(answer.roots)) return;
  const roots = answer.roots.flatMap((root) => (isRecord(root) && typeof root.uri === 'string' ? [root.uri] : []));
  client.identity = { ...client.identity, roots };
}
