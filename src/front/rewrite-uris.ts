/** Rewrites URIs inside results and tool definitions to exposed URIs, so that a client can read them. */

import { exposeUri } from '../catalog/exposed-uris.ts';
import type { Item } from '../catalog/listing.ts';
import type { Settings } from '../config/config.ts';
import type { ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';

type Style = Settings['naming']['resources'];

/** Maximum content blocks of a result whose URIs are rewritten; exposed URIs are longer, so more would take twice the memory. */
const MAX_BLOCKS = 10_000;

/** Rewrites links and embedded resources of a tool result; all other content is reused. A result with too many blocks stays as it is. */
export function rewriteUris(result: ToolResult, server: string, style: Style): ToolResult {
  const { content } = result;
  if (style === 'keep' || !Array.isArray(content) || content.length > MAX_BLOCKS || !content.some(hasUri))
    return result;
  return { ...result, content: content.map((block) => exposeBlock(block, server, style)) };
}

/** Rewrites the result of a task: the answer itself, or its `result` member in the modern era. */
export function exposeOutcome(answer: unknown, server: string, style: Style): unknown {
  if (!isRecord(answer)) return answer;
  const { result } = answer;
  if (isRecord(result)) return { ...answer, result: rewriteUris(result, server, style) };
  return rewriteUris(answer, server, style);
}

/** Rewrites links and embedded resources in the messages of a prompt. */
export function exposeMessages(result: unknown, server: string, style: Style): unknown {
  if (style === 'keep' || !isRecord(result) || !Array.isArray(result.messages)) return result;
  if (blocksIn(result.messages) > MAX_BLOCKS) return result;
  const messages = result.messages.map((message) => {
    if (!isRecord(message)) return message;
    const { content } = message;
    if (Array.isArray(content))
      return { ...message, content: content.map((block) => exposeBlock(block, server, style)) };
    return hasUri(content) ? { ...message, content: exposeBlock(content, server, style) } : message;
  });
  return { ...result, messages };
}

function blocksIn(messages: readonly unknown[]): number {
  const lists = messages.map((message) => (isRecord(message) && Array.isArray(message.content) ? message.content : []));
  return lists.reduce((sum, list) => sum + Math.max(1, list.length), 0);
}

function hasUri(block: unknown): boolean {
  return isRecord(block) && (block.type === 'resource_link' || block.type === 'resource');
}

function exposeBlock(block: unknown, server: string, style: Style): unknown {
  if (!isRecord(block)) return block;
  if (block.type === 'resource_link' && typeof block.uri === 'string') {
    return { ...block, uri: exposeUri({ server, uri: block.uri }, style) };
  }
  if (block.type === 'resource' && isRecord(block.resource) && typeof block.resource.uri === 'string') {
    return { ...block, resource: { ...block.resource, uri: exposeUri({ server, uri: block.resource.uri }, style) } };
  }
  return block;
}

/**
 * Flat `_meta` keys with the URI of the page that shows a tool's results: the older key of MCP Apps, and ChatGPT's
 * key.
 */
const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate'];

/** Rewrites the URI of the page that shows a tool's results, in `_meta.ui.resourceUri` or under a flat key. */
export function exposePage(meta: Item, server: string, style: Style): Item {
  const { ui } = meta;
  const expose = (uri: unknown) => (typeof uri === 'string' ? exposeUri({ server, uri }, style) : uri);
  const flat = PAGE_KEYS.filter((key) => meta[key] !== undefined).map((key) => [key, expose(meta[key])]);
  return {
    ...meta,
    ...(isRecord(ui) && 'resourceUri' in ui && { ui: { ...ui, resourceUri: expose(ui.resourceUri) } }),
    ...Object.fromEntries(flat),
  };
}
