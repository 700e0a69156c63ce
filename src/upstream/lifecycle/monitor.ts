/** Monitors a connected upstream: stops it when it is idle and checks its health. */
import { McpxError } from '../../errors.ts';
import type { ConnectionOptions } from '../connection-options.ts';
import { watchHealth } from './health.ts';
import { watchIdle } from './idle-timer.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Link } from './link.ts';

export interface MonitorOptions extends Pick<ConnectionOptions, 'spec' | 'settings' | 'log' | 'childLimit' | 'holder'> {
  lifecycle: Pick<Lifecycle, 'stopIdle' | 'fail'>;
  /** Returns true while an operation is pending or queued. */
  busy(): boolean;
  /** Returns true while a client waits for notifications. */
  hasSubscribers(): boolean;
  /** Returns the monotonic ms of the last use. */
  used(): number;
  /** Returns the idle ms after which the server is stopped; 0 = never. */
  idleStop(isProcess: boolean): number;
}

/** Registers the process as one that may be stopped while idle if another one needs its place. */
function offerPlace(
  link: Link,
  { childLimit, holder, lifecycle, busy, hasSubscribers }: MonitorOptions,
  used: () => number,
) {
  if (link.transport.pid === undefined) return undefined;
  return childLimit?.add({
    holder,
    idleSince: () => (busy() || hasSubscribers() ? undefined : used()),
    stop: () => lifecycle.stopIdle(),
  });
}

/** Monitors the connection until the returned function is called. */
export function watchLink(link: Link, options: MonitorOptions): () => void {
  const { spec, settings, log, lifecycle, busy, hasSubscribers } = options;
  const { health } = settings;
  const since = performance.now();
  const used = () => Math.max(since, options.used());
  const unhealthy = (reason: string) => {
    const text = `server "${spec.name}" is unhealthy: it failed ${health.failures} checks in a row (${reason})`;
    lifecycle.fail(link, new McpxError('unreachable', text));
  };
  const missed = (reason: string, count: number) => {
    log.info(`server "${spec.name}" failed a check (${count} in a row): ${reason}`);
  };
  const idle = watchIdle({
    after: () => options.idleStop(link.transport.pid !== undefined),
    busy: () => busy() || hasSubscribers(),
    used,
    idle: () => void lifecycle.stopIdle(),
  });
  const offer = offerPlace(link, options, used);
  // A built-in server runs inside mcpx and needs no health checks.
  const isChecked = health.enabled && spec.type !== 'builtin';
  const checks = isChecked ? watchHealth(link, { ...health, busy, heard: used, missed, unhealthy }) : undefined;
  return () => {
    idle();
    offer?.();
    checks?.();
  };
}
