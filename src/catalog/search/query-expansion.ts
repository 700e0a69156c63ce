/** Expands a question: each word with the words that tools use for the same, weighted; Chinese also as English. */

import { segmentChinese } from './chinese-segmenter.ts';
import { type Act, createIntents } from './intent.ts';
import { createQueryRewrite } from './query-rewrite.ts';
import { createTermWeights } from './term-weights.ts';
import { createWords, plain, stem, unspacedRuns, type Words } from './tokenizer.ts';
import {
  CHINESE,
  GENERAL_ACTS,
  ONE_WAY_SYNONYMS,
  PRODUCTS,
  STOP_CHINESE,
  STOP_ENGLISH,
  SYNONYMS,
} from './word-tables.ts';

/** One way to name a thing, in stemmed words as in the index; several words are a phrase. */
export interface Term {
  words: string[];
  /** The confidence; 1 means as typed. */
  weight: number;
}

/** A thing that the question asks for. */
export interface Concept {
  /** The ways to name it, the typed one first. */
  terms: Term[];
  /** How significant it is, from 0 to 1. */
  weight: number;
}

export interface Question {
  concepts: Concept[];
  /** The act that the question asks for; undefined if it names none. */
  act: Act | undefined;
}

export interface QueryExpansion {
  words: Words;
  read(question: string): Question;
  /** Returns the words of a text as in the index, Chinese ones also in English. */
  wordsOf(text: string): string[];
  /** Returns the words of a server's name, and the purpose of such a product. */
  productOf(server: string): { own: string[]; purpose: string[] };
  /** True if a word is the name of a product and nothing else. */
  isProduct(word: string): boolean;
  /** Returns the act of a tool, by its name and first sentence. */
  actOf(name: string, sentence: string): Act | undefined;
}

/** The confidence that another word means the typed one; phrases are less ambiguous than words. */
const WEIGHT = {
  same: 0.55,
  general: 0.4,
  phrase: 0.7,
  samePhrase: 1,
  lead: 1,
  leadAlone: 0.55,
  question: 0.4,
  beyond: 0.4,
};
/** Weights of the English words for a Chinese one, by position. */
const FALLING = [1, 0.85, 0.75, 0.7];
/** Weight of an act that can be done to anything. */
const GENERAL = 0.7;
/** Maximum characters of a query that are read. */
export const MAX_QUESTION = 1000;
const MAX_CONCEPTS = 40;
const MAX_PHRASE = 4;

export function createQueryExpansion(): QueryExpansion {
  const words = createWords();
  const intents = createIntents();
  const emphasis = createTermWeights();
  const phrasing = createQueryRewrite();
  const same = readSame(SYNONYMS);
  const leads = readLeads(ONE_WAY_SYNONYMS);
  const products = readProducts(PRODUCTS);
  const chinese = readChinese(CHINESE);
  const longest = Math.max(...[...chinese.keys()].map((word) => word.length));
  const general = new Set(GENERAL_ACTS.map(stem));
  const first = new Set(SYNONYMS.map((group) => stem(group.split(' ')[0] ?? '')));
  const stop = new Set(STOP_ENGLISH.map(stem));
  const stopChinese = new Set(STOP_CHINESE);

  const isPhrase = (key: string) => same.has(key) || leads.has(key);

  function fromEnglish(typed: string[]): Concept[] {
    const concepts: Concept[] = [];
    const weights = emphasis.of(typed, (one) => !stop.has(one));
    for (let at = 0; at < typed.length; ) {
      const length = phraseAt(typed, at, isPhrase);
      const said = typed.slice(at, at + length);
      const opening = at === 0 && length === 1 ? led(leads.get(`^${said[0]}`)) : [];
      const undone = UNDOING.has(said.join(' ')) ? undoing(typed[at + length]) : [];
      const weight = (weights[at] ?? 1) * (general.has(said.join(' ')) ? GENERAL : 1);
      at += length;
      const terms = [...(length > 1 ? phrase(said) : word(said[0] ?? '')), ...opening, ...undone];
      if (terms.length > 0) concepts.push({ terms, weight });
    }
    return concepts;
  }

  function word(said: string): Term[] {
    const lead = leads.get(said);
    if (stop.has(said)) return lead === undefined ? [] : [{ words: lead, weight: WEIGHT.question }];
    return [
      { words: [said], weight: 1 },
      ...(same.get(said) ?? []).map((other) => ({
        words: other,
        weight: general.has(said) ? WEIGHT.general : WEIGHT.same,
      })),
      ...led(lead),
      ...(/......er$/.test(said) ? [{ words: [stem(said.slice(0, -2))], weight: WEIGHT.same }] : []),
    ];
  }

  function phrase(said: string[]): Term[] {
    const key = said.join(' ');
    const content = said.filter((one) => !stop.has(one));
    const lead = leads.get(key);
    return [
      ...(content.length === 0 ? [] : [{ words: content, weight: WEIGHT.phrase }]),
      ...(same.get(key) ?? []).map((other) => ({ words: other, weight: WEIGHT.samePhrase })),
      ...led(lead),
    ];
  }

  function fromChinese(run: string): Concept[] {
    return emphasis.parts(run).flatMap(({ text, weight }) => {
      const pieces = segmentChinese(text, chinese, longest);
      const concepts = [...pieces.flatMap(fromPiece), ...undoneIn(pieces)];
      return concepts.map((concept) => ({ ...concept, weight: concept.weight * weight }));
    });
  }

  /** Returns concepts for tools that undo something in Chinese: the piece after the verb names the act. */
  function undoneIn(pieces: string[]): Concept[] {
    const at = pieces.findIndex((piece) => UNDO_CHINESE.includes(piece));
    const verbs = at < 0 ? [] : pieces.slice(at + 1).flatMap((piece) => (chinese.get(piece) ?? []).slice(0, 2));
    const terms = verbs.map((words) => ({ words: [`un${words[0]}`], weight: 1 }));
    return terms.length === 0 ? [] : [{ terms, weight: 1 }];
  }

  function fromPiece(piece: string): Concept[] {
    const meant = chinese.get(piece);
    if (meant !== undefined) {
      const usual = general.has(meant[0]?.join(' ') ?? '') ? GENERAL : 1;
      const weight = emphasis.isTime(piece) ? emphasis.time : usual;
      return [{ terms: [{ words: [piece], weight: 1 }, ...inEnglish(meant)], weight }];
    }
    const rest = words.segment(piece).filter((one) => !stopChinese.has(one));
    return rest.map(asTyped);
  }

  function inEnglish(meant: string[][]): Term[] {
    const own = meant.map((one, place) => ({ words: one, weight: FALLING[place] ?? 0.65 }));
    const beyond = same.get(meant[0]?.join(' ') ?? '') ?? [];
    return [...own, ...beyond.map((one) => ({ words: one, weight: WEIGHT.beyond }))];
  }

  return {
    words,
    read(question) {
      const text = phrasing.of(plain(question.slice(0, MAX_QUESTION)));
      const runs = unspacedRuns(text);
      const typed = words.of(runs.reduce((rest, run) => rest.replace(run, ' '), text));
      const concepts = [...fromEnglish(typed), ...runs.flatMap(fromChinese)];
      const asked = intents.isQuestion(typed, text) ? 'read' : undefined;
      const said = concepts.flatMap(({ terms }) =>
        terms.filter(({ weight }) => weight === 1).flatMap((term) => term.words),
      );
      const found = concepts.length > 0 ? concepts : words.of(text).map(asTyped);
      return { concepts: distinct(found).slice(0, MAX_CONCEPTS), act: asked ?? intents.actOf(said) };
    },
    wordsOf: (text) => [
      ...words.of(text).filter((one) => !stop.has(one)),
      ...unspacedRuns(text).flatMap((run) =>
        segmentChinese(run, chinese, longest).flatMap((piece) => (chinese.get(piece) ?? []).slice(0, 2).flat()),
      ),
    ],
    productOf(server) {
      const named = words.of(server);
      return { own: named, purpose: [...new Set(named.flatMap((one) => products.get(one) ?? []))] };
    },
    isProduct: (word) => products.has(word) && !stop.has(word) && !first.has(word) && !general.has(word),
    actOf: (name, sentence) => intents.actOf(words.of(name)) ?? intents.actOf(words.of(sentence).slice(0, 1)),
  };
}

