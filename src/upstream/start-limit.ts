/** How long one start may take: longer while a launcher such as `npx` downloads the server; and what is said meanwhile. */
import type { ServerSpec } from '../config/config.ts';
import { seconds } from './breaker.ts';
import { FETCH_LIMIT, isFetching, launcherOf } from './launcher.ts';
import type { Transport } from './transport.ts';

export interface StartLimit {
  /** ms that the handshake may take. A launcher that has finished its download is given up earlier, by the signal. */
  readonly timeout: number;
  /** Aborted when the start has taken too long, or when it is no longer wanted. */
  readonly signal: AbortSignal;
  /** Whether it has taken too long. */
  readonly isOver: boolean;
  /** The launcher that was downloading when it was last looked at. */
  readonly fetching: string | undefined;
  /** The start is over, well or not. */
  end(): void;
}

export interface StartLimitOptions {
  spec: ServerSpec;
  transport: Pick<Transport, 'pid' | 'stderr'>;
  /** Told that a start takes a while. */
  slow: (line: string) => void;
  /** Aborted when the upstream is no longer wanted. */
  signal: AbortSignal;
  /** Told whenever a download begins or ends. */
  changed: (fetching: string | undefined) => void;
}

/** ms between two looks at a launcher. */
const LOOK = 1000;
/** ms after which a slow start is mentioned, and after the last of these once a minute. */
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
    const { pid, stderr } = transport;
    const before = fetching;
    fetching = isFetching({ launcher, pid, stderr: stderr?.() ?? [] }) ? launcher : undefined;
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
