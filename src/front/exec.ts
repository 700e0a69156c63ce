/** The `exec` tool: runs one tool and shapes its result; JSON becomes compact, everything else passes untouched. */
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { renderJson } from '../render/toon.ts';
import type { ToolResult, Way } from '../router/router.ts';
import { asksForInput } from '../upstream/rounds.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { FrontDeps } from './front.ts';
import { exposeLinks } from './links.ts';
import { ownerOf, readTarget } from './target.ts';

export function createExec({
  router,
  settings,
  listed,
  meter,
}: FrontDeps): (args: Params, way: Way) => Promise<ToolResult> {
  return async (args, way) => {
    const { server: named, tool } = readTarget(args);
    if (tool === undefined) {
      throw new McpxError('arguments', 'say which tool to run in "tool_name"', { hint: 'inspect lists the tools' });
    }
    if (named === undefined) await listed();
    const server = named ?? ownerOf(tool, router);
    const result = await router.call({ ...way, server, tool, arguments: args.arguments, questions: 'pass' });
    if (asksForInput(result)) return result;
    const shaped = shape(exposeLinks(result, server, settings.naming.resources), settings);
    meter.result(result, shaped);
    return shaped;
  };
}

/** `structuredContent` is the upstream's own; only text that is JSON is written shorter. */
export function shape(result: ToolResult, settings: Pick<Settings, 'compression' | 'front'>): ToolResult {
  const { structuredContent, ...rest } = result;
  const content = Array.isArray(result.content) ? result.content.map((block) => shorten(block, settings)) : [];
  if (content.length === 0 && structuredContent !== undefined) {
    content.push({ type: 'text', text: renderJson(structuredContent, settings.compression) });
  }
  const keep = structuredContent !== undefined && settings.front.structured !== 'never';
  return { ...rest, content, ...(keep && { structuredContent }) };
}

function shorten(block: unknown, { compression }: Pick<Settings, 'compression'>): unknown {
  if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string') return block;
  const value = parseJson(block.text);
  if (value === undefined) return block;
  const text = renderJson(value, compression);
  return text.length < block.text.length ? { ...block, text } : block;
}

/** The value of a text that is a JSON object or array, unless a number in it is too long to survive parsing. */
function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || /\d{16}/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
