/** Settings that are read but do nothing in this version: whoever sets one must hear it, above all where it would protect. */
import { DEFAULTS, type Profile, type Settings } from './config.ts';
import type { Findings } from './findings.ts';
import { sameJson } from './json.ts';

/** Field → what somebody who set it would rely on. A row goes when its feature comes. */
const INERT: [path: string, read: (settings: Settings) => unknown, expects: string][] = [
  ['http.admin.commands', ({ http }) => http.admin.commands, 'there are no administration routes'],
];

export function warnInert(settings: Settings, profiles: readonly Profile[], findings: Pick<Findings, 'warn'>): void {
  for (const [path, read, expects] of INERT) {
    if (!sameJson(read(settings), read(DEFAULTS))) {
      findings.warn({ message: `"${path}" has no effect in this version: ${expects}` });
    }
  }
  for (const spec of new Set(profiles.flatMap(({ servers }) => servers))) {
    if (!('oauth' in spec) || spec.oauth === undefined) continue;
    const message = `"oauth" of server "${spec.name}" has no effect in this version: nobody is signed in`;
    findings.warn({ message, place: spec.place, hint: 'give it a token in "headers"' });
  }
}
