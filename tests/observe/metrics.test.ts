/** Numbers for Prometheus, read back by a strict parser. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createObserver } from '../../src/observe/observer.ts';
import { processFamilies } from '../../src/observe/process-metrics.ts';
import { createHistogram, observe, prometheusText } from '../../src/observe/prometheus.ts';
import { parseMetrics } from './prometheus.ts';

function watched(options?: Parameters<typeof createMetrics>[0]) {
  const observer = createObserver();
  const metrics = createMetrics(options);
  observer.subscribe(metrics.hear);
  const start = (name: string) => ({ kind: 'tool', server: 's', name, method: 'tools/call' }) as const;
  const call = (name: string, outcome: 'ok' | 'failed' = 'ok', profile = 'default') =>
    observer.calls({ profile }).begin(start(name))(outcome);
  const deny = (name: string) => observer.calls({ profile: 'default' }).unreached(start(name), 'denied');
  const scrape = (visible?: Parameters<typeof metrics.families>[1]) =>
    parseMetrics(prometheusText(metrics.families(7, visible)));
  return { observer, call, deny, scrape };
}

test('calls are counted by server, tool and outcome, with a histogram of how long they took', () => {
  const { call, deny, scrape } = watched();
  for (const outcome of ['ok', 'ok', 'failed'] as const) call('t', outcome);
  deny('t');
  const families = scrape();
  expect(families.get('mcpx_calls_total')?.samples).toEqual([
    { name: 'mcpx_calls_total', labels: { profile: 'default', server: 's', tool: 't', outcome: 'ok' }, value: 2 },
    { name: 'mcpx_calls_total', labels: { profile: 'default', server: 's', tool: 't', outcome: 'failed' }, value: 1 },
  ]);
  expect(families.get('mcpx_calls_denied_total')?.samples[0]?.value).toBe(1);
  expect(families.get('mcpx_calls_in_flight')?.samples[0]?.value).toBe(7);
  const counts = families.get('mcpx_call_duration_seconds')?.samples.filter(({ name }) => name.endsWith('_count'));
  expect(counts).toMatchObject([{ value: 3 }]);
});

test('beyond the bound, tools are counted together', () => {
  const { call, scrape } = watched({ maxSeries: 3 });
  for (let index = 0; index < 50; index += 1) call(`t${index}`);
  const tools = scrape()
    .get('mcpx_calls_total')
    ?.samples.map(({ labels, value }) => [labels.tool, value]);
  expect(tools).toEqual([
    ['t0', 1],
    ['t1', 1],
    ['t2', 1],
    ['other', 47],
  ]);
});

test('resources are counted by their method, because their URIs are without number', () => {
  const { observer, scrape } = watched();
  const calls = observer.calls({ profile: 'default' });
  for (const name of ['file:///a', 'file:///b'])
    calls.begin({ kind: 'resource', server: 's', name, method: 'resources/read' })('ok');
  expect(scrape().get('mcpx_calls_total')?.samples).toMatchObject([{ labels: { tool: 'resources/read' }, value: 2 }]);
});

test('whoever asks sees the numbers of what it may use', () => {
  const { call, scrape } = watched();
  call('open');
  call('hidden');
  const text = JSON.stringify([...scrape(({ tool }) => tool === 'open')]);
  expect(text).toContain('open');
  expect(text).not.toContain('hidden');
});

test('requests are counted by method, route and status; a made-up method is not a label', () => {
  const { observer, scrape } = watched();
  const exchange = { request: 'r', path: '/x', route: '/mcp', status: 200, ms: 3, from: '', received: 10, sent: 20 };
  observer.emit({ type: 'exchange', exchange: { ...exchange, method: 'POST' } });
  observer.emit({ type: 'exchange', exchange: { ...exchange, method: 'FROB' } });
  observer.emit({ type: 'reload', ok: false, message: 'no' });
  const families = scrape();
  expect(families.get('mcpx_http_requests_total')?.samples).toMatchObject([
    { labels: { method: 'POST', route: '/mcp', status: '200' }, value: 1 },
    { labels: { method: 'other' }, value: 1 },
  ]);
  expect(families.get('mcpx_http_sent_bytes_total')?.samples[0]?.value).toBe(40);
  expect(families.get('mcpx_reloads_total')?.samples).toMatchObject([
    { labels: { result: 'ok' }, value: 0 },
    { labels: { result: 'failed' }, value: 1 },
  ]);
});

test('the numbers of the process are there', () => {
  const families = parseMetrics(prometheusText(processFamilies()));
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds'])
    expect(families.get(name)?.samples[0]?.value).toBeGreaterThan(0);
});

test('any name survives as a label, and any time falls into one bucket', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.double({ min: 0, max: 100, noNaN: true })), (name, times) => {
      const histogram = createHistogram([0.1, 1, 10]);
      for (const time of times) observe(histogram, time);
      const text = prometheusText([
        {
          name: 'a',
          help: name.length === 0 ? 'x' : `x${name}`,
          type: 'gauge',
          samples: [{ labels: { name }, value: 1 }],
        },
        { name: 'h', help: 'x', type: 'histogram', samples: [{ labels: { name }, histogram }] },
      ]);
      const families = parseMetrics(text);
      expect(families.get('a')?.samples[0]?.labels.name).toBe(name);
      expect(families.get('h')?.samples.at(-1)?.value).toBe(times.length);
    }),
  );
});
