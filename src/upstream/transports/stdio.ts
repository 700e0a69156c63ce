/** An upstream over stdio. If its framing is unknown, newlines come first; after silence a second process gets Content-Length frames. */
import type { Message } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { openProcess } from '../process/process.ts';
import { watchSilence } from './framing-detection.ts';
import { type LaunchOf, STOP_FAST, type Transport, type TransportOptions } from './transport.ts';

type StdioLaunch = LaunchOf<'stdio'>;

/** Milliseconds that the second process has for its first message. */
const SECOND_WAIT = 10_000;

export function openStdio(launch: StdioLaunch, options: TransportOptions): Transport {
  if (launch.framing === 'content-length' || options.framing === 'newline') return openProcess(launch, options);
  const { framing } = options;
  return framing === undefined
    ? openEither(launch, options)
    : { ...openProcess({ ...launch, framing }, options), framing };
}

/**
 * Detects the framing with two processes: a server that expects frames reads a line as an endless header, so frames
 * have to be its first input.
 */
function openEither(launch: StdioLaunch, options: TransportOptions): Transport {
  const first = openProcess(launch, options);
  const open = new Set([first]);
  const closing: Promise<void>[] = [];
  /** The process that sent the first message; undefined until then. */
  let chosen: Transport | undefined;
  let second: Transport | undefined;
  let sent: Message[] = [];
  let receiver: Receiver | undefined;
  let failure: Error | undefined;
  let timer: NodeJS.Timeout | undefined;

  const drop = (one: Transport | undefined) => {
    if (one !== undefined && open.delete(one)) closing.push(one.close(STOP_FAST));
  };
  const decide = (one: Transport) => {
    if (chosen !== undefined) return;
    chosen = one;
    sent = [];
    unwatch();
    clearTimeout(timer);
    drop(one === first ? second : first);
  };
  const ended = (one: Transport, error: Error | undefined) => {
    if (!open.delete(one)) return;
    if (one === first) {
      unwatch();
      failure = error;
    }
    if (open.size === 0) receiver?.closed(one === chosen ? error : (failure ?? error));
  };
  const from = (one: Transport): Receiver => ({
    message(message) {
      decide(one);
      if (chosen === one) receiver?.message(message);
    },
    large(pieces) {
      decide(one);
      return chosen === one && (receiver?.large?.(pieces) ?? false);
    },
    invalid(reason) {
      if (one === first) unwatch();
      if (one === (chosen ?? first)) receiver?.invalid(reason);
    },
    failed: (id, error) => one === (chosen ?? first) && receiver?.failed?.(id, error),
    closed: (error) => ended(one, error),
  });

  const tryFrames = () => {
    options.log.debug('the process does not answer: a second process gets Content-Length frames', {
      server: options.name,
    });
    try {
      second = openProcess({ ...launch, framing: 'content-length' }, options);
    } catch {
      // The first process may still answer.
      return;
    }
    open.add(second);
    second.start(from(second));
    for (const message of sent) second.send(message);
    timer = setTimeout(() => drop(second), SECOND_WAIT);
    timer.unref();
  };
  const unwatch = watchSilence({ launch, transport: first, silent: tryFrames });

  return {
    get pid() {
      return (chosen ?? first).pid;
    },
    get framing() {
      return chosen !== undefined && chosen === second ? 'content-length' : undefined;
    },
    stderr: () => (chosen ?? first).stderr?.() ?? [],
    start(to) {
      receiver = to;
      first.start(from(first));
    },
    send(message) {
      if (chosen !== undefined) return chosen.send(message);
      sent.push(message);
      for (const one of open) one.send(message);
    },
    async close(bounds) {
      unwatch();
      clearTimeout(timer);
      await Promise.all([...closing, ...[first, second].map((one) => one?.close(bounds))]);
    },
    killNow() {
      for (const one of [first, second]) one?.killNow?.();
    },
  };
}
