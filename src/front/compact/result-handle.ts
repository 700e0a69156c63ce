/** Presents a value within the limit of a result: whole, or its beginning and the handle under which the rest is stored. */
import type { Settings } from '../../config/config.ts';
import { pieceBlocks, type Text, textBlock } from '../../render/text-block.ts';
import { fits, pageWithin, type Room } from '../../render/text-page.ts';
import { MAX_TOON, renderJson } from '../../render/toon.ts';
import { renderShape } from '../../render/type-of-value.ts';
import type { Params } from '../../wire/message.ts';
import { type ClientResults, RESULT_LIFE } from './result-store.ts';
import { ownTextOf, type Part } from './result-values.ts';
import { exampleSelect } from './select.ts';

export interface Presenting {
  settings: Pick<Settings, 'compression' | 'front' | 'limits'>;
  clientResults: Pick<ClientResults, 'put'>;
  /** The server and tool of the result, such as `github.list_issues`. */
  title: string;
  /** Returns the text of the call that reads on, such as `inspect {"result":"r1"}`. */
  readOn(args: Params): string;
  /** Characters shown of a result that is too large (default 2,000). */
  head?: number;
  /** Number of results that share the limit (default 1). */
  among?: number;
  /** The content blocks that precede it. */
  before?: unknown[];
}

/** Characters shown of a result that is too large. */
const HEAD = 2000;

/** Formats a text: unchanged, or its beginning and a handle. */
export async function presentText(text: string, shaping: Presenting): Promise<Text[]> {
  return (await present({ text, isRendered: false }, shaping)) ?? [textBlock(text)];
}

/** Formats a selected part: a text as it is, lines of a text as lines, any other value as JSON. */
export async function presentPart(
  { part, isFromText }: Part,
  shaping: Presenting,
): Promise<{ texts: Text[]; isWhole: boolean }> {
  const own = ownTextOf(part, isFromText);
  const text = own ?? renderJson(part, shaping.settings.compression);
  const value = typeof part === 'string' ? undefined : part;
  const texts = await present({ text, value, isRendered: own === undefined }, shaping);
  return { texts: texts ?? [textBlock(text)], isWhole: texts === undefined };
}

/** The stored document of a handle: its text, and its JSON value if it has one. */
export interface Document {
  text: string;
  value?: unknown;
  /** True if the text is only the value, as JSON or TOON. */
  isRendered: boolean;
  /** The JSON as the server wrote it. */
  source?: string | undefined;
}

/** Returns the beginning and a handle; undefined if the text fits. */
export async function present(document: Document, shaping: Presenting): Promise<Text[] | undefined> {
  const { text, value } = document;
  const room = roomOf(shaping.settings, shaping.among);
  if (fits(text, room)) return undefined;
  const stored = await keep(document, shaping);
  const type = value === undefined ? [] : [`type: ${renderShape(value)}`];
  if ('notKept' in stored) return notKept(text, shaping, { why: stored.notKept, type });
  const chars = Math.min(shaping.head ?? HEAD, room.chars);
  const head = pageWithin(text, 0, shaping.among === undefined ? { ...room, chars } : besideHandle(room, chars));
  const read = (args: Params) => shaping.readOn({ result: stored.id, ...args });
  const about = [
    `[${head.text.length} of ${text.length} characters; the whole is kept for ${RESULT_LIFE / 60_000} minutes as "${stored.id}", {"$from":"${stored.id}"} in arguments]`,
    ...type,
    `read on: ${read({ offset: head.next ?? 0 })}`,
    `find a text: ${read({ query: 'some text' })}`,
    `a part, by JMESPath: ${read({ select: exampleSelect(value ?? text) })}`,
  ];
  return pieceBlocks(head.text, about.join('\n'), shaping.before);
}

/** Returns as much as the limit allows, and why the rest is not stored. */
function notKept(text: string, shaping: Presenting, { why, type }: { why: string; type: string[] }): Text[] {
  const head = pageWithin(text, 0, roomOf(shaping.settings, shaping.among)).text;
  const about = [
    `[${head.length} of ${text.length} characters; the rest is not kept: ${why}]`,
    ...type,
    'to see another part, run the tool with narrower arguments or with "select", if it may run again',
  ];
  return pieceBlocks(head, about.join('\n'), shaping.before);
}

export function keep(
  { text, value, isRendered, source }: Document,
  { clientResults, title }: Presenting,
  { isShown = false } = {},
): ReturnType<ClientResults['put']> {
  // A text of this length is never TOON, so it is already JSON.
  const isJsonText = isRendered && text.length > MAX_TOON;
  const json = value === undefined ? undefined : (source ?? (isJsonText ? text : JSON.stringify(value)));
  const isJson = json !== undefined;
  return clientResults.put({ text, isJson, ...(isJson && json !== text && { json }), title, isShown });
}

/** Minimum characters for each result of a batch. */
const MIN_SLOT = 500;
/** Approximate characters of the lines of a handle. */
const HANDLE = 400;

/** Returns the limit for one of several results. */
export function roomOf({ limits }: Pick<Settings, 'limits'>, among = 1): Room {
  const share = (whole: number) => (among === 1 ? whole : Math.max(MIN_SLOT, Math.floor(whole / among)));
  return { chars: share(limits.resultChars), bytes: share(limits.resultBytes ?? Number.POSITIVE_INFINITY) };
}

/** Returns the room for the beginning in a batch, where the limit includes the handle. */
function besideHandle({ chars, bytes }: Room, most: number): Room {
  return { chars: Math.min(most, chars - HANDLE), bytes: bytes - HANDLE };
}
