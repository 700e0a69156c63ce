/** Ranks tools for a question: BM25 for the best term of each concept, and the share of the question that is covered. */

import { suits } from './intent.ts';
import { type Concept, MAX_QUESTION, type QueryExpansion, type Term } from './query-expansion.ts';
import type { Corpus, Document, Home } from './search-index.ts';
import { keyOf } from './tokenizer.ts';

export interface Ranked extends Document {
  /** The score, comparable within one response only. */
  score: number;
}

/** Returns how likely a tool is meant regardless of the question, from 0 to 1. */
export type Prior = (server: string, tool: string) => number;

/** The factor for a document that covers only one of many concepts. */
const UNCOVERED = 0.1;
/** Additional weight of the tools of a server that the question refers to. */
const KINSHIP = 1.2;
/** Weight of a server's purpose, relative to its name. */
const PURPOSE = 0.5;
/** Weight of the prior, which only decides near ties. */
const PRIOR = 0.3;
/** The exponent by which the words of a phrase share its weight: each counts less, all together count more. */
const PHRASE = 0.33;
/** Factors for synonyms if no tool is named by the typed word, or if no tool has it at all. */
const GAIN = { unnamed: 1.3, unknown: 1.6 };
/** Rarity of a concept that is matched by synonyms only, if that of the typed word is unknown. */
const USUAL_RARITY = 3;
/** Minimum letters of a word that also matches as a prefix, and of a word that may be misspelt. */
const PREFIX = 4;
const MISSPELT = 5;

export function rank(question: string, corpus: Corpus, prior: Prior): Ranked[] {
  const { concepts, act } = corpus.meanings.read(question);
  const kinship = kinshipOf(concepts, corpus);
  const called = corpus.called.get(keyOf(question.slice(0, MAX_QUESTION))) ?? new Map<number, number>();
  const scores = combine(concepts, corpus);
  for (const id of called.keys()) scores.set(id, scores.get(id) ?? 0);
  const ranked: (Ranked & { called: number })[] = [];
  for (const [id, score] of scores) {
    const document = corpus.documents[id];
    if (document === undefined) continue;
    const { server, tool } = document;
    const likely = (1 + KINSHIP * (kinship.get(server) ?? 0)) * (1 + PRIOR * prior(server, tool.name));
    ranked.push({ ...document, score: score * suits(act, document.act) * likely, called: called.get(id) ?? 0 });
  }
  ranked.sort((a, b) => b.called - a.called || b.score - a.score || (nameOf(a) < nameOf(b) ? -1 : 1));
  return raised(ranked);
}

/** Puts the tools first whose name or title is the query, with the best score of all, so that the others are still shown. */
function raised(ranked: (Ranked & { called: number })[]): Ranked[] {
  const best = ranked.reduce((most, { score }) => Math.max(most, score), 0) || 1;
  return ranked.map(({ called, ...one }) => (called > 0 ? { ...one, score: best } : one));
}

function nameOf({ server, tool }: Document): string {
  return `${server}.${tool.name}`;
}

/** Scores by the id of a document. */
type Scores = Map<number, number>;

interface Found {
  scores: Scores;
  /** The fewer documents contain it, the higher it is. */
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

/** Scores a concept: in each document its best term counts, not the sum of its terms. */
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
    // A rare synonym of a frequent word must not count more than the word.
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

/**
 * Returns the word with each two neighbouring letters swapped: the most usual typing error, which fuzzy search counts
 * as two errors.
 */
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

/** Returns how much a question refers to each server itself, from 0 to 1. */
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

function spokenOf(words: string[], { own, purpose }: Home, { isProduct }: QueryExpansion): number {
  if (words.some((word) => own.has(word) || (purpose.has(word) && isProduct(word)))) return 1;
  return words.some((word) => purpose.has(word)) ? PURPOSE : 0;
}
