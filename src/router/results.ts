/** Results on their way to a model: a part that was selected, JSON written short, and a handle for what is too large. Never the other front. */
import type { Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { pageText } from '../render/page.ts';
import { renderShape } from '../render/shape.ts';
import { isLarger } from '../render/size.ts';
import { renderJson } from '../render/toon.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Projection } from './project.ts';
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
  const value = jsonOf(result);
  try {
    if (value === undefined) throw new Error('the result is no JSON, and so has no parts to select');
    return selected(result, value, select, shaping);
  } catch (error) {
    const note = `error: the tool ran, do not run it again for this; ${messageOf(error)}. Its result without "select":`;
    const shaped = whole(result, shaping);
    return { ...shaped, isError: true, content: [textBlock(note), ...(shaped.content ?? [])] };
  }
}

/** A JSON value for a model: short, or its head and a handle. */
export function presentValue(value: unknown, shaping: Omit<Shaping, 'select'>): Text[] {
  const text = renderJson(value, shaping.settings.compression);
  const blocks = present({ text, value }, shaping) ?? [textBlock(text)];
  if (value !== null) return blocks;
  return [...blocks, textBlock('[nothing there: "select" matched nothing, or what it matched is null]')];
}

function selected(result: ToolResult, value: unknown, select: Projection, shaping: Shaping): ToolResult {
  const part = select(value);
  const others = (result.content ?? []).filter((block) => !isText(block));
  const { structuredContent: _, content: __, ...rest } = result;
  const blocks = presentValue(part, shaping);
  if (part === null) blocks.push(textBlock(`[the type of the result: ${renderShape(value)}]`));
  const structured = shaping.settings.front.structured === 'always' && isRecord(part);
  return { ...rest, content: [...blocks, ...others], ...(structured && { structuredContent: part }) };
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
    const whole = { text: texts.map(({ text }) => text).join('\n'), value: jsonOf(result) };
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
  const json = value === undefined ? undefined : JSON.stringify(value);
  const stored = shaping.shelf.put({
    text,
    isJson: json !== undefined,
    ...(json !== undefined && json !== text && { json }),
    title: shaping.title,
  });
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

/** What a result is as JSON: its structured content, else its text or texts where they are JSON. */
export function jsonOf({ structuredContent, content }: ToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const values = (Array.isArray(content) ? content : []).filter(isText).map(({ text }) => readJson(text));
  if (values.length === 0 || values.some((value) => value === undefined)) return undefined;
  return values.length === 1 ? values[0] : values;
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
    return JSON.parse(safe);
  } catch {
    return undefined;
  }
}

function quoteLong(token: string): string {
  return token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`;
}
