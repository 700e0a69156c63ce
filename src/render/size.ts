/** How large a value is as JSON, without writing it. */

/** True when the JSON of a value has more characters than that; parts that occur twice count twice. */
export function isLarger(value: unknown, max: number): boolean {
  let left = max;
  const waiting: unknown[] = [value];
  while (waiting.length > 0 && left >= 0) {
    const next = waiting.pop();
    left -= 2;
    if (typeof next === 'string') left -= next.length;
    else if (Array.isArray(next)) for (const item of next) waiting.push(item);
    else if (typeof next === 'object' && next !== null) {
      for (const [key, item] of Object.entries(next)) {
        left -= key.length + 3;
        waiting.push(item);
      }
    }
    if (waiting.length > max) return true;
  }
  return left < 0;
}
