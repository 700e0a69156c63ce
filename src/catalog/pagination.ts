/** Pagination of lists for clients, with an opaque cursor that holds the offset of the next page. */

import { RpcError } from '../errors.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';

/** Items per page if the client sends no limit. */
const PAGE = 1000;

/** The items of a list. A list of many items makes only those of the page. */
export interface Pageable<T> {
  readonly length: number;
  slice(from: number, to: number): T[];
}

/** Returns a list whose items are made when they are read. */
export function mapPages<T, Item>(all: Pageable<T>, make: (one: T) => Item): Pageable<Item> {
  return { length: all.length, slice: (from, to) => all.slice(from, to).map(make) };
}

/** Returns one list after the other. */
export function joinPages<T>(first: Pageable<T>, second: Pageable<T>): Pageable<T> {
  const { length } = first;
  return {
    length: length + second.length,
    slice: (from, to) => [
      ...first.slice(Math.min(from, length), Math.min(to, length)),
      ...second.slice(Math.max(from - length, 0), Math.max(to - length, 0)),
    ],
  };
}

/** Returns the page that `params` request, as the result of a list request with its items under `key`. */
export function pageOf<T>(items: Pageable<T>, key: string, params: Params): Params {
  const offset = params.cursor === undefined ? 0 : readCursor(params.cursor);
  const limit = typeof params.limit === 'number' && params.limit >= 1 ? Math.floor(params.limit) : PAGE;
  const next = offset + limit;
  return {
    [key]: items.slice(offset, next),
    ...(next < items.length && { nextCursor: cursorAt({ offset: next, of: items.length }) }),
  };
}

/** The offset of a page, and the length of the list when the cursor was made. */
interface Cursor {
  offset: number;
  of: number;
}

function cursorAt(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Returns the offset of a cursor. If the list has become shorter since, the page is empty. */
function readCursor(cursor: unknown): number {
  try {
    const value: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString('utf8'));
    const { offset, of } = isRecord(value) ? value : {};
    if (isCount(offset) && isCount(of) && offset < of) return offset;
  } catch {
    // The error is thrown below, as for any other invalid cursor.
  }
  throw new RpcError(INVALID_PARAMS, 'Invalid cursor');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
