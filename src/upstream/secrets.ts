/** What must not be repeated when a message quotes an upstream: the credentials that it was given. */
import type { Launch } from '../config/env.ts';
import { isCredentialName, maskArgs, maskValue } from '../config/redact.ts';

/** Shorter values are words such as "true", and starring them out would only garble. */
const SHORTEST = 6;
const STARS = '***';

export function secretsOf(launch: Launch): string[] {
  const secrets = [...candidates(launch)].filter((secret) => secret.length >= SHORTEST);
  // Longest first, so that a secret that is part of another leaves nothing of it behind.
  return secrets.sort((a, b) => b.length - a.length);
}

function* candidates(launch: Launch): Generator<string> {
  if (launch.type === 'stdio') {
    const masked = maskArgs(launch.args);
    yield* launch.args.filter((_, index) => masked[index] === STARS);
    yield* named(launch.env);
  } else if ('headers' in launch) {
    for (const value of named(launch.headers)) yield* [value, value.replace(/^\w+ +/, '')];
  }
}

function named(values: Record<string, string>): string[] {
  const secret = ([name, value]: [string, string]) => isCredentialName(name) || maskValue(name, value) === STARS;
  return Object.entries(values)
    .filter(secret)
    .map(([, value]) => value);
}

export function redact(text: string, secrets: string[]): string {
  let safe = text;
  for (const secret of secrets) safe = safe.replaceAll(secret, STARS);
  return safe;
}
