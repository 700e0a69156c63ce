/** Errors for what is not there or does not fit, with the nearest names and what there is. */
import type { ServerEntry } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/list.ts';
import { McpxError } from '../errors.ts';
import { asName, nearest } from '../render/text.ts';
import type { Params } from '../wire/message.ts';
import type { Problem } from './arguments.ts';

/** The facts behind a failed check, for whoever words the answer. */
export interface ArgumentFault {
  server: string;
  tool: Tool;
  problems: Problem[];
  /** Arguments of this client that worked. */
  worked?: Params | undefined;
}

const NO_SERVERS = 'no server is configured yet: add one to the file that `mcpx config path` names';

export function unknownServer(name: string, entries: ServerEntry[]): McpxError {
  const names = entries.map((entry) => entry.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `no server is called "${asName(name)}"${didYouMean(close)}`, {
    hint: names.length === 0 ? NO_SERVERS : `the servers are: ${some(names)}`,
    data: { nearest: close },
  });
}

export function unknownTool(server: string, name: string, tools: Tool[]): McpxError {
  const names = tools.map((tool) => tool.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `server "${server}" has no tool "${asName(name)}"${didYouMean(close)}`, {
    hint: names.length === 0 ? `"${server}" offers no tools` : `its tools are: ${some(names)}`,
    data: { nearest: close },
  });
}

export function badArguments(fault: ArgumentFault): McpxError {
  const lines = fault.problems.map(({ path, message }) => `  ${path === '' ? 'arguments' : path}: ${message}`);
  const head = `the arguments do not fit "${fault.server}.${fault.tool.name}"`;
  return new McpxError('arguments', [head, ...lines].join('\n'), { data: fault });
}

export function didYouMean(names: string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`;
}

/** Names in an error; a longer list is cut and counted. */
const MAX_NAMES = 40;

export function some(names: string[]): string {
  const shown = [...names].sort().slice(0, MAX_NAMES).join(', ');
  return names.length <= MAX_NAMES ? shown : `${shown} and ${names.length - MAX_NAMES} more`;
}
