/** Formats results in the compact front: selects a part, compacts JSON, and replaces large results by a handle. */
import type { Settings } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import { isLarger } from '../../render/json-size.ts';
import { exactBlock, ownText, pieceBlocks, type Text, textBlock } from '../../render/text-block.ts';
import { fits, pageWithin, type Room } from '../../render/text-page.ts';
import { MAX_TOON, renderJson } from '../../render/toon.ts';
import { renderShape } from '../../render/type-of-value.ts';
import type { ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { hasLongNumber, readJson, readProblem } from './json-text.ts';
import { type ClientResults, RESULT_LIFE } from './result-store.ts';
import { exampleSelect, type Projection } from './select.ts';

export interface Shaping {
  settings: Pick<Settings, 'compression' | 'front' | 'limits'>;
  clientResults: Pick<ClientResults, 'put'>;
  /** The server and tool of the result, such as `github.list_issues`. */
  title: string;
  /** Returns the text of the call that reads on, such as `inspect {"result":"r1"}`. */
  readOn(args: Params): string;
  select?: Projection | undefined;
  /** Characters shown of a result that is too large (default 2,000). */
  head?: number;
  /** Number of results that share the limit (default 1). */
  among?: number;
  /** The content blocks that precede it. */
  before?: unknown[];
}

type Presenting = Omit<Shaping, 'select'>;

/** A result in progress; each text is parsed at most once. */
interface Reading {
  result: ToolResult;
  texts: string[];
  jsonOf(text: string): unknown;
  /** See `valuesOf`. */
  values(): unknown[];
}

/** Maximum content blocks of one result. */
const MAX_BLOCKS = 10_000;
/** Characters shown of a result that is too large. */
const HEAD = 2000;

/** Formats a tool result. Images, audio, links and `isError` stay unchanged. */
export async function shapeResult(received: ToolResult, shaping: Shaping): Promise<ToolResult> {
  const { select } = shaping;
  const result = withFewBlocks(received);
  const reading = readResult(result);
  if (select === undefined || result.isError === true) return whole(reading, shaping);
  try {
    if (reading.values().length === 0) throw new Error(nothingToSelect(reading));
    return await selected(reading, select, shaping);
  } catch (error) {
    const note = `error: the tool ran, do not run it again for this; ${messageOf(error)}. Its result without "select":`;
    const shaped = await whole(reading, shaping);
    return { ...shaped, isError: true, content: [textBlock(note), ...(shaped.content ?? [])] };
  }
}

/** Replaces too many blocks by one text, which can be stored. */
function withFewBlocks(result: ToolResult): ToolResult {
  const { content } = result;
  if (!Array.isArray(content) || content.length <= MAX_BLOCKS) return result;
  return { ...result, content: [exactBlock(JSON.stringify(content))] };
}

function nothingToSelect({ texts }: Reading): string {
  const problem = texts.map(readProblem).find((found) => found !== undefined);
  return problem === undefined
    ? 'the result is not JSON, so there are no parts to select'
    : `the result ${problem}, so nothing can be selected from it`;
}

/** Formats a JSON value: in compact form, or its beginning and a handle. */
export async function presentValue(value: unknown, shaping: Presenting): Promise<Text[]> {
  const text = renderJson(value, shaping.settings.compression);
  return (await present({ text, value, isRendered: true }, shaping)) ?? [textBlock(text)];
}

/** Formats a text: unchanged, or its beginning and a handle. */
export async function presentText(text: string, shaping: Presenting): Promise<Text[]> {
  return (await present({ text, isRendered: false }, shaping)) ?? [textBlock(text)];
}

/** Returns the blocks for a selection that gave null. */
export function nothingIn(value: unknown): Text[] {
  const why = '"select" matched nothing, or what it matched is null';
  return [textBlock('null'), textBlock(`[${why}; the type of the whole: ${renderShape(value)}]`)];
}

async function selected(reading: Reading, select: Projection, shaping: Shaping): Promise<ToolResult> {
  const { result } = reading;
  const values = reading.values();
  const part = partOf(values, select);
  const others = (result.content ?? []).filter((block) => !isText(block));
  const { structuredContent: _, content: __, ...rest } = result;
  const blocks =
    part === null
      ? [...nothingIn(values.at(-1)), ...(await kept(values.at(-1), shaping))]
      : await presentValue(part, shaping);
  const structured = shaping.settings.front.structured === 'always' && isRecord(part);
  return { ...rest, content: [...blocks, ...others], ...(structured && { structuredContent: part }) };
}

/** Returns the first non-null selection; null if there is none. */
export function partOf(values: unknown[], select: Projection): unknown {
  return values.map(select).find((found) => found !== null) ?? null;
}

/** Stores the result of a tool that ran, so that another selection does not run it again. */
async function kept(value: unknown, shaping: Shaping): Promise<Text[]> {
  const text = renderJson(value, shaping.settings.compression);
  const stored = await keep({ text, value, isRendered: true }, shaping);
  const more =
    'notKept' in stored
      ? `; its result is not kept: ${stored.notKept}`
      : `; select from its result: ${shaping.readOn({ result: stored.id, select: exampleSelect(value) })}`;
  return [textBlock(`[the tool ran, do not run it again for this${more}]`)];
}

async function whole(reading: Reading, shaping: Shaping): Promise<ToolResult> {
  const { result } = reading;
  const { structuredContent, ...rest } = result;
  const { compression, front } = shaping.settings;
  const received = Array.isArray(result.content) ? result.content : [];
  const content = received.map((block) => shorten(block, reading, compression));
  if (content.length === 0 && structuredContent !== undefined) {
    content.push(exactBlock(renderJson(structuredContent, compression)));
  }
  const keep = structuredContent !== undefined && front.structured !== 'never';
  const handled = await withHandle(reading, content, shaping);
  // The complete structured content would defeat the purpose of the handle.
  const whole = keep && (handled === undefined || front.structured === 'always');
  return {
    ...rest,
    content: handled ?? rendered(content, received),
    ...(whole && { structuredContent: asObject(structuredContent) }),
  };
}

/** Wraps a value that is not an object: modern servers may send any value, but many clients reject it. */
function asObject(value: unknown): Params {
  return isRecord(value) ? value : { result: value };
}

/** Marks the text blocks that mcpx wrote as its own. */
function rendered(content: unknown[], received: unknown[]): unknown[] {
  return content.map((block, index) => (block !== received[index] && isText(block) ? ownBlock(block) : block));
}

function ownBlock(block: Text): Text {
  return { ...block, text: ownText(block.text) };
}

/** Returns the content with a handle in place of large text; undefined if everything fits. */
async function withHandle(reading: Reading, content: unknown[], shaping: Shaping): Promise<unknown[] | undefined> {
  const room = roomOf(shaping.settings, shaping.among);
  const texts = content.filter(isText).map(({ text }) => text);
  const joined = texts.length === 1 ? (texts[0] ?? '') : texts.join('\n');
  const { structuredContent } = reading.result;
  if (!fits(joined, room)) {
    const value = isPlain(reading) ? undefined : reading.values().at(-1);
    const isRendered = texts.length === 1 && (structuredContent === undefined || reading.texts.length === 0);
    const blocks = await present({ text: joined, value, isRendered }, shaping);
    const first = content.findIndex(isText);
    return blocks && content.flatMap((block, index) => (index === first ? blocks : isText(block) ? [] : [block]));
  }
  const hosts = shaping.settings.front.structured;
  if (structuredContent === undefined || hosts !== 'auto' || !isLarger(structuredContent, room.chars)) return undefined;
  const text = renderJson(structuredContent, shaping.settings.compression);
  const before = rendered(content, reading.result.content ?? []);
  const blocks = await present({ text, value: structuredContent, isRendered: true }, { ...shaping, before });
  return blocks && [...before, ...blocks];
}

/** The stored document of a handle: its text, and its JSON value if it has one. */
interface Document {
  text: string;
  value?: unknown;
  /** True if the text is only the value, as JSON or TOON. */
  isRendered: boolean;
}

/** Returns the beginning and a handle; undefined if the text fits. */
async function present(document: Document, shaping: Presenting): Promise<Text[] | undefined> {
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
    `[${head.text.length} of ${text.length} characters; the whole is kept for ${RESULT_LIFE / 60_000} minutes as "${stored.id}"]`,
    ...type,
    `read on: ${read({ offset: head.next ?? 0 })}`,
    `find a text: ${read({ query: 'some text' })}`,
    ...(value === undefined ? [] : [`a part, by JMESPath: ${read({ select: exampleSelect(value) })}`]),
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

function keep(
  { text, value, isRendered }: Document,
  { clientResults, title }: Presenting,
): ReturnType<ClientResults['put']> {
  // A text of this length is never TOON, so it is already JSON.
  const isJsonText = isRendered && text.length > MAX_TOON;
  const json = value === undefined ? undefined : isJsonText ? text : JSON.stringify(value);
  const isJson = json !== undefined;
  return clientResults.put({ text, isJson, ...(isJson && json !== text && { json }), title });
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

function readResult(result: ToolResult): Reading {
  const texts = (Array.isArray(result.content) ? result.content : []).filter(isText).map(({ text }) => text);
  const known = new Map<string, unknown>();
  const jsonOf = (text: string) => {
    if (!known.has(text)) known.set(text, readJson(text));
    return known.get(text);
  };
  return { result, texts, jsonOf, values: () => valuesIn(texts, result.structuredContent, jsonOf) };
}

/**
 * Returns the JSON values of a result: its structured content, else its texts if they are JSON. If structured content
 * only wraps a text that is JSON, the parsed text is the second value.
 */
export function valuesOf(result: ToolResult): unknown[] {
  return readResult(result).values();
}

function valuesIn(texts: string[], structured: unknown, jsonOf: Reading['jsonOf']): unknown[] {
  if (structured !== undefined) {
    const inner = texts.length === 1 && isWrapped(texts[0], structured) ? jsonOf(texts[0] ?? '') : undefined;
    return inner === undefined ? [structured] : [structured, inner];
  }
  const values = texts.map(jsonOf);
  if (values.length === 0 || values.some((value) => value === undefined)) return [];
  return values.length === 1 ? values : [values];
}

/** True if the structured content only wraps the text and the text is not JSON. */
function isPlain({ result, texts, values }: Reading): boolean {
  return texts.length === 1 && isWrapped(texts[0], result.structuredContent) && values().length === 1;
}

function isWrapped(text: unknown, structured: unknown): boolean {
  if (!isRecord(structured)) return false;
  const keys = Object.keys(structured);
  return keys.length === 1 && structured[keys[0] ?? ''] === text;
}

export function isText(block: unknown): block is Text {
  return isRecord(block) && block.type === 'text' && typeof block.text === 'string';
}

/** Compacts a text block that is JSON, unless it contains a number too long to parse exactly. */
function shorten(block: unknown, { jsonOf }: Reading, compression: Settings['compression']): unknown {
  if (!isText(block) || hasLongNumber(block.text)) return block;
  const value = jsonOf(block.text);
  if (value === undefined) return block;
  const text = renderJson(value, compression);
  return ownText(text).length < block.text.length ? { ...block, text } : block;
}
