/** Collects the secret values of a server's launch, which no message, log or file may contain. */
import type { ServerSpec } from './config.ts';
import type { Launch } from './env.ts';
import { mapPlaceholders } from './placeholders.ts';
import { argumentParts, isCredentialName, isTokenLike, publicSecrets, secretParts } from './sensitive.ts';

export interface LaunchValues {
  spec: ServerSpec;
  launch: Launch;
  /** Names and values of the variables, inputs and files that replaced placeholders. */
  filled: readonly (readonly [name: string, value: string])[];
  /** Variables that the entry sets itself, in `env` or in its env files. */
  own: Readonly<Record<string, string>>;
}

/** The minimum length of a masked value. Shorter values are words and numbers; masking them would make messages unreadable. */
const SHORTEST = 8;
/** The minimum length for a value that has the name of a credential or is not a plain word. */
const SHORTEST_CREDENTIAL = 6;
/** The maximum length of a multi-line text whose lines are masked one by one as well. A private key is shorter. */
const MAX_LINES_OF = 16 * 1024;
/** The minimum length of such a line. */
const SHORTEST_LINE = 16;

export function launchSecrets({ spec, launch, filled, own }: LaunchValues): string[] {
  const words = publicWords(spec);
  const found = new Set<string>();
  const add = (name: string, part: string) => {
    const credential = isCredentialName(name);
    const plainWord = /^\p{L}*$/u.test(part);
    if (part.length < (credential || !plainWord ? SHORTEST_CREDENTIAL : SHORTEST)) return;
    if (spec.name.includes(part)) return;
    if (!credential && !isTokenLike(part) && words.some((word) => word.includes(part))) return;
    found.add(part);
    if (part.includes('\n') && part.length <= MAX_LINES_OF)
      for (const line of part.split(/\r?\n/)) if (line.length >= SHORTEST_LINE) found.add(line);
  };
  for (const [name, value] of [...filled, ...Object.entries(own)])
    for (const part of secretParts(name, value)) add(name, part);
  for (const [name, part] of otherParts(launch)) add(name, part);
  return [...found];
}

/** Returns values that do not come from the entry's `env`: arguments, inherited variables, the URL, headers, OAuth. */
function otherParts(launch: Launch): (readonly [name: string, part: string])[] {
  if (launch.type === 'builtin') return [];
  if (!('url' in launch)) return [...argumentsOf('args' in launch ? launch.args : []), ...inherited(launch.env)];
  const headers = Object.entries(launch.headers);
  return [
    ...publicSecrets(launch.url).map((part) => ['token', part] as const),
    ...headers.flatMap(([name, value]) => secretParts(name, value).map((part) => [name, part] as const)),
    ...secretParts('oauth', JSON.stringify(launch.oauth ?? {})).map((part) => ['token', part] as const),
    ...argumentsOf(launch.helper?.args ?? []),
    ...inherited({ ...launch.helper?.env, ...proxyVariables() }),
  ];
}

function argumentsOf(args: readonly string[]): (readonly [string, string])[] {
  return argumentParts(args).flatMap((parts) => parts.map((part) => ['token', part] as const));
}

/** Returns the secrets of inherited variables: only values with the name or the form of a credential count. */
function inherited(env: Readonly<Record<string, string>>): (readonly [string, string])[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const parts = isCredentialName(name) ? secretParts(name, value) : publicSecrets(value);
    return parts.map((part) => ['token', part] as const);
  });
}

/** Returns the proxy variables of mcpx: an error page of a proxy may repeat its credentials. */
function proxyVariables(): Record<string, string> {
  const proxies = Object.entries(process.env).filter(([name]) => /^(?:https?|all)_proxy$/i.test(name));
  return Object.fromEntries(proxies.map(([name, value = '']) => [name, value]));
}

/** Returns text that messages about the server contain. Ordinary values that occur in it are not masked. */
function publicWords(spec: ServerSpec): string[] {
  const literal = (text: string): string => mapPlaceholders(text, () => ' ');
  if (spec.type === 'stdio') {
    const secret = argumentParts(spec.args);
    const args = spec.args.filter((_, index) => secret[index]?.length === 0);
    return [spec.command, ...args, spec.cwd ?? ''].map(literal);
  }
  if (spec.type === 'module') return [literal(spec.module)];
  return 'url' in spec ? [literal(spec.url).replace(/^(\w+:\/\/)(?:[^/@]*@)?([^/?#]*).*$/s, '$1$2')] : [];
}
