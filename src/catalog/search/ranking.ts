/** Ranks tools for a question: BM25 for the words as typed and for the best other way to say each, so that rare words win. */
import { beginSteps, type Steps } from '../../event-loop.ts';
import { suits } from './intent.ts';
import { type Concept, MAX_QUESTION, type Question, type Term } from './query-expansion.ts';
import { partsOf } from './question-parts.ts';
import type { Corpus, Document } from './search-index.ts';
import { nearWords } from './spelling.ts';
import { keyOf, unspacedRuns } from './tokenizer.ts';

export interface Ranked extends Document {
  /** The score, comparable within one response only. */
  score: number;
  /** True if the tool covers enough of the question to be what it asks for. */
  fits: boolean;
}

/** Returns how likely a tool is meant regardless of the question, from 0 to 1. */
export type Prior = (server: string, tool: string) => number;

/** How soon further occurrences of a word in a tool cease to count: `k1` of BM25. */
const SATURATION = 3;
/** How much the words as typed count besides being one way to say it. */
const TYPED = 0.4;
/** Weight of the prior, which only decides near ties. */
const PRIOR = 0.3;
/** The exponent by which the words of a phrase share its weight: each counts less, all together count more. */
const PHRASE = 0.33;
/** The factor for other ways to say a word that no tool has. */
const UNKNOWN = 1.3;
/** The confidence that a known word is meant by an unknown one that is spelt like it, and the number of words that are corrected. */
const SPELT = { weight: 0.6, words: 8 };

/**
 * A tool fits if it has something of nearly each word of the question (`words`), or enough of them (`least`): its share of
 * the most that a tool could have, and besides the words of which it has most, because one rare word in the name of a tool
 * says more than the rest of a long question. `common` is the least that a word counts, as a share of the rarest one: the
 * subject of a whole catalog is rare elsewhere. In a catalog of fewer tools than `few`, no word is rare. Of a question of
 * one word, a tool needs a share of `single`: one mention in a long text is not enough.
 */
const FIT = { words: 0.9, single: 0.2, least: 0.36, first: 0.25, second: 0.1, common: 0.3, few: 50 };
/** How certain an expression for tools of another name and a corrected word are; other words are by the square of their confidence. */
const CERTAIN = { expression: 0.5, corrected: 0.8 };

/** The part of the ranking that is wanted. */
export interface Wanted {
  /** The server to search; every server if undefined. */
  only?: string | undefined;
  limit: number;
}

/** Returns the tools for a question, best first; if it asks for several acts, the tools of each, in turn. */
export async function search(
  question: string,
  corpus: Corpus,
  { prior, only, limit }: Wanted & { prior: Prior },
): Promise<Ranked[]> {
  const steps = beginSteps();
  const whole = await rank(corpus.meanings.read(question), corpus, prior, steps);
  const exact = corpus.called.get(keyOf(question.slice(0, MAX_QUESTION)));
  const lists = [whole];
  const parts = exact === undefined ? partsOf(question, corpus.meanings) : [];
  for (const part of parts) lists.push(await rank(part, corpus, prior, steps));
  const found: Ranked[] = [];
  for (const one of exact === undefined ? byPlace(lists) : calledBy(exact, whole, corpus)) {
    if (found.length >= limit) break;
    if (only === undefined || one.server === only) found.push(one);
  }
  return found;
}

/** The tools for a question, best first. The objects are made when they are read, because few of thousands are. */
interface Ranking {
  ids: number[];
  read(id: number): Ranked;
}

async function rank({ concepts, act }: Question, corpus: Corpus, prior: Prior, steps: Steps): Promise<Ranking> {
  const { documents } = corpus;
  const { scores, fitting } = await combine(concepts, corpus, steps);
  const ids: number[] = [];
  for (const [id, { server, tool, act: done }] of documents.entries()) {
    if (scores[id] === 0) continue;
    scores[id] = (scores[id] ?? 0) * suits(act, done) * (1 + PRIOR * prior(server, tool.name));
    ids.push(id);
  }
  if (steps.isOver()) await steps.next();
  // Of equal scores, the tool that is listed first comes first.
  ids.sort((a, b) => (scores[b] as number) - (scores[a] as number));
  if (steps.isOver()) await steps.next();
  return { ids, read: (id) => ({ ...(documents[id] as Document), score: scores[id] ?? 0, fits: fitting(id) }) };
}

/** Returns the tools in the order of their place in any list. */
function* byPlace(lists: Ranking[]): Iterable<Ranked> {
  const seen = new Set<number>();
  const longest = lists.reduce((length, { ids }) => Math.max(length, ids.length), 0);
  for (let place = 0; place < longest; place++) {
    for (const { ids, read } of lists) {
      const id = ids[place];
      if (id === undefined || seen.has(id)) continue;
      seen.add(id);
      yield read(id);
    }
  }
}

/** Returns the tools first whose name or title is the question, with the best score of all. */
function* calledBy(exact: ReadonlyMap<number, number>, { ids, read }: Ranking, corpus: Corpus): Iterable<Ranked> {
  const [best] = ids;
  const score = best === undefined ? 1 : read(best).score;
  for (const [id] of [...exact].sort(([, a], [, b]) => b - a)) {
    const document = corpus.documents[id];
    if (document !== undefined) yield { ...document, score, fits: true };
  }
  for (const id of ids) if (!exact.has(id)) yield read(id);
}