/** Returns the number of words from here that form one phrase; 1 if none begins here. */
function phraseAt(words: string[], at: number, isPhrase: (key: string) => boolean): number {
  for (let length = Math.min(MAX_PHRASE, words.length - at); length > 1; length--) {
    if (isPhrase(words.slice(at, at + length).join(' '))) return length;
  }
  return 1;
}

function asTyped(word: string): Concept {
  return { terms: [{ words: [word], weight: 1 }], weight: 1 };
}

/** Verbs that undo an act. Tools for it are named after the act: `unschedule`, `unpublish`. */
const UNDO_CHINESE = ['取消', '撤销', '解除'];
const UNDOING = new Set(['undo', 'cancel', 'stop', 'revers', 'revok', 'remov', 'revert'].map(stem));

function undoing(next: string | undefined): Term[] {
  return next === undefined ? [] : [{ words: [`un${next}`], weight: 1 }];
}

/** Returns the terms of a one-way synonym: all of its words together count most, and each alone somewhat less. */
function led(lead: string[] | undefined): Term[] {
  if (lead === undefined) return [];
  return [{ words: lead, weight: WEIGHT.lead }, ...lead.map((word) => ({ words: [word], weight: WEIGHT.leadAlone }))];
}

/** Removes repeated concepts. */
function distinct(concepts: Concept[]): Concept[] {
  const seen = new Map(concepts.map((concept) => [concept.terms[0]?.words.join(' ') ?? '', concept]));
  return [...seen.values()];
}

function phraseWords(phrase: string): string[] {
  if (phrase.startsWith('^')) return [`^${phraseWords(phrase.slice(1)).join(' ')}`];
  return phrase.split('_').map(stem);
}

function readSame(groups: readonly string[]): Map<string, string[][]> {
  const same = new Map<string, string[][]>();
  for (const group of groups) {
    const members = group.split(' ').map(phraseWords);
    for (const member of members) {
      const key = member.join(' ');
      const others = members.filter((other) => other !== member);
      same.set(key, [...(same.get(key) ?? []), ...others]);
    }
  }
  return same;
}

function readProducts(lines: readonly string[]): Map<string, string[]> {
  const products = new Map<string, string[]>();
  for (const line of lines) {
    const [names = '', purpose = ''] = line.split(' > ');
    const words = purpose.split(/[ -]/).map(stem);
    for (const name of names.split(' ').map(stem)) products.set(name, [...(products.get(name) ?? []), ...words]);
  }
  return products;
}

function readLeads(lines: readonly string[]): Map<string, string[]> {
  return new Map(
    lines.flatMap((line) => {
      const [said = '', sought = ''] = line.split(' > ');
      const words = sought.split(' ').flatMap(phraseWords);
      return said.split(' ').map((one) => [phraseWords(one).join(' '), words] as const);
    }),
  );
}

function readChinese(lines: readonly string[]): Map<string, string[][]> {
  return new Map(
    lines.flatMap((line) => {
      const [chinese = '', english = ''] = line.split('=');
      const meant = english.split(' ').map(phraseWords);
      return chinese.split(' ').map((word) => [word, meant] as const);
    }),
  );
}
