/** Sizes: how large a value is as JSON, without serializing it, and sizes as text. */

/** True if the JSON of a value has more than `max` characters; values that occur twice count twice. */
export function isLarger(value: unknown, max: number): boolean {
  let left = max;
  const waiting: unknown[] = [value];
  while (waiting.length > 0 && left >= 0) {
    const next = waiting.pop();
    left -= 2;
    if (typeof next === 'string') left -= next.length;
    else if (Array.isArray(next)) {
      if (next.length > left) return true;
      for (const item of next) waiting.push(item);
    } else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        left -= key.length + 3;
        if (left < 0) return true;
        waiting.push((next as Record<string, unknown>)[key]);
      }
    }
    if (waiting.length > max) return true;
  }
  return left < 0;
}

/** Returns a size as text, such as `64 MB` or `1.5 GB`. */
export function describeSize(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return `${Number(size.toFixed(1))} ${units[unit]}`;
}
