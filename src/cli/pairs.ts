/** Arguments as words of a command line. */
import { McpxError, messageOf } from '../errors.ts';
import { parseExact } from '../exact.ts';

/** `key=value` is a string, which the check may turn into what the schema wants; `key:=json` is JSON. */
export function readPair(pair: string): [string, unknown] {
  const match = /^([^=:]+)(:?=)(.*)$/s.exec(pair);
  if (match === null) {
    throw new McpxError('usage', `"${pair}" is no argument`, {
      hint: 'write key=value, or key:=json for numbers, lists and objects',
    });
  }
  const [, key = '', operator, value = ''] = match;
  return [key, operator === ':=' ? parseJson(value, `the value of "${key}"`) : value];
}

export function parseJson(text: string, what: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    throw new McpxError('usage', `${what} is not JSON: ${messageOf(cause)}`, { cause, hint: 'quote it for the shell' });
  }
}
