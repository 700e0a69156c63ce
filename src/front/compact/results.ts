/** Formats results in the compact front: selects a part, compacts JSON, and replaces large results by a handle. */
import type { Settings } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import { isLarger } from '../../render/json-size.ts';
import { exactBlock, followingBlock, ownText, type Text, textBlock } from '../../render/text-block.ts';
import { fits, MAX_BYTES } from '../../render/text-page.ts';
import { renderJson } from '../../render/toon.ts';
import { renderShape } from '../../render/type-of-value.ts';
import type { ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { hasLongNumber, isJsonLike } from './json-text.ts';
import { type Document, keep, type Presenting, present, presentPart, roomOf } from './result-handle.ts';
import { givenBy, isPlain, isText, partOf, type Reading, readResult } from './result-values.ts';
import { exampleSelect, type Projection } from './select.ts';
import { linesOf } from './select-functions.ts';

export interface Shaping extends Presenting {
  select?: Projection | undefined;
  /** True if the client does not want to see the result, but to refer to it. */
  isHidden?: boolean;
}

/** Maximum characters of a text that is shown whole if nothing is selected from it. */
const MAX_SHOWN = 2000;
/** Maximum content blocks of one result: links are sent in full, and thousands of them would fill the context of a model. */
const MAX_BLOCKS = 1000;
const FEW_BLOCKS = 100;

/**
 * Returns true for a result that needs no formatting, as most small ones: all of it is shown, and no text of it is JSON.
 */
export function isShownAsItIs(
  { content, structuredContent }: ToolResult,
  { select, isHidden, settings, among }: Shaping,
): boolean {
  if (select !== undefined || isHidden === true || structuredContent !== undefined) return false;
  if (!Array.isArray(content) || content.length > FEW_BLOCKS) return false;
  const texts = content.filter(isText);
  if (texts.some(({ text }) => isJsonLike(text))) return false;
  // The texts are joined by line breaks.
  const length = texts.reduce((total, { text }) => total + text.length + 1, 0);
  const { chars, bytes } = roomOf(settings, among);
  return length <= Math.min(chars, settings.limits.keepChars) && length * MAX_BYTES <= bytes;
}

/** Formats a tool result. Images, audio, links and `isError` stay unchanged. */
export async function shapeResult(received: ToolResult, shaping: Shaping): Promise<ToolResult> {
  const { select, isHidden } = shaping;
  const result = withFewBlocks(received);
  if (isHidden && received.isError !== true) return hidden(readResult(result), shaping);
  const reading = readResult(result);
  if (select === undefined || result.isError === true) return whole(reading, shaping);
  try {
    if (reading.texts.length === 0 && result.structuredContent === undefined) {
      throw new Error('the result has no text, so there are no parts to select');
    }
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

/** Returns the blocks for a selection that gave null. */
export function nothingIn(value: unknown): Text[] {
  const why = '"select" matched nothing, or what it matched is null';
  const whole =
    typeof value === 'string'
      ? `the whole is a text, which is a list of ${linesOf(value).length} lines here`
      : `the type of the whole: ${renderShape(value)}`;
  return [textBlock('null'), textBlock(`[${why}; ${whole}]`)];
}

async function selected(reading: Reading, select: Projection, shaping: Shaping): Promise<ToolResult> {
  const { result } = reading;
  const given = givenBy(reading);
  const found = partOf(given, select);
  const others = (result.content ?? []).filter((block) => !isText(block));
  const { structuredContent: _, content: __, ...rest } = result;
  if (found.part === null) {
    if (given.problem !== undefined) throw new Error(`the result ${given.problem}, so nothing can be selected from it`);
    const blocks = [...nothingIn(given.whole), ...(await kept(given.whole, shaping))];
    return { ...rest, content: [...blocks, ...others] };
  }
  const blocks = await presentPart(found, shaping);
  const structured = structuredOf(found.part, { settings: shaping.settings, isWhole: blocks.isWhole });
  return { ...rest, content: [...blocks.texts, ...others], ...structured };
}

/** Stores a result that is not shown; in a batch, only the other calls refer to it. */
async function hidden(reading: Reading, shaping: Shaping): Promise<ToolResult> {
  const { text, whole } = givenBy(reading);
  if (shaping.among !== undefined) return { content: [textBlock('(not shown)')] };
  const value = text === whole ? undefined : whole;
  const json = text ?? JSON.stringify(whole);
  const stored = await keep({ text: json, value, isRendered: value !== undefined, source: json }, shaping);
  if ('notKept' in stored) return { content: [textBlock(`[not shown, and not kept: ${stored.notKept}]`)] };
  const type = value === undefined ? `text of ${linesOf(json).length} lines` : renderShape(value);
  return { content: [textBlock(`[not shown, kept as "${stored.id}"; type: ${type}]`)] };
}

/** Stores the result of a tool that ran, so that another selection does not run it again. */
async function kept(value: unknown, shaping: Shaping): Promise<Text[]> {
  if (typeof value === 'string' && value.length <= MAX_SHOWN) return [exactBlock(value)];
  const json = () => renderJson(value, shaping.settings.compression);
  const document =
    typeof value === 'string' ? { text: value, isRendered: false } : { text: json(), value, isRendered: true };
  const stored = await keep(document, shaping);
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
  const handled = await withHandle(reading, content, shaping);
  const shown = handled ?? rendered(content, received);
  const structured = structuredContent ?? (front.structured === 'never' ? undefined : jsonIn(reading));
  return {
    ...rest,
    content: handled === undefined ? await withNote(reading, shown, shaping) : shown,
    ...structuredOf(structured, { settings: shaping.settings, isWhole: handled === undefined }),
  };
}

/** Returns the JSON of a result that is only text, unless a number in it is too long to parse exactly. */
function jsonIn({ texts, values }: Reading): unknown {
  return texts.some(hasLongNumber) ? undefined : values()[0];
}

/**
 * Returns the structured content for a value. The complete structured content would defeat the purpose of a handle.
 * A value that is not an object is wrapped, because the specification demands an object.
 */
export function structuredOf(
  value: unknown,
  { settings: { front }, isWhole }: { settings: Pick<Settings, 'front'>; isWhole: boolean },
): { structuredContent?: Params } {
  const isShown = front.structured === 'always' || (front.structured === 'auto' && isWhole);
  if (value === undefined || !isShown) return {};
  return { structuredContent: isRecord(value) ? value : { value } };
}

/** Adds a line to a long result that is shown whole and stored, so that later calls can refer to it. */
function withNote(reading: Reading, shown: unknown[], shaping: Shaping): unknown[] | Promise<unknown[]> {
  const texts = shown.filter(isText).map(({ text }) => text);
  const length = texts.reduce((total, text) => total + text.length, 0);
  if (length <= shaping.settings.limits.keepChars || reading.result.isError === true) return shown;
  return noted(reading, { shown, texts }, shaping).then((note) => [...shown, ...note]);
}

/** Stores a long result and returns the line that says so. */
async function noted(
  reading: Reading,
  { shown, texts }: { shown: unknown[]; texts: string[] },
  shaping: Shaping,
): Promise<Text[]> {
  const stored = await keep(documentOf(reading, texts), shaping, { isShown: true });
  if ('notKept' in stored) return [];
  const select = shaping.readOn({ result: stored.id, select: '…' });
  return [followingBlock(shown, `[kept as "${stored.id}": {"$from":"${stored.id}"} in arguments; ${select}]`)];
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
  const joined = texts.join('\n');
  const { structuredContent } = reading.result;
  if (!fits(joined, room)) {
    const blocks = await present(documentOf(reading, texts), shaping);
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

function documentOf(reading: Reading, shown: string[]): Document {
  const { structuredContent } = reading.result;
  const value = isPlain(reading) ? undefined : reading.values().at(-1);
  const isRendered = shown.length === 1 && (structuredContent === undefined || reading.texts.length === 0);
  const source = isRendered && value !== undefined ? reading.texts[0] : undefined;
  return { text: shown.join('\n'), value, isRendered, source };
}

/** Compacts a text block that is JSON, unless it contains a number too long to parse exactly. */
function shorten(block: unknown, { jsonOf }: Reading, compression: Settings['compression']): unknown {
  if (!isText(block) || hasLongNumber(block.text)) return block;
  const value = jsonOf(block.text);
  if (value === undefined) return block;
  const text = renderJson(value, compression);
  return ownText(text).length < block.text.length ? { ...block, text } : block;
}
