/** Reads a question as concepts: each word as typed, with the words that tools use for the same; Chinese also as English. */
import type { Interruptible } from '../../event-loop.ts';
import { type Act, createIntents } from './intent.ts';
import { createQueryRewrite } from './query-rewrite.ts';
import { createThesaurus, type Phrase } from './thesaurus.ts';
import { createTokenizer, plain, stem, type Tokenize, unspacedRuns } from './tokenizer.ts';
import { GENERAL_ACTS, STOP_CHINESE, STOP_ENGLISH, TIMES } from './word-tables.ts';

/** One way to name a thing, in stemmed words as in the index; several words are a phrase. */
export interface Term {
  words: Phrase;
  /** The confidence; 1 means as typed. */
  weight: number;
  /** True for another way to say a typed phrase, which is exact enough to tell the act. */
  isPhrase?: boolean;
}

/** A thing that the question asks for. */
export interface Concept {
  /** The ways to name it, the typed one first. */
  terms: Term[];
  /** How significant it is, from 0 to 1. */
  weight: number;
  /** True for a name, a quoted text or a number: data of the question, which no tool has to mention. */
  isData?: boolean;
}

export interface Question {
  concepts: Concept[];
  /** The act that the question asks for; undefined if it names none. */
  act: Act | undefined;
}

export interface QueryExpansion {
  tokenize: Tokenize;
  read(question: string): Question;
  /** True if a text begins with what a tool could do, after words such as "please"; Chinese need not begin with it. */
  asksForAct(text: string): boolean;
  /** Returns the words of a text as in the index, Chinese ones also in English. */
  wordsOf(text: string): string[];
  /** Returns the words of a server's name, and the purpose of such a product. */
  productOf(server: string): { own: string[]; purpose: string[] };
  /** Returns the act of a tool, by its name and first sentence. */
  actOf(name: string, sentence: string): Act | undefined;
}

/** The confidence that another word means the typed one, that one means a typed phrase, and that a synonym of a translation fits. */
const WEIGHT = { same: 0.55, samePhrase: 0.65, beyond: 0.4 };
/**
 * The significance of a Chinese letter and of a pair, and its factor in a general act such as 查找. A word is counted with
 * its letters and as English too, so that Chinese and English tools of one catalog get similar scores.
 */
const CHINESE_PIECE = { letter: 0.5, pair: 0.8, ofAct: 0.4 };
/** Weights of the English words for a Chinese one, by position. */
const FALLING = [1, 0.85, 0.75, 0.7, 0.65];
/** The significance of an act that can be done to anything, and of a time or a number. */
const MINOR = { general: 0.7, time: 0.5 };
/** Maximum characters of a question that are read. */
export const MAX_QUESTION = 1000;
const MAX_CONCEPTS = 80;
const MAX_PHRASE = 4;
/** Number of English words by which a Chinese word of a tool is found. */
const MEANINGS = 2;

