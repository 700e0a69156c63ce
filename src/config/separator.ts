/** Warns about separators that produce tool names which some clients reject. */
import type { Place, Profile, Settings } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { isRecord } from './json-data.ts';
import type { Source } from './jsonc-file.ts';

/** Claude Desktop and the models of the OpenAI family accept only names that match `^[a-zA-Z0-9_-]{1,64}$`. */
const REFUSED: ReadonlySet<string> = new Set(['.', '::']);

/** Warns if a file sets such a separator, or if an enabled profile exposes such names. */
export function warnSeparator(
  { naming, front }: Settings,
  profiles: readonly Profile[],
  { findings, sources }: { findings: Pick<Diagnostics, 'warn'>; sources: readonly Source[] },
): void {
  const { separator, style } = naming;
  if (!REFUSED.has(separator) || style === 'plain') return;
  const place = sources.map((source) => written(source, separator)).findLast((one) => one !== undefined);
  const shown = profiles.some((profile) => profile.enabled && (profile.front ?? front.kind) === 'aggregate');
  if (place === undefined && !shown) return;
  findings.warn({
    message: `tool names contain "${separator}", which Claude Desktop and OpenAI models reject`,
    ...(place && { place }),
    hint: 'every client accepts "__" as "naming.separator"',
  });
}

function written({ file, value }: Source, separator: string): Place | undefined {
  const naming = isRecord(value) ? value.naming : undefined;
  return isRecord(naming) && naming.separator === separator ? { file, path: ['naming', 'separator'] } : undefined;
}
