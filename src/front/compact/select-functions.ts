/** The functions of `select`: those of JMESPath that are bounded, and `lines`, `split`, `replace`, `regex_find` for text. */
import { BoundedMap } from '../../bounded-map.ts';
import { McpxError } from '../../errors.ts';
import { isLarger } from '../../render/json-size.ts';
import { compileSearch, type Search } from '../../router/regex-search.ts';

/** Functions of the JMESPath specification, and extensions that are bounded in size and time. */
export const FUNCTIONS: ReadonlySet<string> = new Set(
  [
    'abs avg ceil contains ends_with floor join keys length map max max_by merge min min_by not_null reverse sort',
    'sort_by starts_with sum to_array to_number to_string type values',
    'find_first find_last from_items group_by items lower upper zip lines split replace regex_find',
  ].flatMap((names) => names.split(' ')),
);

/** A function that only the rewriting of expressions uses: no expression can contain this name. */
export const PART_OF_FILTERED = '$part_of_filtered';

type Library = typeof import('@jmespath-community/jmespath');
type Signature = { types: number[]; optional?: boolean }[];

/** Maximum number of compiled patterns that are kept. */
const MAX_PATTERNS = 100;

/** Registers the functions; none of them gives a text of more than `maxSize` characters. */
export function bindFunctions(library: Library, maxSize: number): void {
  const { registerFunction, TYPE_ANY, TYPE_ARRAY, TYPE_ARRAY_STRING, TYPE_EXPREF, TYPE_NULL, TYPE_STRING } = library;
  const bounded = (text: () => string, size: number) => {
    if (size > maxSize) throw new McpxError('overloaded', 'its result is too large');
    return text();
  };
  const text = { types: [TYPE_STRING] };
  const bind = (name: string, run: (args: never) => unknown, signature: Signature) =>
    registerFunction(name, run as never, signature as never, { override: true });

  bind(
    'join',
    ([glue, parts]: [string, string[]]) =>
      bounded(
        () => parts.join(glue),
        parts.reduce((total, part) => total + part.length + glue.length, 0),
      ),
    [text, { types: [TYPE_ARRAY_STRING] }],
  );
  bind(
    'to_string',
    ([value]: [unknown]) =>
      typeof value === 'string' ? value : bounded(() => JSON.stringify(value), isLarger(value, maxSize) ? Infinity : 0),
    [{ types: [TYPE_ANY] }],
  );
  bind('lines', ([subject]: [string]) => linesOf(subject), [text]);
  bind('split', ([subject, separator]: [string, string]) => subject.split(separator), [text, text]);
  bind(
    'replace',
    ([subject, from, to]: [string, string, string]) => {
      const pieces = from === '' ? [subject] : subject.split(from);
      return bounded(() => pieces.join(to), subject.length + (pieces.length - 1) * (to.length - from.length));
    },
    [text, text, text],
  );
  const patterns = new BoundedMap<string, Search>(MAX_PATTERNS);
  bind(
    'regex_find',
    ([subject, pattern, flags = '']: [string, string, string?]) => regexFind({ subject, pattern, flags }, patterns),
    [text, text, { types: [TYPE_STRING], optional: true }],
  );
  bind(
    PART_OF_FILTERED,
    function (this: { _interpreter: Interpreter }, [list, part]: [unknown[] | null, unknown]) {
      const of = (value: unknown) => this._interpreter.visit(part, value);
      if (list === null) return null;
      return list.some(Array.isArray) ? list.map(of).filter((found) => found !== null) : of(list);
    } as never,
    [{ types: [TYPE_ARRAY, TYPE_NULL] }, { types: [TYPE_EXPREF] }],
  );
}

interface Interpreter {
  visit(node: unknown, value: unknown): unknown;
}

interface Wanted {
  subject: string;
  pattern: string;
  /** `i` ignores case. */
  flags: string;
}

/** Returns the first match: its group if the pattern has one, a list of several groups, else all of it. */
function regexFind({ subject, pattern, flags }: Wanted, patterns: Map<string, Search>): unknown {
  const key = `${flags}/${pattern}`;
  const search = patterns.get(key) ?? compileSearch(pattern, flags === 'i');
  if (search === undefined || !['', 'i'].includes(flags)) throw notSupported(pattern);
  patterns.set(key, search);
  const found = search(subject);
  if (found === undefined) return null;
  const [whole = '', ...groups] = found;
  const texts = groups.map((group) => group ?? null);
  return texts.length > 1 ? texts : texts.length === 1 ? texts[0] : whole;
}

function notSupported(pattern: string): McpxError {
  return new McpxError(
    'arguments',
    `regex_find() cannot use ${JSON.stringify(pattern)}: a pattern has no look-around, no back reference and no \\p, and "i" is the only flag`,
  );
}

/** Returns the lines of a text; a line break at its end begins no other line. */
export function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
