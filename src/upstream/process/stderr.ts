/** Keeps the last stderr lines of a child: limited in number and length, without control characters and known secrets. */
import type { Readable } from 'node:stream';
import type { Redactor } from '../secret-redactor.ts';

export interface StderrRing {
  lines(): string[];
}

export interface StderrOptions {
  redactor: Redactor;
  /** Receives every line. */
  line?: (line: string) => void;
}

const MAX_LINES = 100;
const MAX_LINE = 1000;
// biome-ignore lint/complexity/useRegexLiterals: a string shows the escape sequences as they are
const CONTROL = new RegExp('\\u001b\\[[0-?]*[ -/]*[@-~]|[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]', 'g');

export function createStderrRing(stream: Readable, options: StderrOptions): StderrRing {
  const ring: string[] = [];
  let partial = '';
  let isCut = false;

  const add = (raw: string) => {
    const { text, beginning } = options.redactor;
    const line = (isCut ? beginning : text)(raw.replace(CONTROL, '')).slice(0, MAX_LINE).trimEnd();
    isCut = false;
    if (line === '') return;
    ring.push(line);
    if (ring.length > MAX_LINES) ring.shift();
    options.line?.(line);
  };

  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const pieces = (partial + text).split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) add(piece);
    // An overlong line is truncated.
    partial = rest.slice(0, 2 * MAX_LINE);
    isCut ||= rest.length > partial.length;
  });
  stream.on('end', () => add(partial));
  stream.on('error', () => add(partial));
  return { lines: () => [...ring] };
}
