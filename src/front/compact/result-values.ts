/** The values of a result that `select` and references work on: its JSON, or its text and the lines of it. */

import type { Text } from '../../render/text-block.ts';
import type { ToolResult } from '../../router/router.ts';
import { isRecord } from '../../wire/message.ts';
import { readJson, readProblem } from './json-text.ts';
import type { Kept } from './result-store.ts';
import type { Projection } from './select.ts';
import { linesOf } from './select-functions.ts';

/** The values that a call gave. */
export interface Given {
  /** The result as a whole: its JSON value, or its text. */
  whole: unknown;
  /** The text as the server wrote it, if the result is one text. */
  text?: string | undefined;
  /** Alternative values; an expression takes the first one that it fits. A text is a list of lines, then a text. */
  values: unknown[];
  /** Why a text that looks like JSON was not parsed; it has no values then. */
  problem?: string | undefined;
  /** The key under which a server repeats its text in the structured content, and that content. */
  wrapper?: { key: string; value: unknown };
}

export interface Reading {
  result: ToolResult;
  texts: string[];
  /** Parses each text at most once. */
  jsonOf(text: string): unknown;
  /** See `valuesOf`. */
  values(): unknown[];
}

export function readResult(result: ToolResult): Reading {
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
export function isPlain({ result, texts, values }: Reading): boolean {
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

/** Returns what a result gives to `select` and to references. */
export function givenBy(reading: Reading): Given {
  const { result, texts } = reading;
  const { structuredContent } = result;
  const [text] = texts;
  const values = reading.values();
  if (values.length > 0 && !isPlain(reading)) {
    return { whole: values.at(-1), values, ...(texts.length === 1 && { text }) };
  }
  const given = givenByText(texts.join('\n'));
  if (!isRecord(structuredContent)) return given;
  const [key = ''] = Object.keys(structuredContent);
  return { ...given, values: [...given.values, structuredContent], wrapper: { key, value: structuredContent } };
}

export function givenByStored({ isJson, json, text }: Pick<Kept, 'isJson' | 'json' | 'text'>): Given {
  const source = json ?? text;
  const value = isJson ? readJson(source) : undefined;
  return value === undefined ? givenByText(source) : { whole: value, text: source, values: [value] };
}

/** Returns what a selected part gives. */
export function givenByValue(value: unknown): Given {
  return typeof value === 'string' ? givenByText(value) : { whole: value, values: [value] };
}

function givenByText(text: string): Given {
  const problem = readProblem(text);
  if (problem !== undefined) return { whole: text, text, values: [], problem };
  return { whole: text, text, values: [linesOf(text), text] };
}

/** The selected part; null if the expression matches nothing. */
export interface Part {
  part: unknown;
  /** True if it was selected from a text, whose parts are text too. */
  isFromText: boolean;
}

/**
 * Applies an expression to the first value that it fits. If a server repeats its text under a key, that object comes
 * first for an expression that names the key.
 */
export function partOf({ values, text, whole, wrapper }: Given, select: Projection): Part {
  const first = wrapper !== undefined && select.names.has(wrapper.key) ? [wrapper.value] : [];
  let problem: unknown;
  let isApplied = false;
  for (const value of [...first, ...values]) {
    try {
      const part = select(value);
      isApplied = true;
      if (part !== null) return { part, isFromText: text !== undefined && text === whole };
    } catch (error) {
      problem = error;
    }
  }
  if (!isApplied && problem !== undefined) throw problem;
  return { part: null, isFromText: false };
}

/** Returns the text of a part that is written without JSON: a string, or lines of a text; undefined for any other part. */
export function ownTextOf(part: unknown, isFromText: boolean): string | undefined {
  if (typeof part === 'string') return part;
  if (!isFromText || !Array.isArray(part) || part.length === 0) return undefined;
  return part.every((line) => typeof line === 'string' && !line.includes('\n')) ? part.join('\n') : undefined;
}
