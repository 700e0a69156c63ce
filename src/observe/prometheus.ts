/** The Prometheus text format: families of samples as text. https://prometheus.io/docs/instrumenting/exposition_formats/ */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  labels?: Labels;
  value: number;
}

/** Counts by upper bound; `counts` has one more entry than `bounds`, for all larger values. */
export interface Histogram {
  bounds: readonly number[];
  counts: number[];
  sum: number;
}

export type Family = { name: string; help: string } & (
  | { type: 'counter' | 'gauge'; samples: Sample[] }
  | { type: 'histogram'; samples: { labels: Labels; histogram: Histogram }[] }
);

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function createHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds } = histogram;
  let place = 0;
  while (place < bounds.length && value > (bounds[place] as number)) place += 1;
  histogram.counts[place] = (histogram.counts[place] ?? 0) + 1;
  histogram.sum += value;
}

/** Renders families as text; a family without samples is left out. */
export function prometheusText(families: Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map((family) => {
      const head = `# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${family.type}\n`;
      return head + linesOf(family).join('');
    })
    .join('');
}

function linesOf(family: Family): string[] {
  if (family.type !== 'histogram') {
    return family.samples.map(({ labels = {}, value }) => line(family.name, labels, value));
  }
  return family.samples.flatMap(({ labels, histogram }) => {
    let count = 0;
    const buckets = histogram.counts.map((more, index) => {
      count += more;
      const le = index < histogram.bounds.length ? String(histogram.bounds[index]) : '+Inf';
      return line(`${family.name}_bucket`, { ...labels, le }, count);
    });
    return [...buckets, line(`${family.name}_sum`, labels, histogram.sum), line(`${family.name}_count`, labels, count)];
  });
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
