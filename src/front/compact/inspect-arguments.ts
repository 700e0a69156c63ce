/** The arguments of `inspect`: other spellings are understood, and an unknown one is refused, because ignoring it would answer another question. */
import { McpxError } from '../../errors.ts';
import { asName, nearest } from '../../render/text.ts';
import { didYouMean } from '../../router/not-found.ts';
import type { Params } from '../../wire/message.ts';

const KNOWN = ['tool', 'server_name', 'tool_name', 'method', 'query', 'result', 'select', 'offset', 'limit'];

/** Names that models and clients use for an argument, without case and separators. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ...KNOWN.map((name): [string, string] => [folded(name), name]),
  ['server', 'server_name'],
  ['servers', 'server_name'],
  ['name', 'tool'],
  ['tools', 'tool'],
  ['search', 'query'],
  ['queries', 'query'],
  ['q', 'query'],
  ['question', 'query'],
  ['resultid', 'result'],
  ['handle', 'result'],
]);

/** Returns the arguments under their documented names; a value that is given under its documented name wins. */
export function knownArguments(given: Params): Params {
  const args: Params = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const name = KNOWN.includes(key) ? key : MEANT.get(folded(key));
    if (name === undefined) throw unknownArgument(key);
    const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
    if (name === key || !Object.hasOwn(given, name)) args[name] = only;
  }
  return args;
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

function unknownArgument(key: string): McpxError {
  const close = nearest(key, KNOWN, 1);
  return new McpxError('arguments', `"${asName(key)}" is not an argument of inspect${didYouMean(close)}`, {
    hint: `the arguments are: ${KNOWN.filter((name) => name !== 'method').join(', ')}`,
  });
}
