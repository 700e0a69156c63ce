/** Prometheus metrics, counted from events. Every label has a bounded number of values, so that no client can make them grow. */

import { type CallRecord, type Happening, type HttpExchange, isUnreached, type Outcome } from './observer.ts';
import { createHistogram, type Family, type Histogram, observe } from './prometheus.ts';

/** Returns true if the client that reads the metrics may see the series. */
export type Visible = (thing: { profile: string; server: string; tool: string }) => boolean;

export interface Metrics {
  hear(happening: Happening): void;
  /** Returns the metric families; `underWay` is the number of calls in progress, which the observer knows. */
  families(underWay: number, visible?: Visible): Family[];
}

interface Series {
  labels: { profile: string; server: string; tool: string };
  outcomes: Map<Outcome, number>;
  seconds: Histogram;
}

interface Page {
  labels: { method: string; route: string; status: string };
  count: number;
}

interface Totals {
  /** Bytes of HTTP requests and answers. */
  received: number;
  sent: number;
  denied: number;
  missing: number;
  reloads: { ok: number; failed: number };
}

/** Maximum number of series; calls of further tools are counted under `OTHER` of their server. */
const MAX_SERIES = 1000;
const OTHER = 'other';
const DENIED = 'mcpx_calls_denied_total';
const MISSING = 'mcpx_calls_missing_total';
/** The families that count calls of targets that the client may not use, or that do not exist. */
export const UNREACHED: ReadonlySet<string> = new Set([DENIED, MISSING]);
/** Upper bounds of the buckets, in seconds. */
const CALL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const VISIT_BOUNDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30];
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PUT']);

export function createMetrics({ maxSeries = MAX_SERIES } = {}): Metrics {
  /** Series by profile, server and tool. Nested maps avoid building a combined key for every call. */
  const byName = new Map<string, Map<string, Map<string, Series>>>();
  const series: Series[] = [];
  /** Pages by route, method and status. */
  const byRoute = new Map<string, Map<string, Map<number, Page>>>();
  const pages: Page[] = [];
  const durations = new Map<string, Histogram>();
  const totals: Totals = { received: 0, sent: 0, denied: 0, missing: 0, reloads: { ok: 0, failed: 0 } };

  const seriesOf = (call: CallRecord): Series => {
    // The URIs of resources are unbounded, so the label is their method.
    const tool = call.kind === 'tool' ? call.name : call.method;
    const { profile, server } = call;
    const tools = within(within(byName, profile), server);
    const name = tools.has(tool) || series.length < maxSeries ? tool : OTHER;
    const found = tools.get(name);
    if (found !== undefined) return found;
    const labels = { profile, server, tool: name };
    const made: Series = { labels, outcomes: new Map(), seconds: createHistogram(CALL_BOUNDS) };
    tools.set(name, made);
    series.push(made);
    return made;
  };
  const called = (call: CallRecord) => {
    if (isUnreached(call.outcome)) {
      totals[call.outcome] += 1;
      return;
    }
    if (call.denied) totals.denied += 1;
    const { outcomes, seconds } = seriesOf(call);
    outcomes.set(call.outcome, (outcomes.get(call.outcome) ?? 0) + 1);
    observe(seconds, call.ms / 1000);
  };
  const visited = ({ method, route, status, ms, received, sent }: HttpExchange) => {
    const known = METHODS.has(method) ? method : OTHER;
    const answers = within(within(byRoute, route), known);
    const page = answers.get(status) ?? { labels: { method: known, route, status: String(status) }, count: 0 };
    if (page.count === 0) pages.push(page);
    page.count += 1;
    answers.set(status, page);
    const seconds = durations.get(route) ?? createHistogram(VISIT_BOUNDS);
    durations.set(route, seconds);
    observe(seconds, ms / 1000);
    totals.received += received;
    totals.sent += sent;
  };

  return {
    hear(happening) {
      if (happening.type === 'call_ended') called(happening.call);
      else if (happening.type === 'exchange') visited(happening.exchange);
      else if (happening.type === 'reload') totals.reloads[happening.ok ? 'ok' : 'failed'] += 1;
    },
    families: (underWay, visible = () => true) => [
      ...familiesOfCalls(series.filter(({ labels }) => visible(labels))),
      counter(DENIED, 'Calls of what the caller may not use.', totals.denied),
      counter(MISSING, 'Calls of what does not exist.', totals.missing),
      gauge('mcpx_calls_in_flight', 'Calls under way.', underWay),
      ...familiesOfHttp(pages, durations, totals),
      {
        ...{ name: 'mcpx_reloads_total', type: 'counter', help: 'Times that the config was read again.' },
        samples: Object.entries(totals.reloads).map(([result, value]) => ({ labels: { result }, value })),
      },
    ],
  };
}

function familiesOfCalls(series: Series[]): Family[] {
  return [
    {
      ...{ name: 'mcpx_calls_total', type: 'counter', help: 'Calls by server, tool and how they ended.' },
      samples: series.flatMap(({ labels, outcomes }) =>
        [...outcomes].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
      ),
    },
    {
      ...{ name: 'mcpx_call_duration_seconds', type: 'histogram', help: 'How long calls took.' },
      samples: series.map(({ labels, seconds }) => ({ labels, histogram: seconds })),
    },
  ];
}

function familiesOfHttp(pages: Page[], durations: Map<string, Histogram>, { received, sent }: Totals): Family[] {
  return [
    {
      ...{ name: 'mcpx_http_requests_total', type: 'counter', help: 'HTTP requests that are over.' },
      samples: pages.map(({ labels, count }) => ({ labels, value: count })),
    },
    {
      ...{ name: 'mcpx_http_request_duration_seconds', type: 'histogram', help: 'How long answers took.' },
      samples: [...durations].map(([route, histogram]) => ({ labels: { route }, histogram })),
    },
    counter('mcpx_http_received_bytes_total', 'Bytes of requests that are over, headers included.', received),
    counter('mcpx_http_sent_bytes_total', 'Bytes of answers that are over, headers included.', sent),
  ];
}

/** Returns the inner map of a key; creates it on first use. */
function within<K, T>(maps: Map<string, Map<K, T>>, key: string): Map<K, T> {
  const found = maps.get(key);
  if (found !== undefined) return found;
  const made = new Map<K, T>();
  maps.set(key, made);
  return made;
}

export function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ value }] };
}

export function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ value }] };
}
