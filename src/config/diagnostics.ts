/** Collects errors and warnings while the config files are read, and reports them together at the end. */
import { type ErrorCode, McpxError } from '../errors.ts';
import type { Place, Warning } from './config.ts';
import { blockText, type Position } from './excerpt.ts';
import { positionOf, type Source } from './jsonc-file.ts';

export interface Finding {
  message: string;
  place?: Place;
  /** The part of the property that the caret points at (default `value`). */
  part?: 'key' | 'value';
  /** The exact position, if the path does not identify it. */
  position?: Position;
  hint?: string | undefined;
}

export interface Diagnostics {
  error(finding: Finding): void;
  warn(finding: Finding): void;
  /** Records an unknown key: a warning, or an error with `--strict`. */
  unknown(finding: Finding): void;
  /** Throws one McpxError with every error so far. Its code is `config` unless `code` is given. */
  check(sources: readonly Source[], code?: ErrorCode): void;
  warnings(sources: readonly Source[]): Warning[];
}

export function createDiagnostics(options: { strict?: boolean } = {}): Diagnostics {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  return {
    error: (finding) => void errors.push(finding),
    warn: (finding) => void warnings.push(finding),
    unknown: (finding) => void (options.strict === true ? errors : warnings).push(finding),
    check(sources, code = 'config') {
      const located = inOrder(errors, sources);
      const [first, ...more] = located;
      if (first === undefined) return;
      const { message, hint } = more.length === 0 ? one(first) : several(located);
      throw new McpxError(code, message, { hint, data: located.map(facts) });
    },
    warnings: (sources) => inOrder(warnings, sources).map(toWarning),
  };
}

/** Returns `file:line:column: message (hint)`, for one line on stderr. */
export function warningText({ message, place, line, column, hint }: Warning): string {
  const where = place === undefined ? [] : [place.file, line, column].filter((part) => part !== undefined);
  return `${where.length === 0 ? '' : `${where.join(':')}: `}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

/** A finding with its position; `source` and `position` are undefined if it belongs to no file. */
interface Located {
  finding: Finding;
  source?: Source;
  position?: Position;
}

/** Sorts findings by file and position. Findings that belong to no file come first. */
function inOrder(findings: readonly Finding[], sources: readonly Source[]): Located[] {
  const order = ({ source, position }: Located): number =>
    source === undefined ? -1 : sources.indexOf(source) * 2 ** 32 + (position?.offset ?? 0);
  return findings.map((finding) => locate(finding, sources)).sort((a, b) => order(a) - order(b));
}

function locate(finding: Finding, sources: readonly Source[]): Located {
  const { place, part } = finding;
  const source = place === undefined ? undefined : sources.find(({ file }) => file === place.file);
  if (place === undefined || source === undefined) return { finding };
  return { finding, source, position: finding.position ?? positionOf(source, place.path, part) };
}

function toWarning({ finding: { message, place, hint }, position }: Located): Warning {
  return {
    message,
    ...(place === undefined ? {} : { place }),
    ...(position === undefined ? {} : { line: position.line, column: position.column }),
    ...(hint === undefined ? {} : { hint }),
  };
}

type Told = Pick<Finding, 'message' | 'hint'>;

function one(located: Located): Told {
  return { message: text(located), hint: located.finding.hint ?? 'mcpx config schema' };
}

/** The maximum number of errors that are printed; the message counts the others. */
const SHOWN = 10;

function several(errors: readonly Located[]): Told {
  const blocks = errors.slice(0, SHOWN).map((located) => {
    const { hint } = located.finding;
    return `${text(located)}${hint === undefined ? '' : `\n  hint: ${hint}`}`;
  });
  if (errors.length > SHOWN) blocks.push(`and ${errors.length - SHOWN} more`);
  const message = [`there are ${errors.length} mistakes in the config`, ...blocks].join('\n\n');
  return { message, hint: 'correct them, then run: mcpx config validate' };
}

function text({ finding: { message }, source, position }: Located): string {
  if (source === undefined || position === undefined) return message;
  return blockText({ message, file: source.file, text: source.text, position });
}

function facts({ finding: { message, place, hint }, position }: Located): Record<string, unknown> {
  return { message, file: place?.file, path: place?.path, line: position?.line, column: position?.column, hint };
}

/** Returns `file:line:column` of a place, for messages that name two places. */
export function placeText(place: Place, source: Source, position?: Position): string {
  const { line, column } = position ?? positionOf(source, place.path, 'key');
  return `${place.file}:${line}:${column}`;
}
