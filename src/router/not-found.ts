/** Errors for unknown servers, unknown tools and invalid arguments, with the nearest names. */
import type { ServerEntry } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/listing.ts';
import { McpxError } from '../errors.ts';
import { asName, nearest } from '../render/text.ts';
import type { Params } from '../wire/message.ts';
import type { Problem } from './arguments.ts';

/** Details of a failed argument check, as error data. */
export interface ArgumentFault {
  server: string;
  tool: Tool;
  problems: Problem[];
  /** Arguments of an earlier successful call of this client. */
  worked?: Params | undefined;
}

/** Tells a model where a server is added; `file` is the path of the config, if the client may know it. */
export function noServers(file: string | undefined): string {
  return `no server is configured yet: add one to ${file === undefined ? 'the file that `mcpx config path` prints' : file}`;
}

export function unknownServer(name: string, entries: ServerEntry[], file: string | undefined): McpxError {
  const names = entries.map((entry) => entry.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `no server is called "${asName(name)}"${didYouMean(close)}`, {
    ...hintOf(close, names, { none: noServers(file), all: 'the servers are' }),
    data: { nearest: close },
  });
}

export function unknownTool(server: string, name: string, tools: Tool[]): McpxError {
  const names = tools.map((tool) => tool.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `server "${server}" has no tool "${asName(name)}"${didYouMean(close)}`, {
    ...hintOf(close, names, { none: `"${server}" offers no tools`, all: 'its tools are' }),
    data: { nearest: close },
  });
}

/** Returns the hint beside the nearest names: all names if there are few, some if no name is near. */
function hintOf(close: string[], names: string[], { none, all }: { none: string; all: string }): { hint?: string } {
  if (names.length === 0) return { hint: none };
  return close.length > 0 && names.length > FEW ? {} : { hint: `${all}: ${some(names)}` };
}

export function badArguments(fault: ArgumentFault): McpxError {
  const lines = fault.problems.map(({ path, message }) => `  ${path === '' ? 'arguments' : path}: ${message}`);
  const head = `the arguments do not fit "${fault.server}.${fault.tool.name}"`;
  return new McpxError('arguments', [head, ...lines].join('\n'), { data: fault });
}

export function didYouMean(names: string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`;
}

/** Number of names that an error may repeat beside the nearest ones. */
const FEW = 3;
/** Maximum number of names in an error; further names are counted. */
const MAX_NAMES = 10;

export function some(names: string[]): string {
  const shown = [...names].sort().slice(0, MAX_NAMES).join(', ');
  return names.length <= MAX_NAMES ? shown : `${shown} and ${names.length - MAX_NAMES} more`;
}
