/** Parses tool arguments from a command line. */
import { McpxError, messageOf } from '../errors.ts';
import { parseLossless } from '../lossless-json.ts';
import { shellWord } from './shell-word.ts';

/** Parses `key=value` as a string, which argument validation may convert to the type of the schema, and `key:=json` as JSON. */
export function readPair(pair: string): [string, unknown] {
  const match = /^([^=:]+)(:?=)(.*)$/s.exec(pair);
  if (match === null) {
    throw new McpxError('usage', `"${pair}" is not an argument`, {
      hint: /^\s*\{/.test(pair)
        ? `arguments in JSON follow --args: --args ${shellWord(pair)}`
        : 'write key=value, or key:=json for numbers, lists and objects',
    });
  }
  const [, key = '', operator, value = ''] = match;
  return [key, operator === ':=' ? parseJson(value, `the value of "${key}"`) : value];
}

export function parseJson(text: string, what: string): unknown {
  try {
    return parseLossless(text);
  } catch (cause) {
    throw new McpxError('usage', `${what} is not JSON: ${messageOf(cause)}`, { cause, hint: 'quote it for the shell' });
  }
}
