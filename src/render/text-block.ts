/** Text content blocks that mcpx itself writes, in a form that every client accepts. */
import type { TextContent } from '@modelcontextprotocol/sdk/types.js';

export interface Text {
  type: 'text';
  text: string;
}

/** Creates a block with the text of a server, unchanged. */
export const exactBlock = (text: string): Text => ({ type: 'text', text }) satisfies TextContent;

export function textBlock(text: string): Text {
  return exactBlock(ownText(text));
}

/**
 * Returns text in a form that clients do not misread. Gemini CLI takes a text that is JSON for `structuredContent`, and
 * rejects the result unless it is an object (https://github.com/google-gemini/gemini-cli/pull/27045). Copilot CLI and
 * OpenAI Agents join blocks without a separator.
 */
export function ownText(text: string): string {
  return ended(isBareJson(text) ? `result: ${text}` : text);
}

/** Puts a word before the first text of a result if it is JSON but no object. */
export function withLabel(content: unknown[]): unknown[] {
  const first = content.findIndex(isTextBlock);
  const block = content[first];
  if (!isTextBlock(block) || !isBareJson(block.text)) return content;
  return content.with(first, { ...block, text: ownText(block.text) });
}

function isTextBlock(block: unknown): block is Text {
  const { type, text } = (block ?? {}) as Partial<Text>;
  return type === 'text' && typeof text === 'string';
}

/** Creates a block to follow `content`, which starts on a new line in clients that join blocks. */
export function followingBlock(content: unknown[], text: string): Text {
  return textBlock(endsOpen(content) ? `\n${text}` : text);
}

/** Returns an exact excerpt and a note about it; the note comes first if the excerpt could be misread without it. */
export function pieceBlocks(piece: string, note: string, before: unknown[] = []): Text[] {
  const exact = exactBlock(piece);
  const isNotedFirst = isBareJson(piece) || endsOpen(before);
  return isNotedFirst ? [followingBlock(before, note), exact] : [exact, followingBlock([exact], note)];
}

/** True if the last block is a text that does not end with a newline. */
function endsOpen(content: unknown[]): boolean {
  const { text } = (content.at(-1) ?? {}) as { text?: unknown };
  return typeof text === 'string' && text !== '' && !text.endsWith('\n');
}

function ended(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** True if a text is JSON but not an object. */
function isBareJson(text: string): boolean {
  if (!/^\s*[[\d"tfn-]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
