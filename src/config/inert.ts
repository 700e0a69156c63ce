/** Settings that are read but do nothing in this version: whoever sets one must hear it, above all where it would protect. */
import type { Profile } from './config.ts';
import type { Findings } from './findings.ts';

export function warnInert(profiles: readonly Profile[], findings: Pick<Findings, 'warn'>): void {
  for (const spec of new Set(profiles.flatMap(({ servers }) => servers))) {
    if (!('oauth' in spec) || spec.oauth === undefined) continue;
    const message = `"oauth" of server "${spec.name}" has no effect in this version: nobody is signed in`;
    findings.warn({ message, place: spec.place, hint: 'give it a token in "headers"' });
  }
}
