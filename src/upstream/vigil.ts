/** What happens by itself while an upstream is connected: it is stopped for want of use, and looked after while nobody asks. */
import { McpxError } from '../errors.ts';
import type { ConnectionOptions } from './connection.ts';
import { watchHealth } from './health.ts';
import { watchIdle } from './idle.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Link } from './link.ts';
import type { Standing } from './standing.ts';

export interface VigilOptions extends Pick<ConnectionOptions, 'spec' | 'settings' | 'log' | 'childLimit' | 'holder'> {
  lifecycle: Pick<Lifecycle, 'rest' | 'lose'>;
  standing: Pick<Standing, 'expected'>;
  /** Whether anything is under way or waiting. */
  busy(): boolean;
  /** Monotonic ms of the last use. */
  used(): number;
  /** ms without use after which it is stopped, for a process and for what is none; 0 = never. */
  idleStop(isProcess: boolean): number;
}

/** Whether a process may be stopped where another one needs its place. */
function offerPlace(link: Link, { childLimit, holder, lifecycle, busy, standing }: VigilOptions, used: () => number) {
  if (link.transport.pid === undefined) return undefined;
  return childLimit?.add({
    holder,
    idleSince: () => (busy() || standing.expected ? undefined : used()),
    stop: () => lifecycle.rest(),
  });
}

/** Until the returned function is called. */
export function watchLink(link: Link, options: VigilOptions): () => void {
  const { spec, settings, log, lifecycle, standing, busy } = options;
  const { health } = settings;
  const since = performance.now();
  const used = () => Math.max(since, options.used());
  const unhealthy = (reason: string) => {
    const text = `server "${spec.name}" is unhealthy: it failed ${health.failures} checks in a row (${reason})`;
    lifecycle.lose(link, new McpxError('unreachable', text));
  };
  const missed = (reason: string, count: number) => {
    log.info(`server "${spec.name}" failed a check (${count} in a row): ${reason}`);
  };
  const idle = watchIdle({
    after: () => options.idleStop(link.transport.pid !== undefined),
    busy: () => busy() || standing.expected,
    used,
    idle: () => void lifecycle.rest(),
  });
  const offer = offerPlace(link, options, used);
  // A server inside mcpx is as healthy as mcpx itself.
  const isChecked = health.enabled && spec.type !== 'builtin';
  const checks = isChecked ? watchHealth(link, { ...health, busy, heard: used, missed, unhealthy }) : undefined;
  return () => {
    idle();
    offer?.();
    checks?.();
  };
}
