/** Progress of the scripts on stderr: one short line per step, with its duration. */

/** One line: a word for the step, then the text. */
export function log(word, text) {
  process.stderr.write(`${word.padEnd(9)} ${text}\n`);
}

/** Runs one step and says what came of it. `work` returns the text of the line, or nothing to stay silent. */
export async function logStep(word, work) {
  const start = process.hrtime.bigint();
  const text = await work();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  if (text !== undefined) log(word, `${text} (${seconds.toFixed(1)} s)`);
}

/** A size as people read it: 98.2 MB, 412.0 KB. Decimal units. */
export function formatSize(bytes) {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} KB`;
}
