/** Text blocks of mcpx itself, as every client can take them. */

export interface Text {
  type: 'text';
  text: string;
}

/** Text that a server wrote, as it is. */
export const exactBlock = (text: string): Text => ({ type: 'text', text });

export function textBlock(text: string): Text {
  return exactBlock(ownText(text));
}

/**
 * Gemini CLI takes a text that is JSON for `structuredContent`, and rejects the result unless it is an object
 * (https://github.com/google-gemini/gemini-cli/pull/27045). Copilot CLI and OpenAI Agents join blocks with nothing between them.
 */
export function ownText(text: string): string {
  return ended(isBareJson(text) ? `result: ${text}` : text);
}

/** A block of mcpx that follows these, on a line of its own where clients join blocks. */
export function followingBlock(content: unknown[], text: string): Text {
  return textBlock(endsOpen(content) ? `\n${text}` : text);
}

/** A piece of a text exactly, and a note about it, which comes first where the piece could be mistaken. */
export function pieceBlocks(piece: string, note: string, before: unknown[] = []): Text[] {
  const exact = exactBlock(piece);
  const isNotedFirst = isBareJson(piece) || endsOpen(before);
  return isNotedFirst ? [followingBlock(before, note), exact] : [exact, followingBlock([exact], note)];
}

/** Whether the last of these blocks is a text in the middle of a line. */
function endsOpen(content: unknown[]): boolean {
  const { text } = (content.at(-1) ?? {}) as { text?: unknown };
  return typeof text === 'string' && text !== '' && !text.endsWith('\n');
}

function ended(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** Whether a text is JSON, and no object. */
function isBareJson(text: string): boolean {
  if (!/^\s*[[\d"tfn-]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
