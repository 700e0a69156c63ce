/** The arguments of a call in `exec`: other spellings of the server and the tool are understood. */
import { isWrapper } from '../../router/arguments.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { isAbsent } from './call-count.ts';

/** The arguments of `exec` itself. */
const OWN = [
  'server_name',
  'tool_name',
  'tool',
  'method',
  'arguments',
  'select',
  'calls',
  'each',
  'show',
  'parallel',
  'onError',
];

/** Other spellings of arguments of a batch, without case and underscores. */
const SPELT: ReadonlyMap<string, string> = new Map([
  ['onerror', 'onError'],
  ['foreach', 'each'],
]);

/** Returns the call under the documented names. */
export function knownCall(given: Params): Params {
  return withTarget(withSpellings(given));
}

/** A name beside `arguments`, or of a batch, is no argument of the tool. */
function withSpellings(given: Params): Params {
  const isOwn = [given.arguments, given.calls, given.each].some((value) => !isAbsent(value));
  const meant = (key: string) => SPELT.get(key.toLowerCase().replaceAll('_', ''));
  if (!isOwn || !Object.keys(given).some((key) => !OWN.includes(key) && meant(key) !== undefined)) return given;
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [meant(key) ?? key, value]));
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

/** Returns the arguments of the tool. Some models put them next to `arguments`, which is then missing or empty. */
export function argumentsOf(args: Params): unknown {
  const given = args.arguments ?? '';
  const isEmpty = given === '' || (isRecord(given) && Object.keys(given).length === 0);
  if (!isEmpty) return given;
  const beside = Object.entries(args).filter(([key]) => !OWN.includes(key));
  return beside.length > 0 ? Object.fromEntries(beside) : args.arguments;
}
