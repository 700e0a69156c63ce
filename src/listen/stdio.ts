/** The stdio listener: one downstream on our own stdin and stdout, until its input ends or we are told to stop. */
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { FrontKind } from '../config/config.ts';
import { RPC_CODES } from '../errors.ts';
import type { Downstream } from '../front/front.ts';
import type { Log } from '../observe/log.ts';
import type { RpcRequest } from '../wire/message.ts';
import { createPeer, type Incoming } from '../wire/peer.ts';
import { createStreamChannel } from '../wire/stream.ts';
import { isModern } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import type { ModernStdio } from './modern-stdio.ts';

export interface StdioOptions {
  gateway: Pick<Gateway, 'open'>;
  profile: string;
  front?: FrontKind;
  /** Ends the session as the end of input does. */
  stop: AbortSignal;
  /** Bytes of one message. */
  maxBytes: number;
  log: Log;
  input?: Readable;
  output?: Writable;
}

/** ms that calls under way may take after the input has ended, and the client to read their answers. */
const DRAIN = 3000;

/** Resolves when the session is over and everything is written. */
export async function listenStdio(options: StdioOptions): Promise<void> {
  const { gateway, profile, stop, maxBytes, log, input = process.stdin, output = process.stdout } = options;
  let over: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const channel = createStreamChannel({
    input,
    output,
    maxBytes,
    overflow: 'keep-answers',
    answerInvalid: true,
    inputEnded: () => over(),
  });
  const open = (downstream: Omit<Downstream, 'key'>) =>
    gateway.open({
      profile,
      ...(options.front && { front: options.front }),
      downstream: { key: randomUUID(), ...downstream },
    });
  const notify: Downstream['notify'] = (method, params) => peer.notify(method, params);
  const ask: NonNullable<Downstream['ask']> = (method, params, asked) => peer.request(method, params, asked);
  const heard: Downstream['notify'] = (method, params) => {
    // A client of the modern era hears what it listens to; one that only asked which eras we know is none.
    if (modern === undefined || greeted) notify(method, params);
  };
  const session = open({ notify: heard, ask });
  const openAlone = (notify: Downstream['notify']) => open({ notify, lasts: 'request' });
  let modern: Promise<ModernStdio> | undefined;
  /** It has begun a session of the earlier era. */
  let greeted = false;
  const serveModern = async (request: RpcRequest, incoming: Incoming) => {
    modern ??= import('./modern-stdio.ts').then((era) => era.createModernStdio({ profile, open: openAlone, notify }));
    return (await modern).serve(request, incoming);
  };
  const serve = (request: RpcRequest, { signal, progress }: Incoming) => {
    if (request.method === 'initialize') greeted = true;
    return session.front.request(request, { signal, progress, notify, ask, verbatim: true });
  };
  const peer = createPeer(channel, {
    subject: 'the client',
    request: (request, incoming) => (isModern(request) ? serveModern(request, incoming) : serve(request, incoming)),
    notification: (notification) => session.front.notification(notification),
    invalid: (reason) => log.debug(`the client sent something that is no JSON-RPC: ${reason}`),
    closed: () => over(),
  });
  stop.addEventListener('abort', () => over(), { once: true });
  if (!stop.aborted) await ended;
  (await modern)?.release();
  // A client that closes our input and then says stop is about to kill us: nothing is waited for any more.
  const hurried = stop.aborted ? () => false : () => stop.aborted;
  await drained(() => (peer.pending.theirs === 0 && channel.queued === 0) || hurried());
  session.close();
  (await modern)?.close();
  await peer.close({ code: RPC_CODES.overloaded, message: 'mcpx is stopping' });
}

/** Waits until `over` holds, at most for the drain. Calls end at arbitrary times and nothing announces the last one, hence the look every 5 ms. */
async function drained(over: () => boolean): Promise<void> {
  const end = Date.now() + DRAIN;
  while (!over() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
}
