/** Reads a result that holds too many values to be parsed as a whole: its members as far as they can be, the others as text. */
import { parseExact } from '../exact.ts';
import { estimateParse, MAX_PARSED } from '../wire/cost.ts';
import { membersOf } from '../wire/members.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Unparsed } from '../wire/unparsed.ts';
import type { ToolResult } from './request.ts';

/**
 * Content that cannot be parsed becomes a text of its JSON. The same holds for structured content where nothing else says what is in it; otherwise it is
 * left out, as is every other member that cannot be parsed.
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

/** Undefined where a server wrote something else than JSON. */
function parse(json: string): unknown {
  try {
    return parseExact(json);
  } catch {
    return undefined;
  }
}
