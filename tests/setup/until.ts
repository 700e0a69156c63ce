/** Waiting for something that no event announces. */

/** ms that a wait may take before it counts as hanging: long enough for a busy machine, shorter than the limit of a test, so that its own message is shown. */
export const PATIENCE = 45_000;

/** The real one, also while a test has a clock of its own. */
const later = globalThis.setTimeout;
const now = () => process.hrtime.bigint();

/** Resolves when `check` holds; fails with what `describe` says when that never happens. */
export async function until(check: () => boolean, describe: () => string = () => String(check)): Promise<void> {
  const end = now() + BigInt(PATIENCE) * 1_000_000n;
  while (!check()) {
    if (now() > end) throw new Error(`this did not become true: ${describe()}`);
    await new Promise((resolve) => later(resolve, 10));
  }
}
