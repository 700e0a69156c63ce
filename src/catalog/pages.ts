/** Lists cut into pages again, with an opaque cursor that says where the next one begins. */

import { RpcError } from '../errors.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';

/** Items of a page where the client names no limit. */
const PAGE = 1000;

/** The page that `params` ask for, as the result of a list request whose items stand under `key`. */
export function pageOf<T>(items: T[], key: string, params: Params): Params {
  const offset = params.cursor === undefined ? 0 : readCursor(params.cursor, items.length);
  const limit = typeof params.limit === 'number' && params.limit >= 1 ? Math.floor(params.limit) : PAGE;
  const next = offset + limit;
  return {
    [key]: items.slice(offset, next),
    ...(next < items.length && { nextCursor: Buffer.from(JSON.stringify({ offset: next })).toString('base64url') }),
  };
}

function readCursor(cursor: unknown, length: number): number {
  try {
    const value: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString('utf8'));
    const offset = isRecord(value) && Number.isSafeInteger(value.offset) ? Number(value.offset) : -1;
    if (offset >= 0 && offset <= length) return offset;
  } catch {
    // Told below, as any other cursor that is not ours.
  }
  throw new RpcError(INVALID_PARAMS, 'Invalid cursor');
}
