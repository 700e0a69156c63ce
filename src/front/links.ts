/** URIs inside results and definitions, exposed like the resources they point to, so that a client can read them. */
import type { Item } from '../catalog/list.ts';
import { exposeUri } from '../catalog/uris.ts';
import type { Settings } from '../config/config.ts';
import type { ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';

type Style = Settings['naming']['resources'];

/** Links and embedded resources of a tool's result; other content is the same object as before. */
export function exposeLinks(result: ToolResult, server: string, style: Style): ToolResult {
  if (style === 'keep' || !Array.isArray(result.content) || !result.content.some(hasUri)) return result;
  return { ...result, content: result.content.map((block) => exposeBlock(block, server, style)) };
}

/** The same in what a task has come to: the result itself, or in the modern era a part of how the task is. */
export function exposeOutcome(answer: unknown, server: string, style: Style): unknown {
  if (!isRecord(answer)) return answer;
  const { result } = answer;
  if (isRecord(result)) return { ...answer, result: exposeLinks(result, server, style) };
  return exposeLinks(answer, server, style);
}

/** The same in the messages of a prompt. */
export function exposeMessages(result: unknown, server: string, style: Style): unknown {
  if (style === 'keep' || !isRecord(result) || !Array.isArray(result.messages)) return result;
  const messages = result.messages.map((message) => {
    if (!isRecord(message)) return message;
    const { content } = message;
    if (Array.isArray(content))
      return { ...message, content: content.map((block) => exposeBlock(block, server, style)) };
    return hasUri(content) ? { ...message, content: exposeBlock(content, server, style) } : message;
  });
  return { ...result, messages };
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

/** Flat keys of `_meta` under which tools name the page that shows their results: the older one of MCP Apps, and that of ChatGPT. */
const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate'];

/** Where a tool names the page that shows its result: in `_meta.ui.resourceUri`, or under a flat key. */
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
