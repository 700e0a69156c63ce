/** What is wrong or odd in the config files: collected while reading, told together at the end. */
import { type ErrorCode, McpxError } from '../errors.ts';
import type { Place, Warning } from './config.ts';
import { blockText, type Position } from './excerpt.ts';
import { positionOf, type Source } from './source.ts';

export interface Finding {
  message: string;
  place?: Place;
  /** Point at the key instead of the value. */
  part?: 'key' | 'value';
  /** The exact spot, where a path does not tell it. */
  position?: Position;
  hint?: string | undefined;
}

export interface Findings {
  error(finding: Finding): void;
  warn(finding: Finding): void;
  /** An unknown key: a warning, or an error with `--strict`. */
  unknown(finding: Finding): void;
  /** Throws one McpxError with every error so far; its code is `config` unless the mistake was on the command line. */
  check(sources: readonly Source[], code?: ErrorCode): void;
  warnings(sources: readonly Source[]): Warning[];
}

export function createFindings(options: { strict?: boolean } = {}): Findings {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  return {
    error: (finding) => void errors.push(finding),
    warn: (finding) => void warnings.push(finding),
    unknown: (finding) => void (options.strict === true ? errors : warnings).push(finding),
    check(sources, code = 'config') {
      const [first, ...more] = errors;
      if (first === undefined) return;
      const { message, hint } = more.length === 0 ? one(first, sources) : several(errors, sources);
      throw new McpxError(code, message, { hint, data: errors.map((finding) => facts(finding, sources)) });
    },
    warnings: (sources) => warnings.map((finding) => toWarning(finding, sources)),
  };
}

/** `file:line:column: message (hint)`, for one line on stderr. */
export function warningText({ message, place, line, column, hint }: Warning): string {
  const where =
    place === undefined ? '' : `${[place.file, line, column].filter((part) => part !== undefined).join(':')}: `;
  return `${where}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

function toWarning(finding: Finding, sources: readonly Source[]): Warning {
  const { message, place, hint } = finding;
  const found = locate(finding, sources);
  return {
    message,
    ...(place === undefined ? {} : { place }),
    ...(found === undefined ? {} : { line: found.position.line, column: found.position.column }),
    ...(hint === undefined ? {} : { hint }),
  };
}

type Told = Pick<Finding, 'message' | 'hint'>;

function one(finding: Finding, sources: readonly Source[]): Told {
  return { message: text(finding, sources), hint: finding.hint };
}

/** More would not be read; they are counted. */
const SHOWN = 10;

function several(errors: Finding[], sources: readonly Source[]): Told {
  const blocks = errors.slice(0, SHOWN).map((finding) => {
    const hint = finding.hint === undefined ? '' : `\n  hint: ${finding.hint}`;
    return `${text(finding, sources)}${hint}`;
  });
  if (errors.length > SHOWN) blocks.push(`and ${errors.length - SHOWN} more`);
  const message = [`there are ${errors.length} mistakes in the config`, ...blocks].join('\n\n');
  return { message, hint: 'mcpx config validate' };
}

function text(finding: Finding, sources: readonly Source[]): string {
  const found = locate(finding, sources);
  if (found === undefined) return finding.message;
  const { source, position } = found;
  return blockText({ message: finding.message, file: source.file, text: source.text, position });
}

function facts(finding: Finding, sources: readonly Source[]): Record<string, unknown> {
  const { message, place, hint } = finding;
  const position = locate(finding, sources)?.position;
  return { message, file: place?.file, path: place?.path, line: position?.line, column: position?.column, hint };
}

function locate(finding: Finding, sources: readonly Source[]): { source: Source; position: Position } | undefined {
  const { place } = finding;
  const source = place === undefined ? undefined : sources.find(({ file }) => file === place.file);
  if (place === undefined || source === undefined) return undefined;
  return { source, position: finding.position ?? positionOf(source, place.path, finding.part) };
}

/** `file:line:column` of a place, for messages that name two. */
export function placeText(place: Place, source: Source, position?: Position): string {
  const { line, column } = position ?? positionOf(source, place.path, 'key');
  return `${place.file}:${line}:${column}`;
}
