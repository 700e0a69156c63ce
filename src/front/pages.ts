/** Pages that a client was asked to open on behalf of a server: it hears when its user is done there, and nobody else does. */
import { RpcError } from '../errors.ts';
import type { Caller } from '../upstream/pool.ts';
import { isRecord } from '../wire/message.ts';
import type { Exchange } from './front.ts';

/** The error of a request that can only be answered when its user has opened a page. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
const PAGE_NEEDED = -32042;
/** The oldest are forgotten first. */
const MAX_PAGES = 1000;

type Ask = NonNullable<Exchange['ask']>;

export interface Pages {
  /** Asks, and takes note of the page that is asked for. */
  noting(ask: Ask): Ask;
  /** Takes note of the pages that an error tells of. */
  note(error: unknown): void;
  knows(id: unknown): boolean;
}

export function createPages(): Pages {
  const ids = new Set<string>();
  const add = (page: unknown) => {
    if (!isRecord(page) || typeof page.elicitationId !== 'string') return;
    const [oldest] = ids;
    if (ids.size >= MAX_PAGES && oldest !== undefined) ids.delete(oldest);
    ids.add(page.elicitationId);
  };
  return {
    noting: (ask) => (method, params, options) => {
      if (method === 'elicitation/create') add(params);
      return ask(method, params, options);
    },
    note(error) {
      for (const page of pagesIn(error)) add(page);
    },
    knows: (id) => typeof id === 'string' && ids.has(id),
  };
}

/** Whether an error is for the client itself, which can open a page and try again; a model could do nothing with it. */
export function isForClient(error: unknown, { capabilities: { elicitation } }: Pick<Caller, 'capabilities'>): boolean {
  return needsPage(error) && isRecord(elicitation) && elicitation.url !== undefined;
}

function needsPage(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === PAGE_NEEDED;
}

/** The pages that an error tells of. */
export function pagesIn(error: unknown): unknown[] {
  const data = needsPage(error) ? error.data : undefined;
  return isRecord(data) && Array.isArray(data.elicitations) ? data.elicitations : [];
}
