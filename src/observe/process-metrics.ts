/** Metrics of this process, under the names that Prometheus dashboards use. */
import { readdirSync } from 'node:fs';
import { counter, gauge } from './metrics.ts';
import type { Family } from './prometheus.ts';

export function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const { utilization } = performance.eventLoopUtilization();
  return [
    counter('process_cpu_seconds_total', 'Processor time, in seconds.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Memory that is resident.', rss),
    gauge('process_start_time_seconds', 'When it started, in seconds since the epoch.', performance.timeOrigin / 1000),
    gauge('nodejs_heap_size_used_bytes', 'Memory of JavaScript values.', heapUsed),
    gauge('nodejs_eventloop_utilization', 'Share of the time since the start in which it was busy.', utilization),
    ...openFiles(),
  ];
}

/** Returns the number of open files, if the system has `/proc/self/fd`. */
function openFiles(): Family[] {
  try {
    return [gauge('process_open_fds', 'Open files and sockets.', readdirSync('/proc/self/fd').length)];
  } catch {
    return [];
  }
}
