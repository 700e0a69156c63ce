/** The timeout of one start, which is longer while a launcher such as `npx` downloads the server, and its slow-start messages. */
import type { ServerSpec } from '../../config/config.ts';
import { FETCH_LIMIT, isFetching, launcherOf } from '../process/launcher.ts';
import type { Transport } from '../transports/transport.ts';
import { seconds } from './breaker.ts';

export interface StartLimit {
  /** The timeout of the handshake in ms. After the end of a download `signal` aborts earlier. */
  readonly timeout: number;
  /** Aborts when the start has timed out or is no longer needed. */
  readonly signal: AbortSignal;
  /** True if the start has timed out. */
  readonly isOver: boolean;
  /** The launcher that was downloading at the last check. */
  readonly fetching: string | undefined;
  /** Called when the start has succeeded or failed. */
  end(): void;
}

export interface StartLimitOptions {
  spec: ServerSpec;
  transport: Pick<Transport, 'pid' | 'stderr'>;
  /** Receives slow-start lines. */
  slow: (line: string) => void;
  /** Aborts when the upstream is no longer needed. */
  signal: AbortSignal;
  /** Called when a download begins or ends. */
  changed: (fetching: string | undefined) => void;
}

/** Milliseconds between two checks of a launcher. */
const LOOK = 1000;
/** Milliseconds after which a slow start is reported; after the last one, once a minute. */
const MENTIONS = [10_000, 20_000, 30_000, 60_000];

export function limitStart({ spec, transport, slow, signal, changed }: StartLimitOptions): StartLimit {
  const launcher = launcherOf(spec);
  const since = performance.now();
  const giveUp = new AbortController();
  let fetching: string | undefined;
  let fetchedUntil = since;
  let mentioned = 0;
  let timer: NodeJS.Timeout | undefined;

  const lookAtLauncher = (now: number) => {
    if (launcher === undefined) return;
    const { pid } = transport;
    const before = fetching;
    fetching = isFetching({ launcher, pid, stderr: transport.stderr?.() ?? [] }) ? launcher : undefined;
    if (fetching !== undefined) fetchedUntil = now;
    if (fetching !== before) changed(fetching);
    if (now - fetchedUntil >= spec.startupTimeout || fetchedUntil - since >= FETCH_LIMIT) giveUp.abort();
  };

  const mention = (elapsed: number) => {
    const next = MENTIONS[mentioned] ?? (mentioned - MENTIONS.length + 2) * 60_000;
    if (elapsed < next) return;
    mentioned += 1;
    const why = fetching === undefined ? '' : `: ${fetching} is downloading it`;
    slow(`server "${spec.name}" is still starting after ${seconds(next)}${why}`);
  };

  const look = () => {
    const now = performance.now();
    lookAtLauncher(now);
    mention(now - since);
    if (!giveUp.signal.aborted) schedule();
  };
  const schedule = () => {
    timer = setTimeout(look, LOOK);
    timer.unref();
  };
  schedule();
  return {
    timeout: spec.startupTimeout + (launcher === undefined ? 0 : FETCH_LIMIT),
    signal: AbortSignal.any([signal, giveUp.signal]),
    get isOver() {
      return giveUp.signal.aborted;
    },
    get fetching() {
      return fetching;
    },
    end() {
      clearTimeout(timer);
      if (fetching !== undefined) changed(undefined);
      fetching = undefined;
    },
  };
}
