/** Lists cut into pages again, with an opaque cursor that says where the next one begins. */

import { RpcError } from '../errors.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';

/** Items of a page where the client names no limit. */
const PAGE = 1000;

/** The page that `params` ask for, as the result of a list request whose items stand under `key`. */
export function pageOf<T>(items: T[], key: string, params: Params): Params {
  const offset = params.cursor === undefined ? 0 : readCursor(params.cursor);
  const limit = typeof params.limit === 'number' && params.limit >= 1 ? Math.floor(params.limit) : PAGE;
  const next = offset + limit;
  return {
    [key]: items.slice(offset, next),
    ...(next < items.length && { nextCursor: cursorAt({ offset: next, of: items.length }) }),
  };
}

/** Where a page begins, and how many items there were when that was said. */
interface Cursor {
  offset: number;
  of: number;
}

function cursorAt(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** A list that has become shorter since then ends with an empty page. */
function readCursor(cursor: unknown): number {
  try {
    const value: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString('utf8'));
    const { offset, of } = isRecord(value) ? value : {};
    if (isCount(offset) && isCount(of) && offset < of) return offset;
  } catch {
    // Told below, as any other cursor that is not ours.
  }
  throw new RpcError(INVALID_PARAMS, 'Invalid cursor');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
