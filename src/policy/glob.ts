/** Glob matching for names: `*` is any run of characters, `?` is one character. Backtracks to the last `*` only, so no pattern can stall. */

const NOT_ASCII = /[^\0-\x7f]/;

/** True if `text` matches `pattern`, case-sensitively and in either encoding of accents. */
export function matchesGlob(pattern: string, text: string): boolean {
  if (matches(pattern, text)) return true;
  return NOT_ASCII.test(pattern) && matches(pattern.normalize('NFC'), text.normalize('NFC'));
}

function matches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
