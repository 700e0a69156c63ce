/** Finds known words that are spelt like an unknown one: one letter wrong, missing, added or swapped, or the end missing. */

/** Minimum letters of a word that may be the beginning of another one, and of a word that may be misspelt. */
const BEGINNING = 4;
const MISSPELT = 5;

/** Returns the words that the unknown word was probably meant to be; misspelt ones before longer ones. */
export function nearWords(unknown: string, words: Iterable<string>): string[] {
  if (unknown.length < BEGINNING) return [];
  const spelt: string[] = [];
  const longer: string[] = [];
  for (const word of words) {
    if (unknown.length >= MISSPELT && isOneEditAway(unknown, word)) spelt.push(word);
    else if (word.startsWith(unknown)) longer.push(word);
  }
  return spelt.length > 0 ? spelt : longer;
}

/** True if one insertion, deletion, replacement or swap of neighbours makes one word the other. */
export function isOneEditAway(a: string, b: string): boolean {
  const difference = a.length - b.length;
  if (difference < -1 || difference > 1 || a === b) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (difference > 0) return a.slice(at + 1) === b.slice(at);
  if (difference < 0) return a.slice(at) === b.slice(at + 1);
  if (a.slice(at + 1) === b.slice(at + 1)) return true;
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}
