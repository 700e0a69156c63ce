/** Results on their way to a model: a part that was selected, JSON written short, and a handle for what is too large. Never the other front. */
import type { Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { parseExact } from '../exact.ts';
import { pageText } from '../render/page.ts';
import { renderShape } from '../render/shape.ts';
import { isLarger } from '../render/size.ts';
import { renderJson } from '../render/toon.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Projection } from './project.ts';
import type { ToolResult } from './router.ts';
import { RESULT_LIFE, type Shelf, type Stored } from './shelf.ts';

export interface Shaping {
  settings: Pick<Settings, 'compression' | 'front' | 'limits'>;
  shelf: Pick<Shelf, 'put'>;
  /** Whose result it is, such as `github.list_issues`. */
  title: string;
  /** How the call that reads on is written, such as `inspect {"result":"r1"}`. */
  readOn(args: Params): string;
  select?: Projection | undefined;
  /** Characters of text that may be sent; default `limits.resultChars`. */
  maxChars?: number;
}

/** Characters shown of a result that is too large. */
const HEAD = 2000;

interface Text {
  type: 'text';
  text: string;
}

const textBlock = (text: string): Text => ({ type: 'text', text });

/** Images, audio, links and `isError` stay what and where they are. */
export function shapeResult(result: ToolResult, shaping: Shaping): ToolResult {
  const { select } = shaping;
  if (select === undefined || result.isError === true) return whole(result, shaping);
  const values = valuesOf(result);
  try {
    if (values.length === 0) throw new Error('the result is no JSON, and so has no parts to select');
    return selected(result, values, select, shaping);
  } catch (error) {
    const note = `error: the tool ran, do not run it again for this; ${messageOf(error)}. Its result without "select":`;
    const shaped = whole(result, shaping);
    return { ...shaped, isError: true, content: [textBlock(note), ...(shaped.content ?? [])] };
  }
}

/** A JSON value for a model: short, or its head and a handle. */
export function presentValue(value: unknown, shaping: Omit<Shaping, 'select'>): Text[] {
  const text = renderJson(value, shaping.settings.compression);
  return present({ text, value }, shaping) ?? [textBlock(text)];
}

/** What is said where a selection gave null. */
export function nothingIn(value: unknown): Text[] {
  const why = '"select" matched nothing, or what it matched is null';
  return [textBlock('null'), textBlock(`[${why}; the type of the whole: ${renderShape(value)}]`)];
}

function selected(result: ToolResult, values: unknown[], select: Projection, shaping: Shaping): ToolResult {
  const part = partOf(values, select);
  const others = (result.content ?? []).filter((block) => !isText(block));
  const { structuredContent: _, content: __, ...rest } = result;
  const blocks = part === null ? [...nothingIn(values.at(-1)), ...kept(result, shaping)] : presentValue(part, shaping);
  const structured = shaping.settings.front.structured === 'always' && isRecord(part);
  return { ...rest, content: [...blocks, ...others], ...(structured && { structuredContent: part }) };
}

/** What is selected from the first reading that has it; null where none has. */
export function partOf(values: unknown[], select: Projection): unknown {
  return values.map(select).find((found) => found !== null) ?? null;
}

/** The result of a tool that ran, for another selection: the tool need not run again. */
function kept(result: ToolResult, shaping: Shaping): Text[] {
  const value = valuesOf(result).at(-1);
  const stored = keep({ text: renderJson(value, shaping.settings.compression), value }, shaping);
  const call = stored && shaping.readOn({ result: stored.id, select: exampleSelect(value) });
  return [textBlock(`[the tool ran, do not run it again for this${call ? `; select from its result: ${call}` : ''}]`)];
}

function whole(result: ToolResult, shaping: Shaping): ToolResult {
  const { structuredContent, ...rest } = result;
  const { compression, front } = shaping.settings;
  const content = Array.isArray(result.content) ? result.content.map((block) => shorten(block, compression)) : [];
  if (content.length === 0 && structuredContent !== undefined) {
    content.push(textBlock(renderJson(structuredContent, compression)));
  }
  const keep = structuredContent !== undefined && front.structured !== 'never';
  const handled = withHandle(result, content, shaping);
  // The original beside its head would undo what the handle is for.
  const whole = keep && (handled === undefined || front.structured === 'always');
  return { ...rest, content: handled ?? content, ...(whole && { structuredContent }) };
}

/** The content with a head and a handle in place of what is too large; undefined where nothing is. */
function withHandle(result: ToolResult, content: unknown[], shaping: Shaping): unknown[] | undefined {
  const limit = limitOf(shaping);
  const texts = content.filter(isText);
  const length = texts.reduce((total, { text }) => total + text.length, 0);
  const { structuredContent } = result;
  if (length > limit) {
    const whole = {
      text: texts.map(({ text }) => text).join('\n'),
      value: isPlain(result) ? undefined : valuesOf(result).at(-1),
    };
    const blocks = present(whole, shaping);
    const first = content.findIndex(isText);
    return blocks && content.flatMap((block, index) => (index === first ? blocks : isText(block) ? [] : [block]));
  }
  const hosts = shaping.settings.front.structured;
  if (structuredContent === undefined || hosts !== 'auto' || !isLarger(structuredContent, limit)) return undefined;
  const text = renderJson(structuredContent, shaping.settings.compression);
  const blocks = present({ text, value: structuredContent }, shaping);
  return blocks && [...content, ...blocks];
}

/** What a handle stands for: the text to read, and its JSON value where it has one. */
interface Document {
  text: string;
  value?: unknown;
}

/** Head and handle; undefined where the text fits, or there is no room to keep it. */
function present({ text, value }: Document, shaping: Omit<Shaping, 'select'>): Text[] | undefined {
  if (text.length <= limitOf(shaping)) return undefined;
  const stored = keep({ text, value }, shaping);
  if (stored === undefined) return undefined;
  const head = pageText(text, 0, Math.min(HEAD, limitOf(shaping)));
  const read = (args: Params) => shaping.readOn({ result: stored.id, ...args });
  const about = [
    `[${head.text.length} of ${text.length} characters; the whole is kept for ${RESULT_LIFE / 60_000} minutes as "${stored.id}"]`,
    ...(value === undefined ? [] : [`type: ${renderShape(value)}`]),
    `read on: ${read({ offset: head.next ?? 0 })}`,
    `find a text: ${read({ query: 'some text' })}`,
    ...(value === undefined ? [] : [`a part, by JMESPath: ${read({ select: exampleSelect(value) })}`]),
  ];
  return [textBlock(head.text), textBlock(about.join('\n'))];
}

function keep({ text, value }: Document, { shelf, title }: Omit<Shaping, 'select'>): Stored | undefined {
  const json = value === undefined ? undefined : JSON.stringify(value);
  const isJson = json !== undefined;
  return shelf.put({ text, isJson, ...(isJson && json !== text && { json }), title });
}

function limitOf({ maxChars, settings }: Omit<Shaping, 'select'>): number {
  return maxChars ?? settings.limits.resultChars;
}

/** A projection that works on this very value. */
function exampleSelect(value: unknown): string {
  if (Array.isArray(value)) return `[0:5]${memberOf(value[0])}`;
  if (!isRecord(value)) return '@';
  const [name, list] = Object.entries(value).find(([, inner]) => Array.isArray(inner) && inner.length > 0) ?? [];
  if (name === undefined || !Array.isArray(list)) return 'keys(@)';
  return `${identifier(name)}[0:5]${memberOf(list[0])}`;
}

function memberOf(item: unknown): string {
  const [key] = isRecord(item) ? Object.keys(item) : [];
  return key === undefined ? '' : `.${identifier(key)}`;
}

function identifier(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
}

/**
 * What a result is as JSON: its structured content, else its text or texts where they are JSON. Some servers put a text into
 * structured content as it is; where that text is JSON it comes second, for whoever means what is in it.
 */
export function valuesOf({ structuredContent, content }: ToolResult): unknown[] {
  const texts = (Array.isArray(content) ? content : []).filter(isText).map(({ text }) => text);
  if (structuredContent !== undefined) {
    const inner = texts.length === 1 && isWrapped(texts[0], structuredContent) ? readJson(texts[0] ?? '') : undefined;
    return inner === undefined ? [structuredContent] : [structuredContent, inner];
  }
  const values = texts.map(readJson);
  if (values.length === 0 || values.some((value) => value === undefined)) return [];
  return values.length === 1 ? values : [values];
}

/** Whether its structured content is nothing but its text, and that is no JSON. */
function isPlain(result: ToolResult): boolean {
  const texts = (result.content ?? []).filter(isText);
  return texts.length === 1 && isWrapped(texts[0]?.text, result.structuredContent) && valuesOf(result).length === 1;
}

function isWrapped(text: unknown, structured: unknown): boolean {
  const inside = isRecord(structured) ? Object.values(structured) : [];
  return inside.length === 1 && inside[0] === text;
}

export function isText(block: unknown): block is Text {
  return isRecord(block) && block.type === 'text' && typeof block.text === 'string';
}

function shorten(block: unknown, compression: Settings['compression']): unknown {
  if (!isText(block)) return block;
  const value = parseJson(block.text);
  if (value === undefined) return block;
  const text = renderJson(value, compression);
  return text.length < block.text.length ? { ...block, text } : block;
}

/** The value of a text that is a JSON object or array, unless a number in it is too long to survive parsing. */
function parseJson(text: string): unknown {
  return /\d{16}/.test(text) ? undefined : readJson(text);
}

/** Texts, and whole numbers of sixteen digits or more outside of them. */
const TEXT_OR_LONG = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** The same for whoever wants a part of it: whole numbers too long for JavaScript become text. */
export function readJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const safe = /\d{16}/.test(text) ? text.replace(TEXT_OR_LONG, quoteLong) : text;
  try {
    return parseExact(safe);
  } catch {
    return undefined;
  }
}

function quoteLong(token: string): string {
  return token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`;
}
