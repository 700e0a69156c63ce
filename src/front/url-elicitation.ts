/** Remembers a client's URL elicitations, so that only this client gets their completion notifications. */
import { BoundedMap } from '../bounded-map.ts';
import { RpcError } from '../errors.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';
import { isRecord } from '../wire/message.ts';
import type { Exchange } from './front-interface.ts';

/**
 * The error code of a request that requires a URL elicitation first.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
const PAGE_NEEDED = -32042;
/** Maximum number of remembered elicitations; the oldest is dropped first. */
const MAX_PAGES = 1000;

type Ask = NonNullable<Exchange['ask']>;

export interface Pages {
  /** Wraps `ask` so that it remembers URL elicitations. */
  noting(ask: Ask): Ask;
  /** Remembers the elicitations in an error. */
  note(error: unknown): void;
  knows(id: unknown): boolean;
}

export function createPages(): Pages {
  const ids = new BoundedMap<string, true>(MAX_PAGES);
  const add = (page: unknown) => {
    if (!isRecord(page) || typeof page.elicitationId !== 'string') return;
    ids.set(page.elicitationId, true);
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

/** True if the client itself can handle the error, by opening the URL and retrying; a model could not. */
export function isForClient(
  error: unknown,
  { capabilities: { elicitation } }: Pick<ClientIdentity, 'capabilities'>,
): boolean {
  return needsPage(error) && isRecord(elicitation) && elicitation.url !== undefined;
}

function needsPage(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === PAGE_NEEDED;
}

/** Returns the elicitations in an error. */
export function pagesIn(error: unknown): unknown[] {
  const data = needsPage(error) ? error.data : undefined;
  return isRecord(data) && Array.isArray(data.elicitations) ? data.elicitations : [];
}
