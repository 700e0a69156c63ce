/** Which tools fit a question best: BM25 for each thing asked for, in the way it is said best, and how much of the question is met. */
import type { Corpus, Document, Home } from './corpus.ts';
import { suits } from './intent.ts';
import type { Concept, Meanings, Term } from './meanings.ts';

export interface Ranked extends Document {
  /** Comparable within one answer only. */
  score: number;
}

/** From 0 to 1: how much more a tool is likely to be meant than another, whatever the question. */
export type Prior = (server: string, tool: string) => number;

/** What a document that meets nothing but one of many things asked for keeps of its score. */
const UNCOVERED = 0.1;
/** How much more the tools of a server count that the question speaks of. */
const KINSHIP = 1.2;
/** A purpose says less than a name. */
const PURPOSE = 0.5;
/** Breaks near ties and no more. */
const PRIOR = 0.3;
/** By which power of their number the words of a phrase share its weight: each says less, all together more. */
const PHRASE = 0.33;
/** Other words count for more where no tool is called by the typed one, or where no tool has it at all. */
const GAIN = { unnamed: 1.3, unknown: 1.6 };
/** Of a thing that is said in other words only, where that of the typed one is not known. */
const USUAL_RARITY = 3;
/** Letters from which a word is also the beginning of others, and from which it may be misspelt. */
const PREFIX = 4;
const MISSPELT = 5;

export function rank(question: string, corpus: Corpus, prior: Prior): Ranked[] {
  const { concepts, act } = corpus.meanings.read(question);
  const kinship = kinshipOf(concepts, corpus);
  const ranked: Ranked[] = [];
  for (const [id, score] of combine(concepts, corpus)) {
    const document = corpus.documents[id];
    if (document === undefined) continue;
    const { server, tool } = document;
    const likely = (1 + KINSHIP * (kinship.get(server) ?? 0)) * (1 + PRIOR * prior(server, tool.name));
    ranked.push({ ...document, score: score * suits(act, document.act) * likely });
  }
  return ranked.sort((a, b) => b.score - a.score || (nameOf(a) < nameOf(b) ? -1 : 1));
}

function nameOf({ server, tool }: Document): string {
  return `${server}.${tool.name}`;
}

/** By the id of a document. */
type Scores = Map<number, number>;

interface Found {
  scores: Scores;
  /** The fewer documents have it, the more it says. */
  rarity: number;
}

function combine(concepts: Concept[], corpus: Corpus): Scores {
  const look = createLookup(corpus);
  const total: Scores = new Map();
  const covered: Scores = new Map();
  let possible = 0;
  for (const concept of concepts) {
    const { scores, rarity } = bestOf(concept, look, corpus.names);
    if (scores.size === 0) continue;
    const weight = rarity * concept.weight;
    possible += weight;
    for (const [id, score] of scores) {
      total.set(id, (total.get(id) ?? 0) + score * concept.weight);
      covered.set(id, (covered.get(id) ?? 0) + weight);
    }
  }
  for (const [id, score] of total) {
    total.set(id, score * (UNCOVERED + (1 - UNCOVERED) * ((covered.get(id) ?? 0) / possible)));
  }
  return total;
}

/** Of the ways to say a thing the best one counts in each document, not their sum. */
function bestOf({ terms }: Concept, look: Lookup, names: Set<string>): Found {
  const scores: Scores = new Map();
  let rarity: number | undefined;
  let gain = 1;
  for (const [place, term] of terms.entries()) {
    const found = scoresOf(term, look, place === 0);
    if (place === 0) {
      if (found.scores.size === 0) gain = GAIN.unknown;
      else if (!term.words.some((word) => names.has(word))) gain = GAIN.unnamed;
    }
    // A rare synonym of a frequent word is no better a sign than the word.
    const ceiling = rarity === undefined || found.rarity <= rarity ? 1 : rarity / found.rarity;
    if (place === 0 && found.scores.size > 0) rarity = found.rarity;
    const weight = Math.min(1, term.weight * gain) * ceiling;
    for (const [id, score] of found.scores) scores.set(id, Math.max(scores.get(id) ?? 0, score * weight));
  }
  return { scores, rarity: rarity ?? USUAL_RARITY };
}

function scoresOf({ words }: Term, look: Lookup, typed: boolean): Found {
  const scores: Scores = new Map();
  let rarity = 0;
  for (const word of words) {
    const found = look(word, typed);
    rarity = Math.max(rarity, found.rarity);
    for (const [id, score] of found.scores) scores.set(id, (scores.get(id) ?? 0) + score / words.length ** PHRASE);
  }
  return { scores, rarity };
}

/** The word with two neighbours changed, for each two: the usual slip, which counts as two for others. */
function swapped(word: string): string[] {
  const letters = [...word];
  return letters
    .slice(1)
    .map((letter, at) => [...letters.slice(0, at), letter, letters[at], ...letters.slice(at + 2)].join(''));
}

type Lookup = (word: string, typed: boolean) => Found;

function createLookup({ text, documents }: Corpus): Lookup {
  const known = new Map<string, Found>();
  const ask = (word: string, options = {}): Scores =>
    new Map(text.search(word, options).map(({ id, score }) => [Number(id), score]));
  const exactly = (word: string): Found => {
    const before = known.get(word);
    if (before !== undefined) return before;
    const scores = ask(word);
    const found = { scores, rarity: Math.log(1 + (documents.length - scores.size + 0.5) / (scores.size + 0.5)) };
    known.set(word, found);
    return found;
  };
  return (word, typed) => {
    const found = exactly(word);
    if (!typed || word.length < PREFIX) return found;
    if (found.scores.size > 0 || word.length < MISSPELT) return { ...found, scores: ask(word, { prefix: true }) };
    const near = ask(word, { prefix: true, fuzzy: 0.2 });
    return {
      ...found,
      scores: near.size > 0 ? near : ask(swapped(word).find((one) => exactly(one).scores.size > 0) ?? ''),
    };
  };
}

/** How much a question speaks of each server as such, from 0 to 1. */
function kinshipOf(concepts: Concept[], { homes, meanings }: Corpus): Map<string, number> {
  const kinship = new Map<string, number>();
  for (const { terms } of concepts) {
    const shares = new Map<string, number>();
    for (const [server, home] of homes) {
      const share = Math.max(0, ...terms.map(({ words, weight }) => weight * spokenOf(words, home, meanings)));
      if (share > 0) shares.set(server, share);
    }
    const rarity = Math.log(1 + homes.size / shares.size) / Math.log(1 + homes.size);
    for (const [server, share] of shares) kinship.set(server, Math.min(1, (kinship.get(server) ?? 0) + share * rarity));
  }
  return kinship;
}

function spokenOf(words: string[], { own, purpose }: Home, { isProduct }: Meanings): number {
  if (words.some((word) => own.has(word) || (purpose.has(word) && isProduct(word)))) return 1;
  return words.some((word) => purpose.has(word)) ? PURPOSE : 0;
}
