/** Formats the content of results and prompts as lines for a terminal. */
import { isRecord } from '../wire/message.ts';

export function blockText(block: unknown): string {
  if (!isRecord(block)) return JSON.stringify(block);
  if (typeof block.text === 'string') return block.text;
  if (typeof block.data === 'string') {
    return `[${block.type} ${block.mimeType}, ${block.data.length} base64 characters; --json shows them]`;
  }
  return JSON.stringify(block);
}
