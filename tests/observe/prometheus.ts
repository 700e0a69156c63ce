/** A strict reader of the Prometheus text format: anything that a scraper might stumble over is an error. */

export interface Scraped {
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*';

export function parseMetrics(text: string): Map<string, Scraped> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Scraped>();
  let current: { name: string; family: Scraped } | undefined;
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    const help = new RegExp(`^# HELP (${NAME}) (.+)$`).exec(line);
    const type = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line);
    if (help !== null) {
      const [, name = '', words = ''] = help;
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = { name, family: { type: '', help: words, samples: [] } };
      families.set(name, current.family);
    } else if (type !== null) {
      if (current?.name !== type[1] || current?.family.type !== '') throw new Error(`TYPE is misplaced: ${line}`);
      current.family.type = type[2] ?? '';
    } else {
      if (current === undefined || current.family.type === '') throw new Error(`a sample without a type: ${line}`);
      if (seen.has(line.replace(/ [^ ]*$/, ''))) throw new Error(`a sample comes twice: ${line}`);
      seen.add(line.replace(/ [^ ]*$/, ''));
      const sample = parseSample(line);
      const suffixes = current.family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (!suffixes.some((suffix) => sample.name === `${current?.name}${suffix}`)) throw new Error(`stray: ${line}`);
      current.family.samples.push(sample);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

function parseSample(line: string): Scraped['samples'][number] {
  const [, name = '', inner, number = ''] =
    new RegExp(`^(${NAME})(?:\\{(.*)\\})? ([+-]?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|Inf|NaN))$`).exec(line) ?? [];
  if (name === '') throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  let rest = inner ?? '';
  while (rest !== '') {
    const [whole = '', label = '', value = ''] =
      new RegExp(`^(${LABEL})="((?:[^"\\\\]|\\\\[\\\\n"])*)"(?:,|$)`).exec(rest) ?? [];
    if (whole === '' || Object.hasOwn(labels, label)) throw new Error(`bad labels: ${line}`);
    labels[label] = value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
    rest = rest.slice(whole.length);
  }
  return { name, labels, value: Number(number) };
}

function checkHistogram(name: string, { samples }: Scraped): void {
  const groups = new Map<string, Scraped['samples']>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)));
    const counts = buckets.map(({ value }) => value);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const ascending = (list: number[], strictly: boolean) =>
      list.every((value, i) => i === 0 || value > (list[i - 1] ?? 0) || (!strictly && value === list[i - 1]));
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || !ascending(bounds, true) || !ascending(counts, false))
      throw new Error(`the buckets of ${name} are out of order`);
    if (count !== counts.at(-1) || !group.some((sample) => sample.name === `${name}_sum`))
      throw new Error(`the count of ${name} is not that of its buckets`);
  }
}
