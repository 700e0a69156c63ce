/** Warns about settings that are accepted but have no effect in this version. */
import type { Profile } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';

export function warnUnsupported(profiles: readonly Profile[], findings: Pick<Diagnostics, 'warn'>): void {
  for (const spec of new Set(profiles.flatMap(({ servers }) => servers))) {
    if (!('oauth' in spec) || spec.oauth === undefined) continue;
    const message = `"oauth" of server "${spec.name}" has no effect: this version does not support OAuth`;
    findings.warn({ message, place: spec.place, hint: 'set a token in "headers"' });
  }
}
