/** Reads a result with too many values to parse completely: parses the members that are small enough. */
import { parseLossless } from '../lossless-json.ts';
import { membersOf } from '../wire/json-members.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { estimateParse, MAX_PARSED } from '../wire/parse-cost.ts';
import type { Unparsed } from '../wire/unparsed-result.ts';
import type { ToolResult } from './request-context.ts';

/**
 * Content that is too large to parse becomes a text block with its JSON. Structured content that is too large does so
 * if the result has no text block. Every other member that is too large is left out.
 */
export function readShallow({ text }: Unparsed): ToolResult {
  const parsed: [string, unknown][] = [];
  const unparsed = new Map<string, string>();
  let left = MAX_PARSED;
  for (const [key, json] of membersOf(text)) {
    const { bytes, isDeep } = estimateParse(json, left);
    if (isDeep || bytes > left) unparsed.set(key, json);
    else {
      left -= bytes;
      parsed.push([key, parse(json)]);
    }
  }
  const read: Params = Object.fromEntries(parsed);
  const content: unknown[] = Array.isArray(read.content) ? read.content : [];
  const texts = [unparsed.get('content'), content.some(isText) ? undefined : unparsed.get('structuredContent')];
  const blocks = texts.filter((text) => text !== undefined).map((text) => ({ type: 'text', text }));
  return { ...read, content: [...content, ...blocks] };
}

function isText(block: unknown): boolean {
  return isRecord(block) && block.type === 'text';
}

/** Returns undefined for invalid JSON. */
function parse(json: string): unknown {
  try {
    return parseLossless(json);
  } catch {
    return undefined;
  }
}
