/** Moves literal secrets of imported entries to the file `secrets.env`, and puts `${input:…}` in their place. */
import { parseEnvText } from '../config/child-env.ts';
import { inputVariable } from '../config/expander.ts';
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import { mapPlaceholders } from '../config/placeholders.ts';
import { argumentParts, isCredentialName, publicSecrets, secretParts } from '../config/sensitive.ts';

/** A value of the secrets file, under the name of its variable. */
export interface Secret {
  variable: string;
  value: string;
}

export interface Moved {
  entry: JsonRecord;
  secrets: Secret[];
}

/** The minimum length of a value that is moved; shorter ones are switches and numbers. */
const SHORTEST = 6;

/**
 * Returns the entry without literal secrets. `server` is its name in the config of mcpx. `movesEvery` is true if every
 * value is moved that is masked where it is shown, also one that may be no secret.
 */
export function moveSecrets(server: string, entry: JsonRecord, movesEvery = false): Moved {
  const secrets: Secret[] = [];
  const take = (name: string, text: string, parts: string[]): string => {
    const literal = mapPlaceholders(text, () => ' ');
    const [longest] = parts
      .filter((part) => (movesEvery || isWorth(name, part)) && literal.includes(part))
      .sort((a, b) => b.length - a.length);
    if (longest === undefined || (!movesEvery && !isStorable(longest))) return text;
    const id = uniqueId(`${server}-${name}`, longest, secrets);
    secrets.push({ variable: inputVariable(id), value: longest });
    // A URL may hold several secrets.
    return take(
      name,
      text.replace(longest, () => `\${input:${id}}`),
      parts,
    );
  };
  const named = (value: unknown): unknown => {
    if (!isRecord(value)) return value;
    const pairs = Object.entries(value).map(([name, text]) => {
      return [name, typeof text === 'string' ? take(name, text, secretParts(name, text)) : text];
    });
    return Object.fromEntries(pairs);
  };
  const args = own(entry, 'args');
  const url = own(entry, 'url');
  const moved = {
    ...entry,
    ...(isRecord(entry.env) && { env: named(entry.env) }),
    ...(isRecord(entry.headers) && { headers: named(entry.headers) }),
    ...(isRecord(entry.oauth) && { oauth: named(entry.oauth) }),
    ...(typeof url === 'string' && { url: take('url', url, publicSecrets(url)) }),
    ...(Array.isArray(args) && { args: argumentsWithout(args.map(String), take) }),
  };
  return { entry: moved, secrets };
}

function argumentsWithout(args: string[], take: (name: string, text: string, parts: string[]) => string): string[] {
  const parts = argumentParts(args);
  return args.map((arg, index) => {
    const flag = /^--?([A-Za-z][\w-]*)/.exec(arg)?.[1] ?? /^--?([A-Za-z][\w-]*)$/.exec(args[index - 1] ?? '')?.[1];
    return take(flag ?? `argument-${index + 1}`, arg, parts[index] ?? []);
  });
}

/** A value counts if its name or its form says that it is a secret; an unknown word alone does not. */
function isWorth(name: string, part: string): boolean {
  if (part.length < SHORTEST) return false;
  return isCredentialName(name) || publicSecrets(part).length > 0 || /authorization|argument|^url$/i.test(name);
}

/** Two names may become one variable, such as `a-b` and `a_b`. */
function uniqueId(wanted: string, value: string, taken: Secret[]): string {
  const isFree = (id: string) => taken.every((one) => one.variable !== inputVariable(id) || one.value === value);
  let id = wanted.replace(/[^\w-]+/g, '-');
  for (let number = 2; !isFree(id); number++) id = `${wanted}-${number}`;
  return id;
}

/** Returns the text of the secrets file with these values; a line with the same variable is replaced. */
export function withSecrets(text: string, secrets: Secret[]): string {
  const replaced = new Set(secrets.map(({ variable }) => variable));
  const isKept = (line: string) => !replaced.has(/^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? '');
  const kept =
    text === ''
      ? []
      : text
          .replace(/\r?\n$/, '')
          .split(/\r?\n/)
          .filter(isKept);
  const lines = [
    ...new Map(secrets.map(({ variable, value }) => [variable, `${variable}=${quotedValue(value)}`])).values(),
  ];
  return `${[...kept, ...lines].join('\n')}\n`;
}

/** True if the secrets file can hold the value. */
export function isStorable(value: string): boolean {
  return quotedValue(value) !== undefined;
}

/** Returns the value in quotes that Node's reader gives back unchanged; undefined if there are none. */
function quotedValue(value: string): string | undefined {
  return ["'", '"', '`']
    .map((quote) => `${quote}${value}${quote}`)
    .find((written) => parseEnvText(`X=${written}`)[0]?.[1] === value);
}
