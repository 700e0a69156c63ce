/** Splits a question that asks for several acts: "find a free slot and invite Ada" needs two tools. */
import type { QueryExpansion, Question } from './query-expansion.ts';

/** Matches the words and signs between two acts. */
const BETWEEN = /\s*(?:[,;，；。]|\b(?:and|then)\b|然后|接着|并且|并|再)\s*/giu;
const MAX_PARTS = 4;
/** Minimum number of words, or of Chinese letters, of a part: an act and its object, which may be "it". */
const ENOUGH = 2;

/** Returns the questions for the acts; none if the question asks for one act only. */
export function partsOf(question: string, { read, asksForAct, tokenize }: QueryExpansion): Question[] {
  const pieces = question.split(BETWEEN).filter((piece) => piece !== '');
  const parts = pieces
    .filter((piece) => asksForAct(piece) && tokenize(piece).length >= ENOUGH)
    .map((piece) => read(piece));
  return parts.length > 1 && parts.length === pieces.length ? parts.slice(0, MAX_PARTS) : [];
}
