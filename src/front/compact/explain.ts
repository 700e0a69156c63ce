/** Error messages for a model: the problem, the parameters that failed, and a valid example call if it is short. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../catalog/listing.ts';
import { McpxError, messageOf, RpcError } from '../../errors.ts';
import { partLine } from '../../render/part-line.ts';
import { textBlock } from '../../render/text-block.ts';
import { estimateTokens } from '../../render/token-estimate.ts';
import { parameterList } from '../../render/typescript.ts';
import { exampleArguments, type Problem } from '../../router/arguments.ts';
import { type ArgumentFault, firstNames, problemLines } from '../../router/not-found.ts';
import type { ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { type Dialect, written } from './dialect.ts';

/** Returns a failure as a tool result, so that the model can correct its call. */
export function errorResult(error: unknown, dialect: Dialect): ToolResult {
  return { content: [textBlock(explain(error, dialect))], isError: true } satisfies CallToolResult;
}

function explain(error: unknown, dialect: Dialect): string {
  if (error instanceof RpcError) return `error ${error.code}: ${error.message}`;
  if (!(error instanceof McpxError)) return `error: ${messageOf(error)}`;
  if (error.code === 'arguments' && isFault(error.data)) return explainFault(error.message, error.data, dialect);
  const hint = error.hint === undefined ? '' : `\nhint: ${error.hint}`;
  return `error: ${error.message}${hint}`;
}

/** Describes only what failed; the model knows the rest, or looks it up. */
function explainFault(message: string, { server, tool, problems, worked }: ArgumentFault, dialect: Dialect): string {
  const [head = ''] = message.split('\n');
  const more = `more: ${written(dialect.inspect, dialect.target(server, tool.name))}`;
  const parts = failedParts(tool, problems);
  const about = [...parts].map(([path, line]) => `${path}: ${line}`);
  const budget = tokenBudget(MAX_TOKENS - estimateTokens(`error: ${head}\n${more}`));
  const told = budget.take(problemLines(problems), (rest) => `  and ${rest} more problems`);
  const types = budget.take(about, (rest) => (rest < about.length ? `… and ${rest} more` : undefined));
  const others = parts.size === types.length ? budget.take(otherParameters(tool, parts)) : [];
  const text = [`error: ${head}`, ...told, ...(types.length > 0 ? ['', ...types] : []), ...others].join('\n');
  const args = worked ?? exampleArguments(tool.inputSchema);
  const example = `example: ${exampleCall({ server, tool, worked: args }, dialect)}`;
  const isShort = estimateTokens(text) + estimateTokens(example) <= MAX_TOKENS;
  return `${text}\n${isShort && problems.some(({ path }) => has(args, keysOf(path))) ? example : more}`;
}

/** True if there is a value at the path. An example of another alternative of a union, or without the parameters that failed, is no help. */
function has(value: unknown, [key, ...rest]: string[]): boolean {
  if (key === undefined) return true;
  if (Array.isArray(value)) return value.length > 0 && has(value[0], [key, ...rest]);
  return isRecord(value) && Object.hasOwn(value, key) && has(value[key], rest);
}

/** Estimated tokens of an error; its example, and what it says of each problem, have to fit into them. */
const MAX_TOKENS = 125;
/** Maximum characters of the names of the parameters that did not fail. */
const MAX_OTHERS = 100;

/** Spends a number of estimated tokens on lines, in their order. */
function tokenBudget(tokens: number) {
  let left = tokens;
  return {
    /** Returns the lines that fit; if some do not, the last line counts them, unless `counted` gives none. */
    take(lines: string[], counted: (rest: number) => string | undefined = () => undefined): string[] {
      const costs = lines.map((line) => estimateTokens(line));
      const whole = costs.reduce((sum, cost) => sum + cost, 0);
      let room = whole <= left ? left : left - REST;
      const shown = lines.filter((_, index) => {
        room -= costs[index] ?? 0;
        return room >= 0;
      });
      left = room;
      const rest = lines.length - shown.length;
      const last = rest > 0 ? counted(rest) : undefined;
      return last === undefined ? shown : [...shown, last];
    },
  };
}

/** Estimated tokens of a line that counts the others. */
const REST = 6;

/** The type of each part that failed, by its path without the indexes of lists. */
function failedParts(tool: Tool, problems: Problem[]): Map<string, string> {
  const parts = new Map<string, string>();
  for (const { path } of problems) {
    const line = path === '' ? undefined : partLine(tool, pointerOf(path));
    if (line !== undefined) parts.set(path.replace(/\[[\d, …]+\]/g, '[]'), line);
  }
  return parts;
}

/** Returns the keys of `items[0].id`, without the index. */
function keysOf(path: string): string[] {
  return [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[[^\]]*\]|([^.[\]]+)/g)]
    .map(([, quoted, plain]) => quoted ?? plain)
    .filter((key) => key !== undefined);
}

/** Converts `items[0].id` to `items/id`. */
function pointerOf(path: string): string {
  return keysOf(path)
    .map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1'))
    .join('/');
}

/** Names the parameters that did not fail, because a model may not have seen the tool before. */
function otherParameters({ inputSchema }: Tool, parts: Map<string, string>): string[] {
  const failed = new Set([...parts.keys()].map((path) => keysOf(path)[0]));
  const names = parameterList(inputSchema, Number.POSITIVE_INFINITY)
    .split(', ')
    .filter((name) => name !== '' && name !== '…' && !failed.has(name.replace(/\?$/, '')));
  return names.length === 0 ? [] : [`other parameters: ${firstNames(names, MAX_OTHERS)}`];
}

export interface Example {
  server: string;
  tool: Tool;
  /** Arguments of an earlier successful call; otherwise the example is built from the schema. */
  worked?: Params | undefined;
}

/** Returns a call of this tool that passes its argument check. */
export function exampleCall({ server, tool, worked }: Example, dialect: Dialect): string {
  const args = worked ?? exampleArguments(tool.inputSchema);
  return written(dialect.exec, { ...dialect.target(server, tool.name), arguments: args });
}

function isFault(data: unknown): data is ArgumentFault {
  return typeof data === 'object' && data !== null && 'problems' in data && 'tool' in data;
}
