/** The arguments of `exec`: other spellings are understood, and a value that would have no effect is refused. */
import { isDeepStrictEqual } from 'node:util';
import { McpxError } from '../../errors.ts';
import { asName, nearest } from '../../render/text.ts';
import { isWrapper, readArguments } from '../../router/arguments.ts';
import { didYouMean } from '../../router/not-found.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { isAbsent, isEmptyList, OWN, withSpellings } from './exec-members.ts';
import { readTarget } from './tool-target.ts';

/** Returns the call under the documented names. */
export function knownCall(given: Params): Params {
  return withArguments(withTarget(withSpellings(given)));
}

/** Takes `name` for the tool, and `server` beside a tool without a server. */
function withTarget(given: Params): Params {
  const { name, ...withoutName } = given;
  const isNamed = ['tool', 'tool_name', 'method', 'calls'].some((key) => !isAbsent(given[key]));
  const call = !isNamed && typeof name === 'string' ? { ...withoutName, tool: name } : given;
  const { server, ...withoutServer } = call;
  if (typeof server !== 'string' || !isAbsent(call.server_name) || isQualified(call)) return call;
  // Without `arguments`, a `server` among other values may be an argument of the tool.
  const isAlone =
    call.arguments !== undefined || Object.keys(withoutServer).every((key) => OWN.includes(key) || isWrapper(key));
  return isAlone ? { ...withoutServer, server_name: server } : call;
}

function isQualified({ tool, method }: Params): boolean {
  return [tool, method].some((name) => typeof name === 'string' && name.includes('.'));
}

/** Some models put the arguments of the tool next to `arguments`, which is then missing or empty. */
function withArguments(call: Params): Params {
  const entries = Object.entries(call);
  const beside = entries.filter(([key]) => !OWN.includes(key));
  const isBatch = !isAbsent(call.calls) && !isEmptyList(call.calls);
  if (beside.length === 0 || isBatch || !isEmpty(call.arguments)) return call;
  const own = entries.filter(([key]) => OWN.includes(key));
  return { ...Object.fromEntries(own), arguments: Object.fromEntries(beside) };
}

function isEmpty(value: unknown): boolean {
  return isAbsent(value) || (isRecord(value) && Object.keys(value).length === 0);
}

/** Returns what stands beside the arguments of `exec`, without values that say nothing new. */
function straysOf(call: Params): [key: string, value: unknown][] {
  const { server, tool } = readTarget(call);
  const isRepeated = (key: string, value: unknown) =>
    (key === 'server' && value === server) || (key === 'name' && (value === tool || value === call.tool));
  return Object.entries(call).filter(
    ([key, value]) => !OWN.includes(key) && !isEmpty(value) && !isRepeated(key, value),
  );
}

export function hasStrays(call: Params): boolean {
  return Object.keys(call).some((key) => !OWN.includes(key)) && straysOf(call).length > 0;
}

/**
 * Returns the call with the parameters of the tool that stand beside `arguments` in it. Throws for any other value,
 * because without it the call would do something else.
 */
export function withStrays(call: Params, inputSchema: unknown): Params {
  const args = readArguments(call.arguments);
  const properties = isRecord(inputSchema) && isRecord(inputSchema.properties) ? inputSchema.properties : {};
  const more: Params = {};
  for (const [key, value] of straysOf(call)) {
    if (args === undefined || !Object.hasOwn(properties, key)) throw unknownArgument(key);
    if (!Object.hasOwn(args, key)) more[key] = value;
    else if (!isDeepStrictEqual(args[key], value)) throw twoValues(key);
  }
  return { ...call, arguments: { ...args, ...more } };
}

/** Throws for an argument beside `calls` that applies to none of them. */
export function checkBatch(batch: Params): void {
  for (const [key, value] of Object.entries(batch)) {
    if (isEmpty(value)) continue;
    if (!OWN.includes(key)) throw unknownArgument(key);
    const isForOne = ['arguments', 'select', 'each'].includes(key) || (key === 'show' && String(value) === 'false');
    if (isForOne) {
      throw new McpxError('arguments', `not run: "${key}" beside "calls" applies to none of them`, {
        hint: `write "${key}" in each call that it is for`,
      });
    }
  }
}

function unknownArgument(key: string): McpxError {
  const close = nearest(key, OWN, 1);
  return new McpxError('arguments', `not run: there is no argument "${asName(key)}"${didYouMean(close)}`, {
    hint: 'parameters of the tool are members of "arguments"',
  });
}

function twoValues(key: string): McpxError {
  return new McpxError(
    'arguments',
    `not run: "${asName(key)}" has one value in "arguments" and another one beside it`,
    {
      hint: 'parameters of the tool are members of "arguments"',
    },
  );
}
