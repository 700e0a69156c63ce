/** Text as words to search by: names split at case and separators, Chinese and Japanese segmented, endings taken off. */

/** Runs of scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]+/gu;
const SPACED_WORD = /[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu;
/** Most text: no need to look at scripts and spellings. */
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9][A-Za-z0-9'_-]*/g;
/** `e-mail`, `to-do`: also one word. Longer chains are names. */
const HYPHENATED = /^\p{L}{1,6}-\p{L}{1,8}$/u;
const MAX_WORD = 40;
const MAX_KNOWN = 50_000;

/** One spelling for what looks the same: full-width letters, accents, ligatures. */
export function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}

export interface Words {
  /** The words of a text in order, lower-case and stemmed; those of scripts without spaces as they are. */
  of(text: string): string[];
  /** The words in a run of Chinese or Japanese. */
  segment(run: string): string[];
}

/** Remembers what it has split, because the tools of a server say the same words again and again; made anew for every index. */
export function createWords(): Words {
  const known = new Map<string, string[]>();
  let segmenter: Intl.Segmenter | undefined;

  const split = (word: string): string[] => {
    let parts = known.get(word);
    if (parts === undefined) {
      parts = splitWord(word);
      if (known.size < MAX_KNOWN) known.set(word, parts);
    }
    return parts;
  };
  const spaced = (text: string) => (text.match(SPACED_WORD) ?? []).flatMap(split);
  const segment = (run: string): string[] => {
    segmenter ??= new Intl.Segmenter('zh', { granularity: 'word' });
    return [...segmenter.segment(run)].filter(({ isWordLike }) => isWordLike).map((found) => found.segment);
  };

  return {
    segment,
    of(text) {
      if (ASCII.test(text)) return (text.match(ASCII_WORD) ?? []).flatMap(split);
      const even = plain(text);
      const words: string[] = [];
      let end = 0;
      for (const match of even.matchAll(UNSPACED)) {
        words.push(...spaced(even.slice(end, match.index)), ...segment(match[0]));
        end = match.index + match[0].length;
      }
      return [...words, ...spaced(even.slice(end))];
    },
  };
}

/** The runs of Chinese or Japanese in a text. */
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

/** Takes English endings off, so that one word meets its other forms. Not the root of a word: only the same text for its forms. */
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

/** End like a plural and are none. */
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
