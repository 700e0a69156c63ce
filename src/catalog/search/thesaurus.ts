/** Reads the tables of words: synonyms, expressions for tools of another name, products, and English for Chinese. */
import type { Interruptible } from '../../event-loop.ts';
import { stem } from './tokenizer.ts';
import { CHINESE, ONE_WAY_SYNONYMS, PRODUCTS, SYNONYMS } from './word-tables.ts';

/** A word, or the words of a phrase, stemmed as in the index. */
export type Phrase = string[];

export interface Thesaurus {
  /** Returns words of the same meaning. */
  same(phrase: string): Phrase[];
  /** Returns the words of the tools that an expression asks for; `^open` is "open" at the beginning of a question. */
  expression(phrase: string): Phrase | undefined;
  /** Returns the purpose of a product. */
  purpose(product: string): string[];
  /** Returns the Chinese words of a text, the longest ones, with their English, the most usual first. */
  chinese(run: string): { word: string; english: Phrase[] }[];
}

/** Reads the tables one by one, because all of them take tens of milliseconds. */
export function* createThesaurus(): Interruptible<Thesaurus> {
  const same = readSame(SYNONYMS);
  yield;
  const expressions = readExpressions(ONE_WAY_SYNONYMS);
  yield;
  const products = readProducts(PRODUCTS);
  yield;
  const chinese = readChinese(CHINESE);
  yield;
  const longest = Math.max(...[...chinese.keys()].map((word) => word.length));
  return {
    same: (phrase) => same.get(phrase) ?? [],
    expression: (phrase) => expressions.get(phrase),
    purpose: (product) => products.get(product) ?? [],
    chinese: (run) => longestWords(run, chinese, longest).map((word) => ({ word, english: chinese.get(word) ?? [] })),
  };
}

/** Returns the words of a table in a text, from left to right, and of several at one place the longest. */
function longestWords(run: string, table: ReadonlyMap<string, unknown>, longest: number): string[] {
  const words: string[] = [];
  for (let at = 0; at < run.length; ) {
    let length = longest;
    while (length > 0 && !table.has(run.slice(at, at + length))) length--;
    if (length > 0) words.push(run.slice(at, at + length));
    at += Math.max(1, length);
  }
  return words;
}

function phraseOf(text: string): Phrase {
  return text.split('_').map(stem);
}

function readSame(groups: readonly string[]): Map<string, Phrase[]> {
  const same = new Map<string, Phrase[]>();
  for (const group of groups) {
    const members = group.split(' ').map(phraseOf);
    for (const member of members) {
      const key = member.join(' ');
      const others = members.filter((other) => other !== member);
      same.set(key, [...(same.get(key) ?? []), ...others]);
    }
  }
  return same;
}

function readExpressions(lines: readonly string[]): Map<string, Phrase> {
  return new Map(
    lines.flatMap((line) => {
      const [said = '', sought = ''] = line.split(' > ');
      const words = sought.split(' ').flatMap(phraseOf);
      return said.split(' ').map((one) => [expressionKey(one), words] as const);
    }),
  );
}

function expressionKey(said: string): string {
  return said.startsWith('^') ? `^${phraseOf(said.slice(1)).join(' ')}` : phraseOf(said).join(' ');
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

function readChinese(lines: readonly string[]): Map<string, Phrase[]> {
  return new Map(
    lines.flatMap((line) => {
      const [chinese = '', english = ''] = line.split('=');
      const meant = english.split(' ').map(phraseOf);
      return chinese.split(' ').map((word) => [word, meant] as const);
    }),
  );
}
