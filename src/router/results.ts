/** Results on their way to a model: a part that was selected, JSON written short, and a handle for what is too large. Never the other front. */
import type { Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { exactBlock, ownText, pieceBlocks, type Text, textBlock } from '../render/block.ts';
import { fits, pageWithin, type Room } from '../render/page.ts';
import { renderShape } from '../render/shape.ts';
import { isLarger } from '../render/size.ts';
import { MAX_TOON, renderJson } from '../render/toon.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { hasLongNumber, readJson, readProblem } from './json-text.ts';
import { exampleSelect, type Projection } from './project.ts';
import type { ToolResult } from './router.ts';
import { RESULT_LIFE, type Shelf } from './shelf.ts';

export interface Shaping {
  settings: Pick<Settings, 'compression' | 'front' | 'limits'>;
  shelf: Pick<Shelf, 'put'>;
  /** Whose result it is, such as `github.list_issues`. */
  title: string;
  /** How the call that reads on is written, such as `inspect {"result":"r1"}`. */
  readOn(args: Params): string;
  select?: Projection | undefined;
  /** Characters shown of what is too large (default 2,000). */
  head?: number;
  /** How many results share what may be sent; default 1. */
  among?: number;
  /** The blocks that it is shown after. */
  before?: unknown[];
}

type Presenting = Omit<Shaping, 'select'>;

/** A result that is being shaped; each text of it is parsed once at most. */
interface Reading {
  result: ToolResult;
  texts: string[];
  jsonOf(text: string): unknown;
  /** See `valuesOf`. */
  values(): unknown[];
}

/** Blocks of content of one result. */
const MAX_BLOCKS = 10_000;
/** Characters shown of a result that is too large. */
const HEAD = 2000;

/** Images, audio, links and `isError` stay what and where they are. */
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

/** No model reads that many blocks one by one: they become one text, which can be kept. */
function withFewBlocks(result: ToolResult): ToolResult {
  const { content } = result;
  if (!Array.isArray(content) || content.length <= MAX_BLOCKS) return result;
  return { ...result, content: [exactBlock(JSON.stringify(content))] };
}

function nothingToSelect({ texts }: Reading): string {
  const problem = texts.map(readProblem).find((found) => found !== undefined);
  return problem === undefined
    ? 'the result is no JSON, and so has no parts to select'
    : `the result ${problem}, and so nothing can be selected from it`;
}

/** A JSON value for a model: short, or its head and a handle. */
export async function presentValue(value: unknown, shaping: Presenting): Promise<Text[]> {
  const text = renderJson(value, shaping.settings.compression);
  return (await present({ text, value, isRendered: true }, shaping)) ?? [textBlock(text)];
}

/** A text for a model: as it is, or its head and a handle. */
export async function presentText(text: string, shaping: Presenting): Promise<Text[]> {
  return (await present({ text, isRendered: false }, shaping)) ?? [textBlock(text)];
}

/** What is said where a selection gave null. */
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

/** What is selected from the first reading that has it; null where none has. */
export function partOf(values: unknown[], select: Projection): unknown {
  return values.map(select).find((found) => found !== null) ?? null;
}

/** The result of a tool that ran, for another selection: the tool need not run again. */
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
  // The original beside its head would undo what the handle is for.
  const whole = keep && (handled === undefined || front.structured === 'always');
  return {
    ...rest,
    content: handled ?? rendered(content, received),
    ...(whole && { structuredContent: asObject(structuredContent) }),
  };
}

/** Servers of the modern era may send any value; many clients refuse what is no object. */
function asObject(value: unknown): Params {
  return isRecord(value) ? value : { result: value };
}

/** The blocks that mcpx has written, which are those that nobody sent, in the form of its own. */
function rendered(content: unknown[], received: unknown[]): unknown[] {
  return content.map((block, index) => (block !== received[index] && isText(block) ? ownBlock(block) : block));
}

function ownBlock(block: Text): Text {
  return { ...block, text: ownText(block.text) };
}

/** The content with a head and a handle in place of what is too large; undefined where nothing is. */
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

/** What a handle stands for: the text to read, and its JSON value where it has one. */
interface Document {
  text: string;
  value?: unknown;
  /** Whether the text is nothing but the value, as JSON or TOON. */
  isRendered: boolean;
}

/** Head and handle; undefined where the text fits. */
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

/** As much as may be sent, and what became of the rest. */
function notKept(text: string, shaping: Presenting, { why, type }: { why: string; type: string[] }): Text[] {
  const head = pageWithin(text, 0, roomOf(shaping.settings, shaping.among)).text;
  const about = [
    `[${head.length} of ${text.length} characters; the rest is not kept: ${why}]`,
    ...type,
    'to see another part, run the tool with narrower arguments or with "select", if it may run again',
  ];
  return pieceBlocks(head, about.join('\n'), shaping.before);
}

function keep({ text, value, isRendered }: Document, { shelf, title }: Presenting): ReturnType<Shelf['put']> {
  // Nothing that long is TOON, so that it need not be written as JSON again.
  const isJsonText = isRendered && text.length > MAX_TOON;
  const json = value === undefined ? undefined : isJsonText ? text : JSON.stringify(value);
  const isJson = json !== undefined;
  return shelf.put({ text, isJson, ...(isJson && json !== text && { json }), title });
}

/** Characters that the result of one call of a batch may have at least. */
const MIN_SLOT = 500;
/** About as many as the lines of a handle have. */
const HANDLE = 400;

/** What may be sent of one result among several. */
export function roomOf({ limits }: Pick<Settings, 'limits'>, among = 1): Room {
  const share = (whole: number) => (among === 1 ? whole : Math.max(MIN_SLOT, Math.floor(whole / among)));
  return { chars: share(limits.resultChars), bytes: share(limits.resultBytes ?? Number.POSITIVE_INFINITY) };
}

/** In a batch the share of a result has to do for its head and its handle. */
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
 * What a result is as JSON: its structured content, else its text or texts where they are JSON. Some servers put a text into
 * structured content as it is; where that text is JSON it comes second, for whoever means what is in it.
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

/** Whether its structured content is nothing but its text, and that is no JSON. */
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

/** A text that is JSON, written short, unless a number in it is too long to survive parsing. */
function shorten(block: unknown, { jsonOf }: Reading, compression: Settings['compression']): unknown {
  if (!isText(block) || hasLongNumber(block.text)) return block;
  const value = jsonOf(block.text);
  if (value === undefined) return block;
  const text = renderJson(value, compression);
  return ownText(text).length < block.text.length ? { ...block, text } : block;
}
