/** Chinese cut into words of a table: so that as little as possible is left over, and in as few words as possible. */

/** What a word and what a letter that is in none costs. */
const COST = { word: 1, unknown: 3 };

/** The words, and what is between them, in order. `longest`: letters of the longest word in the table. */
export function piecesOf(run: string, table: ReadonlyMap<string, unknown>, longest: number): string[] {
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

/** For each place how long the word is that begins there in the best cut of the rest, the longer one of two; 0 where none does. */
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
