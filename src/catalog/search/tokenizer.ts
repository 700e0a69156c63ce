/** Splits text into search words, the same way for questions and tools: names at case and separators, Chinese and Japanese into letters and pairs. */

/** Matches runs of scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]+/gu;
const SPACED_WORD = /[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu;
/** Matches most texts, which need no handling of scripts and spellings. */
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9][A-Za-z0-9'_-]*/g;
/** Matches `e-mail` and `to-do`, which also count as one word. Longer chains are names. */
const HYPHENATED = /^\p{L}{1,6}-\p{L}{1,8}$/u;
const MAX_WORD = 40;
const MAX_KNOWN = 50_000;

/** Normalizes characters that look the same: full-width letters, accents, ligatures. */
export function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}

/** Returns a name without case and separators; an empty string if it has only separators. */
export function keyOf(text: string): string {
  return plain(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** Returns the words of a text in order, lower-case and stemmed; a run of Chinese or Japanese as letters and pairs. */
export type Tokenize = (text: string) => string[];

/** Creates a tokenizer. It caches split words, because the tools of a server repeat them; each index has its own. */
export function createTokenizer(): Tokenize {
  const known = new Map<string, string[]>();
  const split = (word: string): string[] => {
    let parts = known.get(word);
    if (parts === undefined) {
      parts = splitWord(word);
      if (known.size < MAX_KNOWN) known.set(word, parts);
    }
    return parts;
  };
  return (text) => {
    if (ASCII.test(text)) return (text.match(ASCII_WORD) ?? []).flatMap(split);
    const even = plain(text);
    const words: string[] = [];
    let end = 0;
    for (const match of even.matchAll(UNSPACED)) {
      words.push(...spacedWords(even.slice(end, match.index)).flatMap(split), ...lettersAndPairs(match[0]));
      end = match.index + match[0].length;
    }
    return [...words, ...spacedWords(even.slice(end)).flatMap(split)];
  };
}

function spacedWords(text: string): string[] {
  return text.match(SPACED_WORD) ?? [];
}

/**
 * Returns each letter, and each two neighbouring letters: 会议室 as 会 议 会议 室 议室. Words of a dictionary would be
 * other ones in a question than in a description, and would not meet.
 */
function lettersAndPairs(run: string): string[] {
  const letters = [...run];
  return letters.flatMap((letter, at) => (at === 0 ? [letter] : [letter, letters[at - 1] + letter]));
}

/** Returns the runs of Chinese or Japanese in a text. */
export function unspacedRuns(text: string): string[] {
  return ASCII.test(text) ? [] : (plain(text).match(UNSPACED) ?? []);
}

function splitWord(word: string): string[] {
  const bare = word.replace(/['’](?:s|t|re|ve|ll|d|m)?(?=$|[-_])/giu, '').replace(/['’]/g, '');
  const parts = bare
    .replace(/^(\p{Lu}{2,})s$/u, (_, letters: string) => letters.toLowerCase())
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(/[\s_-]+/)
    .filter((part) => part !== '');
  const joined = parts.length === 2 && (HYPHENATED.test(bare) || !/[_-]/.test(bare)) ? [parts.join('')] : [];
  return [...parts, ...joined].map((part) => stem(part.toLowerCase().slice(0, MAX_WORD)));
}

const VOWEL = /[aeiouy]/;

/**
 * Removes English endings, so that the forms of a word match. The result is not the root of the word, only the same
 * text for all forms.
 */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const singular = withoutPlural(word);
  const base = withoutTense(singular);
  const noun = withoutSuffix(base);
  const bare = noun.length > 4 && noun.endsWith('e') ? noun.slice(0, -1) : noun;
  return bare
    .replace(/(?<=..)y$/, 'i')
    .replace(/(?<=..)ysis$/, 'yz')
    .replace(/(?<=...)([iy])s$/, '$1z');
}

/** Singular words that end like a plural. */
const SINGULAR = new Set(['news', 'lens', 'bias', 'canvas', 'atlas']);

function withoutPlural(word: string): string {
  if (SINGULAR.has(word)) return word;
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (/(?:x|ch|sh|ss|zz)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  const cut = /^(.{3,})(?:ing|ed)$/.exec(word)?.[1];
  if (cut === undefined || !VOWEL.test(cut)) return word;
  if (/([bdfgmnprt])\1$/.test(cut)) return cut.slice(0, -1);
  return cut;
}

const SUFFIXES: [ending: string, instead: string, rest: number][] = [
  ['ization', 'ize', 3],
  ['isation', 'ize', 3],
  ['ation', 'ate', 3],
  ['tion', 't', 4],
  ['sion', 's', 4],
  ['ment', '', 5],
  ['ally', 'al', 4],
  ['ly', '', 4],
];

function withoutSuffix(word: string): string {
  for (const [ending, instead, rest] of SUFFIXES) {
    if (word.endsWith(ending) && word.length - ending.length >= rest) return word.slice(0, -ending.length) + instead;
  }
  return word;
}
