/** `inspect {result}`: returns a page of a stored result, a selected part, or the positions of a text in it. */
import type { CallToolResult, ReadResourceResult, Resource } from '@modelcontextprotocol/sdk/types.js';
import { McpxError } from '../../errors.ts';
import { pieceBlocks, textBlock } from '../../render/text-block.ts';
import { findInText, pageWithin } from '../../render/text-page.ts';
import type { ToolResult } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { dialectOf, written } from './dialect.ts';
import { presentPart, roomOf } from './result-handle.ts';
import { type Kept, RESULT_LIFE, type StoredResult } from './result-store.ts';
import { givenByStored, partOf } from './result-values.ts';
import { nothingIn, structuredOf } from './results.ts';
import { compileProjection } from './select.ts';

/** Default characters of a page, then the limits of a text search: matches, and characters of the query. */
const PAGE = 10_000;
const MAX_FOUND = 40;
const MAX_QUERY = 200;

type Deps = Pick<ClientDeps, 'settings' | 'clientResults'>;
type Found = StoredResult & Kept;

export async function inspectResult(args: Params, deps: Deps): Promise<ToolResult> {
  const stored = typeof args.result === 'string' ? await deps.clientResults.get(args.result) : undefined;
  if (stored === undefined) {
    throw new McpxError('not_found', `no result is kept as ${JSON.stringify(args.result)}`, {
      hint: `results are kept for ${RESULT_LIFE / 60_000} minutes, for the client that made the call: run the tool again`,
    });
  }
  if (args.select !== undefined) return selectFrom(stored, args.select, deps);
  if (args.query !== undefined) return find(stored, args.query, deps);
  return page(stored, args, deps);
}

async function selectFrom(stored: Found, expression: unknown, { settings, clientResults }: Deps): Promise<ToolResult> {
  const select = await compileProjection(expression);
  const { inspect } = dialectOf(settings.front);
  const readOn = (call: Params) => written(inspect, call);
  const given = givenByStored(stored);
  const found = partOf(given, select);
  if (given.problem !== undefined) {
    throw new McpxError('arguments', `"${stored.id}" ${given.problem}, so that there are no parts to select`, {
      hint: 'read it with "offset" and "limit", or find a text with "query"',
    });
  }
  if (found.part === null) return { content: nothingIn(given.whole) };
  const shaping = { settings, clientResults, title: stored.title, readOn };
  const { texts, isWhole } = await presentPart(found, shaping);
  return { content: texts, ...structuredOf(found.part, { settings, isWhole }) };
}

function find(stored: Found, query: unknown, { settings }: Deps): ToolResult {
  if (typeof query !== 'string' || query === '' || query.length > MAX_QUERY) {
    throw new McpxError('arguments', `"query" must be a text of 1 to ${MAX_QUERY} characters`);
  }
  const { found, total } = findInText(stored.text, query, MAX_FOUND);
  if (total === 0) return textResult(`[${JSON.stringify(query)} does not occur in "${stored.id}"]`);
  const lines = found.map(({ offset, text }) => `${offset}: ${text}`);
  const read = written(dialectOf(settings.front).inspect, { result: stored.id, offset: found[0]?.offset ?? 0 });
  return textResult(
    lines.join('\n'),
    `[found ${total === 1 ? 'once' : `${total} times`}; numbers are offsets, to read on from one: ${read}]`,
  );
}

function page(stored: Found, args: Params, { settings }: Deps): ToolResult {
  const room = roomOf(settings);
  const offset = integer(args, 'offset', 0, 0);
  const limit = Math.min(integer(args, 'limit', PAGE, 1), room.chars);
  const { text, next } = pageWithin(stored.text, offset, { ...room, chars: limit });
  const end = next ?? stored.text.length;
  if (offset >= stored.text.length) {
    return textResult(`[there is nothing after character ${stored.text.length}, the end of "${stored.id}"]`);
  }
  const again = args.limit === undefined ? {} : { limit };
  const more = written(dialectOf(settings.front).inspect, { result: stored.id, offset: next, ...again });
  const rest = next === undefined ? 'this is the end' : `read on: ${more}`;
  return { content: pieceBlocks(text, `[characters ${offset} to ${end} of ${stored.text.length}; ${rest}]`) };
}

/** Accepts a number as text too, because some clients send it so. */
/** Returns a whole number among the arguments of `inspect`. */
export function integer(args: Params, key: string, fallback: number, least: number): number {
  const given = args[key];
  if (given === undefined || given === null || given === '') return fallback;
  const value = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw new McpxError('arguments', `"${key}" must be a whole number of at least ${least}`);
}

function textResult(...texts: string[]): ToolResult {
  return { content: texts.map(textBlock) } satisfies CallToolResult;
}

/** The prefix of the URIs of stored results. */
export const RESULT_URI = 'mcpx://result/';

/** Lists the stored results as resources that a client may read completely. */
export function resultResources({ clientResults }: Pick<ClientDeps, 'clientResults'>): Params[] {
  return clientResults.list().map(
    ({ id, title, isJson, size }) =>
      ({
        uri: RESULT_URI + id,
        name: id,
        title: `result of ${title}`,
        mimeType: isJson ? 'application/json' : 'text/plain',
        size,
      }) satisfies Resource,
  );
}

/** Returns the contents of a stored result; undefined for any other URI. */
export async function readResult(
  uri: unknown,
  { clientResults }: Pick<ClientDeps, 'clientResults'>,
): Promise<Params | undefined> {
  if (typeof uri !== 'string' || !uri.startsWith(RESULT_URI)) return undefined;
  const stored = await clientResults.get(uri.slice(RESULT_URI.length));
  if (stored === undefined) return undefined;
  const { json, text, isJson } = stored;
  const mimeType = isJson ? 'application/json' : 'text/plain';
  return { contents: [{ uri, mimeType, text: json ?? text }] } satisfies ReadResourceResult;
}
