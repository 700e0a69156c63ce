/** Separators that make tool names which some clients do not take. */
import type { Place, Profile, Settings } from './config.ts';
import type { Findings } from './findings.ts';
import { isRecord } from './json.ts';
import type { Source } from './source.ts';

/** Claude Desktop and the models of the OpenAI family take `^[a-zA-Z0-9_-]{1,64}$` and nothing else. */
const REFUSED: ReadonlySet<string> = new Set(['.', '::']);

/** Told to whoever wrote one, and where tools are shown under such names. */
export function warnSeparator(
  { naming, front }: Settings,
  profiles: readonly Profile[],
  { findings, sources }: { findings: Pick<Findings, 'warn'>; sources: readonly Source[] },
): void {
  const { separator, style } = naming;
  if (!REFUSED.has(separator) || style === 'plain') return;
  const place = sources.map((source) => written(source, separator)).findLast((one) => one !== undefined);
  const shown = profiles.some((profile) => profile.enabled && (profile.front ?? front.kind) === 'aggregate');
  if (place === undefined && !shown) return;
  findings.warn({
    message: `tools get names with "${separator}" in them, which Claude Desktop and models of the OpenAI family refuse`,
    ...(place && { place }),
    hint: 'the "naming.separator" that every client takes is "__"',
  });
}

function written({ file, value }: Source, separator: string): Place | undefined {
  const naming = isRecord(value) ? value.naming : undefined;
  return isRecord(naming) && naming.separator === separator ? { file, path: ['naming', 'separator'] } : undefined;
}
