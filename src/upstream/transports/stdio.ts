/** An upstream over stdio. If its framing is unknown, newlines come first; after silence another process gets Content-Length frames. */
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
  #first: Transport;
  #second: Transport | undefined;
  /** The process that sent the first message; undefined until then. */
  #chosen: Transport | undefined;
  readonly #open: Set<Transport>;
  readonly #closing: Promise<void>[] = [];
  #sent: Message[] = [];
  #receiver: Receiver | undefined;
  #failure: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Releases the reservation of the second process. */
  #release: () => void = () => undefined;
  /** True while the second process runs in the place of the first one. */
  #isAlone = false;
  #isClosed = false;
  readonly #unwatch: () => void;

  constructor(launch: StdioLaunch, options: TransportOptions) {
    this.#launch = launch;
    this.#options = options;
    this.#first = openProcess(launch, options);
    this.#open = new Set([this.#first]);
    this.#unwatch = watchSilence({ launch, transport: this.#first, silent: () => void this.#tryFrames() });
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
    this.#isClosed = true;
    await Promise.all([...this.#closing, ...[this.#first, this.#second].map((one) => one?.close(bounds))]);
    this.#release();
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
    // An answer of a process that is being stopped decides nothing.
    if (this.#chosen !== undefined || !this.#open.has(one)) return;
    this.#chosen = one;
    this.#sent = [];
    this.#unwatch();
    clearTimeout(this.#timer);
    void this.#drop(one === this.#first ? this.#second : this.#first);
  }

  async #drop(one: Transport | undefined): Promise<void> {
    if (one === undefined || !this.#open.delete(one)) return;
    const closed = one.close(STOP_FAST);
    this.#closing.push(closed);
    await closed;
    if (one === this.#second) this.#release();
  }

  #ended(one: Transport, error: Error | undefined): void {
    if (!this.#open.delete(one)) return;
    if (one === this.#second) this.#release();
    if (one === this.#first) {
      this.#unwatch();
      this.#failure = error;
    }
    if (this.#isAlone && this.#chosen === undefined && one === this.#second) this.#restartFirst();
    else if (this.#open.size === 0) this.#receiver?.closed(one === this.#chosen ? error : (this.#failure ?? error));
  }

  /** Starts a process with frames: beside the first one, or in its place if only one may run. */
  async #tryFrames(): Promise<void> {
    const { name, log, reserveSecond } = this.#options;
    const release = reserveSecond === undefined ? () => undefined : reserveSecond();
    this.#isAlone = release === undefined;
    this.#release = release ?? this.#release;
    log.debug('the process does not answer: a second process gets Content-Length frames', { server: name });
    if (this.#isAlone) await this.#drop(this.#first);
    if (!this.#isClosed) this.#startSecond();
  }

  #startSecond(): void {
    try {
      this.#second = openProcess({ ...this.#launch, framing: 'content-length' }, this.#options);
    } catch {
      // The first process may still answer.
      this.#release();
      if (this.#isAlone) this.#restartFirst();
      return;
    }
    this.#begin(this.#second);
    this.#timer = setTimeout(() => void this.#giveUpFrames(), SECOND_WAIT);
    this.#timer.unref();
  }

  async #giveUpFrames(): Promise<void> {
    await this.#drop(this.#second);
    if (this.#isAlone && !this.#isClosed) this.#restartFirst();
  }

  #restartFirst(): void {
    clearTimeout(this.#timer);
    this.#isAlone = false;
    try {
      this.#first = openProcess(this.#launch, this.#options);
      this.#begin(this.#first);
    } catch (error) {
      this.#receiver?.closed(error as Error);
    }
  }

  #begin(one: Transport): void {
    this.#open.add(one);
    one.start(this.#receiverOf(one));
    for (const message of this.#sent) one.send(message);
  }
}
