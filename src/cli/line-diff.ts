/** Compares two texts line by line and formats a unified diff. */

export interface Comparison {
  diff: string;
  added: number;
  removed: number;
}

/** The maximum number of table cells: lines of one side times lines of the other, without equal ends. */
const MAX_CELLS = 4_000_000;

type Edit = { mark: ' ' | '-' | '+'; line: string };

export function compareLines(before: string[], after: string[], context: number): Comparison {
  const edits = editsBetween(before, after);
  const added = edits.filter((edit) => edit.mark === '+').length;
  const removed = edits.filter((edit) => edit.mark === '-').length;
  return { diff: unified(edits, context), added, removed };
}

function editsBetween(before: string[], after: string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const shortest = Math.min(before.length, after.length) - head;
  while (tail < shortest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const same = (lines: string[]): Edit[] => lines.map((line) => ({ mark: ' ', line }));
  return [
    ...same(before.slice(0, head)),
    ...middleEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

/**
 * Computes the longest common subsequence: `table[i][j]` is its length for the lines from i and j on. Of texts that are
 * too long for it, every line is removed and added.
 */
function middleEdits(before: string[], after: string[]): Edit[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > MAX_CELLS) {
    const all = (mark: Edit['mark'], lines: string[]): Edit[] => lines.map((line) => ({ mark, line }));
    return [...all('-', before), ...all('+', after)];
  }
  const table = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => table[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const edits: Edit[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      edits.push({ mark: ' ', line: old });
      i += 1;
      j += 1;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      edits.push({ mark: '-', line: old });
      i += 1;
    } else {
      edits.push({ mark: '+', line: fresh ?? '' });
      j += 1;
    }
  }
  return edits;
}

function unified(edits: Edit[], context: number): string {
  const shown = new Set<number>();
  for (const [index, edit] of edits.entries()) {
    if (edit.mark === ' ') continue;
    for (let near = index - context; near <= index + context; near += 1) shown.add(near);
  }
  const out: string[] = [];
  let hunk: Edit[] = [];
  let [oldLine, newLine] = [1, 1];
  let [oldStart, newStart] = [1, 1];
  const flush = () => {
    if (hunk.length === 0) return;
    const range = (start: number, skipped: string) => {
      const count = hunk.filter((edit) => edit.mark !== skipped).length;
      return `${count === 0 ? start - 1 : start},${count}`;
    };
    out.push(`@@ -${range(oldStart, '+')} +${range(newStart, '-')} @@`, ...hunk.map((edit) => edit.mark + edit.line));
    hunk = [];
  };
  for (const [index, edit] of edits.entries()) {
    if (!shown.has(index)) flush();
    else {
      if (hunk.length === 0) [oldStart, newStart] = [oldLine, newLine];
      hunk.push(edit);
    }
    if (edit.mark !== '+') oldLine += 1;
    if (edit.mark !== '-') newLine += 1;
  }
  flush();
  return out.join('\n');
}
