/** Errors for unknown servers, unknown tools and invalid arguments, with the nearest names. */
import type { ServerEntry } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/listing.ts';
import { McpxError } from '../errors.ts';
import { asName, closest, nearest } from '../render/text.ts';
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
  const how = '`mcpx init` imports those of your clients, `mcpx add` adds one';
  return `no server is configured yet: ${file === undefined ? how : `add one to ${file}`}`;
}

export function unknownServer(name: string, entries: ServerEntry[], file: string | undefined): McpxError {
  const names = entries.map((entry) => entry.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `no server is called "${asName(name)}"${didYouMean(close)}`, {
    ...hintOf(name, { close, names }, { none: noServers(file), all: 'the servers are' }),
    data: { nearest: close },
  });
}

export function unknownTool(server: string, name: string, tools: Tool[]): McpxError {
  const names = tools.map((tool) => tool.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `server "${server}" has no tool "${asName(name)}"${didYouMean(close)}`, {
    ...hintOf(name, { close, names }, { none: `"${server}" offers no tools`, all: 'its tools are' }),
    data: { nearest: close },
  });
}

/** Returns the hint beside the similar names: all names if there are few, else the closest ones if none is similar. */
function hintOf(
  name: string,
  { close, names }: { close: string[]; names: string[] },
  { none, all }: { none: string; all: string },
): { hint?: string } {
  if (names.length === 0) return { hint: none };
  if (names.length <= FEW || (close.length === 0 && names.length <= MAX_NAMES))
    return { hint: `${all}: ${some(names)}` };
  return close.length > 0 ? {} : { hint: `the nearest of ${names.length} are: ${closest(name, names).join(', ')}` };
}

export function badArguments(fault: ArgumentFault): McpxError {
  const head = `the arguments do not fit "${fault.server}.${fault.tool.name}"`;
  const lines = problemLines(fault.problems);
  const rest = lines.length - MAX_LINES;
  const shown = rest > 0 ? [...lines.slice(0, MAX_LINES), `  and ${rest} more problems`] : lines;
  return new McpxError('arguments', [head, ...shown].join('\n'), { data: fault });
}

/** Maximum number of problems that a message lists. */
const MAX_LINES = 20;
/** Number of missing parameters that get a line each; more of them share one line. */
const MISSING_APART = 4;
/** Maximum characters of the names of the missing parameters. */
const MAX_MISSING = 100;

/** Describes each problem on a line; many missing parameters are one line. */
export function problemLines(problems: Problem[]): string[] {
  const missing = problems.filter(({ message }) => message === 'missing');
  const isFolded = missing.length > MISSING_APART;
  const apart = isFolded ? problems.filter((problem) => !missing.includes(problem)) : problems;
  const lines = apart.map(({ path, message }) => `  ${path === '' ? 'arguments' : path}: ${message}`);
  if (!isFolded) return lines;
  const names = missing.map(({ path }) => path);
  return [`  missing: ${firstNames(names, MAX_MISSING)}`, ...lines];
}

/** Joins the names that fit into a number of characters, and counts the others. */
export function firstNames(names: string[], characters: number): string {
  const lengths = names.map((_, index) => names.slice(0, index + 1).join(', ').length);
  const shown = names.slice(0, lengths.filter((length) => length <= characters).length);
  const rest = names.length - shown.length;
  return rest === 0 ? shown.join(', ') : `${shown.join(', ')} and ${rest} more`;
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
