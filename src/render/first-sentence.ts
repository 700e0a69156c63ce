/** Descriptions of tools as text: the first sentence alone, and the whole without the indentation of source code. */
import { clean, oneLine } from './text.ts';

/** Matches abbreviations that look like the end of a sentence. */
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|[A-Za-z])\.$/i;

/** Matches a short first line before a line that starts a new sentence: it is a title, not half a sentence. */
const TITLE_END = /^(.{1,60})\n(?=\s*[^\s\p{Ll}])/u;

/** Matches a short line that only introduces the following text: "Purpose:". */
const HEADING = /^[^\n]{0,40}:\s*\n\s*(?=\S)/;
/** Matches the introduction of the part that describes the tool's purpose. */
const PURPOSE = /^\P{L}*(?:purpose|description|summary|overview)\b[^\n]{0,20}:\s*\n/iu;

/**
 * Returns the first sentence of a description, on one line, without a heading, bullet, number or code fence before it.
 */
export function firstSentence(text: string): string {
  const parts = clean(text)
    .split(/\n\s*\n/)
    .map((part) => part.replace(/^\s*(?:#{1,6}\s+|[-*]\s+|```.*$)/gm, '').trim())
    .filter((part) => part !== '');
  const [first = ''] = parts;
  const chosen = HEADING.test(first) ? (parts.find((part) => PURPOSE.test(part)) ?? first) : first;
  const paragraph = chosen.replace(HEADING, '').replace(/^\d+[.)]\s+/, '');
  const line = oneLine(TITLE_END.exec(paragraph)?.[1] ?? paragraph);
  for (const match of line.matchAll(/[.!?](?=\s)|[。！？]/g)) {
    const sentence = line.slice(0, match.index + 1);
    if (!ABBREVIATION.test(sentence)) return sentence;
  }
  return line;
}

/** Returns a description without the indentation of its source code. */
export function tidy(text: string): string {
  const lines = clean(text)
    .trim()
    .split('\n')
    .map((line) => line.trimEnd());
  const margins = lines
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.length - line.trimStart().length);
  const margin = margins.length > 0 ? Math.min(...margins) : 0;
  return lines
    .map((line, index) => (index === 0 ? line : line.slice(margin)))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');
}
