/** An upstream over stdio. If its framing is unknown, newlines come first; after silence a second process gets Content-Length frames. */
import type { Message } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { withOwnNode } from '../process/own-node.ts';
import { openProcess } from '../process/process.ts';
import { watchSilence } from './framing-detection.ts';
import { type LaunchOf, STOP_FAST, type StopBounds, type Transport, type TransportOptions } from './transport.ts';

type StdioLaunch = LaunchOf<'stdio'>;

/** Milliseconds that the second process has for its first message. */
const SECOND_WAIT = 10_000;

export function openStdio(written: StdioLaunch, options: TransportOptions): Transport {
  const launch = withNode(written, options);
  if (launch.framing === 'content-length' || options.framing === 'newline') return openProcess(launch, options);
  const { framing } = options;
  return framing === undefined
    ? openEither(launch, options)
    : { ...openProcess({ ...launch, framing }, options), framing };
}

function withNode(written: StdioLaunch, { name, log }: TransportOptions): StdioLaunch {
  const launch = withOwnNode(written);
  if (launch !== undefined) {
    const node = `Node ${process.versions.node} of mcpx`;
    log.debug(`no Node on PATH: ${node} runs the script`, { server: name });
  }
  return launch ?? written;
}

function openEither(launch: StdioLaunch, options: TransportOptions): Transport {
  return new EitherFraming(launch, options);
}

/**
 * Detects the framing with two processes: a server that expects frames reads a line as an endless header, so frames
 * have to be its first input.
 */
class EitherFraming implements Transport {
  readonly #launch: StdioLaunch;
  readonly #options: TransportOptions;
  readonly #first: Transport;
  #second: Transport | undefined;
  /** The process that sent the first message; undefined until then. */
  #chosen: Transport | undefined;
  readonly #open: Set<Transport>;
  readonly #closing: Promise<void>[] = [];
  #sent: Message[] = [];
  #receiver: Receiver | undefined;
  #failure: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #unwatch: () => void;

  constructor(launch: StdioLaunch, options: TransportOptions) {
    this.#launch = launch;
    this.#options = options;
    this.#first = openProcess(launch, options);
    this.#open = new Set([this.#first]);
    this.#unwatch = watchSilence({ launch, transport: this.#first, silent: () => this.#tryFrames() });
  }

  get pid(): number | undefined {
    return this.#current.pid;
  }

  get framing(): Transport['framing'] {
    return this.#chosen !== undefined && this.#chosen === this.#second ? 'content-length' : undefined;
  }

  stderr(): string[] {
    return this.#current.stderr?.() ?? [];
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#first.start(this.#receiverOf(this.#first));
  }

  send(message: Message): void {
    if (this.#chosen !== undefined) {
      this.#chosen.send(message);
      return;
    }
    this.#sent.push(message);
    for (const one of this.#open) one.send(message);
  }

  async close(bounds?: StopBounds): Promise<void> {
    this.#unwatch();
    clearTimeout(this.#timer);
    await Promise.all([...this.#closing, ...[this.#first, this.#second].map((one) => one?.close(bounds))]);
  }

  killNow(): void {
    for (const one of [this.#first, this.#second]) one?.killNow?.();
  }

  get #current(): Transport {
    return this.#chosen ?? this.#first;
  }

  #receiverOf(one: Transport): Receiver {
    return {
      message: (message) => {
        this.#decide(one);
        if (this.#chosen === one) this.#receiver?.message(message);
      },
      large: (pieces) => {
        this.#decide(one);
        return this.#chosen === one && (this.#receiver?.large?.(pieces) ?? false);
      },
      invalid: (reason) => {
        if (one === this.#first) this.#unwatch();
        if (one === this.#current) this.#receiver?.invalid(reason);
      },
      failed: (id, error) => one === this.#current && this.#receiver?.failed?.(id, error),
      closed: (error) => this.#ended(one, error),
    };
  }

  #decide(one: Transport): void {
    if (this.#chosen !== undefined) return;
    this.#chosen = one;
    this.#sent = [];
    this.#unwatch();
    clearTimeout(this.#timer);
    this.#drop(one === this.#first ? this.#second : this.#first);
  }

  #drop(one: Transport | undefined): void {
    if (one !== undefined && this.#open.delete(one)) this.#closing.push(one.close(STOP_FAST));
  }

  #ended(one: Transport, error: Error | undefined): void {
    if (!this.#open.delete(one)) return;
    if (one === this.#first) {
      this.#unwatch();
      this.#failure = error;
    }
    if (this.#open.size === 0) this.#receiver?.closed(one === this.#chosen ? error : (this.#failure ?? error));
  }

  #tryFrames(): void {
    this.#options.log.debug('the process does not answer: a second process gets Content-Length frames', {
      server: this.#options.name,
    });
    let second: Transport;
    try {
      second = openProcess({ ...this.#launch, framing: 'content-length' }, this.#options);
    } catch {
      // The first process may still answer.
      return;
    }
    this.#second = second;
    this.#open.add(second);
    second.start(this.#receiverOf(second));
    for (const message of this.#sent) second.send(message);
    this.#timer = setTimeout(() => this.#drop(second), SECOND_WAIT);
    this.#timer.unref();
  }
}
