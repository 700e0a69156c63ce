/** The text of a result, or of a part of it, on stdout: JSON is written in the same way in both. */
import { parseLossless } from '../lossless-json.ts';
import type { ToolResult } from '../router/router.ts';
import { parseProblem } from '../wire/parse-cost.ts';
import { blockText } from './content-lines.ts';

/** Characters of JSON that stay on one line. */
const ONE_LINE = 80;

/** Returns a value as JSON: on one line if it is short, else indented. */
export function valueText(value: unknown): string {
  const line = JSON.stringify(value);
  return line.length <= ONE_LINE ? line : JSON.stringify(value, null, 2);
}

/** Returns the blocks of a result, or its structured content if it has no blocks. A text that is JSON is written as such. */
export function resultText({ content, structuredContent }: ToolResult): string {
  const blocks = Array.isArray(content) ? content : [];
  if (blocks.length === 0) return valueText(structuredContent ?? {});
  return blocks.map((block) => asJson(blockText(block))).join('\n');
}

/** Returns JSON objects and lists in the form of `valueText`, with every digit of their numbers, and other text unchanged. */
function asJson(text: string): string {
  if (!/^\s*[[{]/.test(text) || !isExact(text) || parseProblem(text) !== undefined) return text;
  try {
    return valueText(parseLossless(text));
  } catch {
    return text;
  }
}

/** True if no digit would be lost: before version 21, Node rounds numbers of many digits. */
function isExact(text: string): boolean {
  return 'rawJSON' in JSON || !/\d{16}/.test(text);
}