export function* createQueryExpansion(): Interruptible<QueryExpansion> {
  const tokenize = createTokenizer();
  const intents = createIntents();
  const thesaurus = yield* createThesaurus();
  const rewrite = createQueryRewrite();
  const [stop, general, times] = [STOP_ENGLISH, GENERAL_ACTS, TIMES].map((words) => new Set(words.map(stem))) as [
    Set<string>,
    Set<string>,
    Set<string>,
  ];
  const stopChinese = new Set(STOP_CHINESE);
  const isSaid = (word: string) => !stop.has(word) && !stopChinese.has(word);

  function significance(word: string): number {
    if (times.has(word) || /^\d+$/.test(word)) return MINOR.time;
    return general.has(word) ? MINOR.general : 1;
  }

  function isPhrase(key: string): boolean {
    return thesaurus.same(key).length > 0 || thesaurus.expression(key) !== undefined;
  }

  function fromEnglish(typed: string[]): Concept[] {
    const concepts: Concept[] = [];
    for (let at = 0; at < typed.length; ) {
      const said = typed.slice(at, at + phraseAt(typed, at, isPhrase));
      const terms = termsOf(said, at === 0);
      if (terms.length > 0) concepts.push({ terms, weight: said.length > 1 ? 1 : significance(said[0] ?? '') });
      at += said.length;
    }
    return concepts;
  }

  /** Returns the ways to say a word or a phrase; none for a stop word alone. */
  function termsOf(said: string[], opensQuestion: boolean): Term[] {
    const key = said.join(' ');
    const content = said.filter((word) => !stop.has(word));
    const opening = opensQuestion ? thesaurus.expression(`^${key}`) : undefined;
    const likeness = said.length > 1 ? { weight: WEIGHT.samePhrase, isPhrase: true } : { weight: WEIGHT.same };
    const known = content.length > 0 || said.length > 1;
    return [
      { words: content, weight: 1 },
      ...(known ? thesaurus.same(key).map((words) => ({ words, ...likeness })) : []),
      ...[known ? thesaurus.expression(key) : undefined, opening].map((words) => ({ words: words ?? [], weight: 1 })),
    ].filter(({ words }) => words.length > 0);
  }

  /** Returns the letters and pairs as typed, and besides, the English of the words in the table. */
  function fromChinese(run: string): Concept[] {
    const words = thesaurus.chinese(run);
    const acts = words.filter(({ english }) => general.has(english[0]?.join(' ') ?? '')).map(({ word }) => word);
    const weigh = (piece: string) =>
      (piece.length === 1 ? CHINESE_PIECE.letter : CHINESE_PIECE.pair) *
      (acts.some((act) => act.includes(piece)) ? CHINESE_PIECE.ofAct : 1);
    const meant = words.map(({ word, english }) => {
      const own = english.map((words, place) => ({ words, weight: FALLING[place] ?? 0.65 }));
      const first = english[0]?.join(' ') ?? '';
      const beyond = thesaurus.same(first).map((words) => ({ words, weight: WEIGHT.beyond }));
      return { terms: [...own, ...beyond], weight: times.has(word) ? MINOR.time : significance(first) };
    });
    const typed = tokenize(run).filter(isSaid);
    return [...meant, ...typed.map((piece) => ({ ...asTyped(piece), weight: weigh(piece) }))];
  }

  return {
    tokenize,
    read(question) {
      const text = rewrite.of(plain(question.slice(0, MAX_QUESTION)));
      const runs = unspacedRuns(text);
      const typed = tokenize(runs.reduce((rest, run) => rest.replace(run, ' '), text));
      const concepts = [...fromEnglish(typed), ...runs.flatMap(fromChinese)];
      const said = concepts.flatMap(({ terms }) =>
        terms.filter(({ weight, isPhrase }) => weight === 1 || isPhrase).flatMap((term) => term.words),
      );
      const found = concepts.length > 0 ? concepts : tokenize(text).map(asTyped);
      const act = intents.isQuestion(typed, text) ? 'read' : intents.actOf(said);
      const data = new Set((question.slice(0, MAX_QUESTION).match(DATA) ?? []).flatMap(tokenize));
      const told = distinct(found).slice(0, MAX_CONCEPTS);
      return { concepts: told.map((concept) => ({ ...concept, isData: isAmong(concept, data) })), act };
    },
    asksForAct(text) {
      const first = tokenize(text).find((word) => intents.isVerb(word) || isSaid(word)) ?? '';
      const meant = unspacedRuns(text).flatMap(thesaurus.chinese);
      return intents.isVerb(first) || meant.some(({ english }) => (english[0] ?? []).some(intents.isVerb));
    },
    wordsOf: (text) => [
      ...tokenize(text).filter((word) => !stop.has(word)),
      ...unspacedRuns(text).flatMap((run) =>
        thesaurus.chinese(run).flatMap(({ english }) => english.slice(0, MEANINGS).flat()),
      ),
    ],
    productOf(server) {
      const own = tokenize(server);
      return { own, purpose: [...new Set(own.flatMap(thesaurus.purpose))] };
    },
    actOf: (name, sentence) => intents.actOf(tokenize(name)) ?? intents.actOf(tokenize(sentence).slice(0, 1)),
  };
}

/** Returns the number of words from here that form one phrase; 1 if none begins here. */
function phraseAt(words: string[], at: number, isPhrase: (key: string) => boolean): number {
  for (let length = Math.min(MAX_PHRASE, words.length - at); length > 1; length--) {
    if (isPhrase(words.slice(at, at + length).join(' '))) return length;
  }
  return 1;
}

/** Matches a capitalized word after another word, a quoted text, and a word with a digit. */
const DATA =
  /(?<=[\p{L}\p{N},] )\p{Lu}[\p{L}\p{N}'’_-]*|(["'“‘「『])[^"'”’」』]{1,40}["'”’」』]|[\p{L}_-]*\p{N}[\p{L}\p{N}_-]*/gu;

function isAmong({ terms }: Concept, words: ReadonlySet<string>): boolean {
  return (terms[0]?.words ?? []).every((word) => words.has(word));
}

function asTyped(word: string): Concept {
  return { terms: [{ words: [word], weight: 1 }], weight: 1 };
}

/** Removes repeated concepts. */
function distinct(concepts: Concept[]): Concept[] {
  const seen = new Map(concepts.map((concept) => [concept.terms[0]?.words.join(' ') ?? '', concept]));
  return [...seen.values()];
}