/** Returns the score of each document by its id, and whether it has enough of the question. */
async function combine(
  concepts: Concept[],
  corpus: Corpus,
  steps: Steps,
): Promise<{ scores: Float64Array; fitting: (id: number) => boolean }> {
  const count = corpus.documents.length;
  const scores = new Float64Array(count);
  const support = createSupport(count);
  let corrections = 0;
  for (const { terms, weight, isData } of concepts) {
    const typed = terms[0]?.words ?? [];
    const isPiece = unspacedRuns(typed[0] ?? '').length > 0;
    // The lower weight of a Chinese letter or pair is for the order of tools only.
    const asked = isPiece ? 1 : weight;
    const isKnown = terms.some(({ words }) => words.some((word) => corpus.postings.has(word)));
    const ways = isKnown || corrections++ >= SPELT.words ? terms : corrected(terms, corpus);
    const gain = typed.some((word) => corpus.postings.has(word)) ? 1 : UNKNOWN;
    const [best, sure] = [new Float64Array(count), new Float64Array(count)];
    for (const [place, { words: said, weight: confidence }] of ways.entries()) {
      if (steps.isOver()) await steps.next();
      const way = scoresOf(said, corpus);
      const isExpression = place > 0 && confidence === 1;
      const certainty = ways !== terms ? CERTAIN.corrected : isExpression ? CERTAIN.expression : confidence ** 2;
      const lift = certainty * support.lift(rarest(said, corpus), asked);
      // Typed arrays are read by index, which is ten times faster than their iterators.
      for (let id = 0; id < count; id++) {
        const score = way[id] as number;
        if (score === 0) continue;
        best[id] = Math.max(best[id] as number, score * Math.min(1, confidence * gain));
        sure[id] = Math.max(sure[id] as number, score * lift);
        if (place === 0) scores[id] = (scores[id] as number) + TYPED * weight * score;
      }
    }
    for (let id = 0; id < count; id++) scores[id] = (scores[id] as number) + weight * (best[id] as number);
    // Chinese letters and pairs that no tool has are mostly not words.
    if (isKnown || !(isData === true || isPiece)) support.add(rarest(typed, corpus), asked, sure);
  }
  return { scores, fitting: support.isEnough };
}

/** Collects for each document how much of a question it has. */
function createSupport(count: number) {
  const [all, touched] = [new Float64Array(count), new Float64Array(count)];
  const [first, second] = [new Float64Array(count), new Float64Array(count)];
  const rare = Math.log(1 + Math.max(count, FIT.few));
  /** Returns the rarity that a word counts with; that of an act that can be done to anything is not raised. */
  const counted = (rarity: number, weight: number) => (weight < 1 ? rarity : Math.max(rarity, FIT.common * rare));
  let possible = 0;
  let words = 0;
  return {
    /** Returns the factor for the scores of a word. */
    lift: (rarity: number, weight: number): number => counted(rarity, weight) / rarity,
    /** Adds a concept by the rarity of its typed words, with the raised scores of the documents. */
    add(rarity: number, weight: number, scores: Float64Array): void {
      const most = weight * (SATURATION + 1) * counted(rarity, weight);
      possible += most;
      words += 1;
      for (let id = 0; id < count; id++) {
        const score = weight * (scores[id] as number);
        if (score === 0) continue;
        all[id] = (all[id] as number) + score;
        touched[id] = (touched[id] as number) + most;
        // An act that can be done to anything says little, however few tools have it.
        if (weight < 1) continue;
        second[id] = Math.max(second[id] as number, Math.min(score, first[id] as number));
        first[id] = Math.max(first[id] as number, score);
      }
    },
    isEnough(id: number): boolean {
      const certain = FIT.first * (first[id] ?? 0) + FIT.second * (second[id] ?? 0);
      const share = (all[id] ?? 0) / possible;
      const hasAll = (touched[id] ?? 0) >= FIT.words * possible && (words > 1 || share >= FIT.single);
      return hasAll || share + certain / rare >= FIT.least;
    },
  };
}

function rarest(words: readonly string[], corpus: Corpus): number {
  return Math.max(...words.map((word) => rarityOf(word, corpus)));
}

function scoresOf(words: readonly string[], corpus: Corpus): Float64Array {
  const scores = new Float64Array(corpus.documents.length);
  for (const word of words) {
    const { ids, weights } = corpus.postings.get(word) ?? { ids: [], weights: [] };
    const share = (rarityOf(word, corpus) * (SATURATION + 1)) / words.length ** PHRASE;
    for (let at = 0; at < ids.length; at++) {
      const [id, weight] = [ids[at] as number, weights[at] as number];
      scores[id] = (scores[id] as number) + (share * weight) / (weight + SATURATION);
    }
  }
  return scores;
}

/** Returns how rare a word is: the fewer tools have it, the more it counts. */
function rarityOf(word: string, { documents, postings }: Corpus): number {
  const having = postings.get(word)?.ids.length ?? 0;
  return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
}

/** Returns terms with the known words that are spelt like the unknown typed one. */
function corrected(terms: Term[], { postings }: Corpus): Term[] {
  const [typed = ''] = terms[0]?.words ?? [];
  return nearWords(typed, postings.keys()).map((word) => ({ words: [word], weight: SPELT.weight }));
}
