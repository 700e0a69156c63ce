/** Every secret value that a server is started or reached with: no message, log or file may quote one of them. */
import type { ServerSpec } from './config.ts';
import type { Launch } from './env.ts';
import { mapPlaceholders } from './placeholders.ts';
import { argumentParts, isCredentialName, isTokenLike, publicSecrets, secretParts } from './sensitive.ts';

export interface LaunchValues {
  spec: ServerSpec;
  launch: Launch;
  /** Variables, inputs and files that took the place of placeholders, by name. */
  filled: readonly (readonly [name: string, value: string])[];
  /** Variables that the entry sets itself, also by its env files. */
  own: Readonly<Record<string, string>>;
}

/** Shorter values are words and numbers, and starring them out would garble every message. */
const SHORTEST = 8;
/** For values under the name of a credential, and for those that are no plain word. */
const SHORTEST_CREDENTIAL = 6;
/** Characters of a text of several lines whose lines are looked for as well: a key is shorter. */
const MAX_LINES_OF = 16 * 1024;
/** Characters of a line of such a text. */
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

/** Values that do not come from the entry's `env`: arguments, inherited variables, the URL, headers, OAuth. */
function otherParts(launch: Launch): (readonly [name: string, part: string])[] {
  if (launch.type === 'builtin') return [];
  if (!('url' in launch)) return [...argumentsOf(launch), ...inherited(launch.env)];
  const headers = Object.entries(launch.headers);
  return [
    ...publicSecrets(launch.url).map((part) => ['token', part] as const),
    ...headers.flatMap(([name, value]) => secretParts(name, value).map((part) => [name, part] as const)),
    ...secretParts('oauth', JSON.stringify(launch.oauth ?? {})).map((part) => ['token', part] as const),
    ...inherited(proxyVariables()),
  ];
}

function argumentsOf(launch: Launch): (readonly [string, string])[] {
  const args = 'args' in launch ? launch.args : [];
  return argumentParts(args).flatMap((parts) => parts.map((part) => ['token', part] as const));
}

/** Not the entry's own: only what has the name or the look of a credential. */
function inherited(env: Readonly<Record<string, string>>): (readonly [string, string])[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const parts = isCredentialName(name) ? secretParts(name, value) : publicSecrets(value);
    return parts.map((part) => ['token', part] as const);
  });
}

/** A proxy may answer with what it was sent. */
function proxyVariables(): Record<string, string> {
  const proxies = Object.entries(process.env).filter(([name]) => /^(?:https?|all)_proxy$/i.test(name));
  return Object.fromEntries(proxies.map(([name, value = '']) => [name, value]));
}

/** The words with which every message about the server is written: what stands in one of them cannot be hidden. */
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
