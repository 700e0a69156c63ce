/** Segments Chinese text into words of a table, with as few unknown letters and as few words as possible. */

/** The cost of a word, and of a letter that belongs to no word. */
const COST = { word: 1, unknown: 3 };

/**
 * Returns the words, and the text between them, in order. `longest` is the number of letters of the longest word in the
 * table.
 */
export function segmentChinese(run: string, table: ReadonlyMap<string, unknown>, longest: number): string[] {
  const pieces: string[] = [];
  const lengths = bestLengths(run, table, longest);
  let unknown = '';
  for (let at = 0; at < run.length; ) {
    const length = lengths[at] ?? 0;
    if (length === 0) {
      unknown += run[at++];
      continue;
    }
    if (unknown !== '') pieces.push(unknown);
    unknown = '';
    pieces.push(run.slice(at, at + length));
    at += length;
  }
  return unknown === '' ? pieces : [...pieces, unknown];
}

/**
 * Returns for each position the length of the word that begins there in the best segmentation of the rest, preferring
 * longer words; 0 if none begins there.
 */
function bestLengths(run: string, table: ReadonlyMap<string, unknown>, longest: number): number[] {
  const lengths: number[] = Array(run.length).fill(0);
  const costs: number[] = Array(run.length + 1).fill(0);
  for (let at = run.length - 1; at >= 0; at--) {
    costs[at] = COST.unknown + (costs[at + 1] ?? 0);
    for (let length = 1; length <= Math.min(longest, run.length - at); length++) {
      const cost = COST.word + (costs[at + length] ?? 0);
      if (cost > (costs[at] ?? 0) || !table.has(run.slice(at, at + length))) continue;
      costs[at] = cost;
      lengths[at] = length;
    }
  }
  return lengths;
}
