/** The stdio listener: serves one client on stdin and stdout until the input ends or mcpx is stopped. */
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { FrontKind } from '../config/config.ts';
import { RPC_CODES } from '../errors.ts';
import type { Downstream } from '../front/front-interface.ts';
import { isModern } from '../mcp/envelope.ts';
import type { Log } from '../observe/log.ts';
import type { RpcRequest } from '../wire/message.ts';
import { createPeer, type Incoming } from '../wire/peer.ts';
import { createStreamChannel } from '../wire/stream.ts';
import type { Gateway } from './app-api.ts';
import type { ModernStdio } from './mcp/modern-stdio.ts';

export interface StdioOptions {
  gateway: Pick<Gateway, 'open'>;
  profile: string;
  front?: FrontKind;
  /** Ends the session in the same way as the end of the input. */
  stop: AbortSignal;
  /** Maximum size of one message in bytes. */
  maxBytes: number;
  log: Log;
  input?: Readable;
  output?: Writable;
}

/**
 * Milliseconds that calls in progress may take after the end of the input, including the time to write their responses.
 */
const DRAIN = 3000;

/** Resolves when the session has ended and all output is written. */
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
    // A modern client receives notifications by subscription only. A legacy client may send one modern request to
    // detect the era.
    if (modern === undefined || greeted) notify(method, params);
  };
  const session = open({ notify: heard, ask });
  const openAlone = (notify: Downstream['notify']) => open({ notify, stateless: true });
  let modern: Promise<ModernStdio> | undefined;
  /** True once the client has begun a legacy session. */
  let greeted = false;
  const serveModern = async (request: RpcRequest, incoming: Incoming) => {
    modern ??= import('./mcp/modern-stdio.ts').then((era) =>
      era.createModernStdio({ profile, open: openAlone, notify }),
    );
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
    invalid: (reason) => log.debug(`the client sent an invalid message: ${reason}`),
    closed: () => over(),
  });
  stop.addEventListener('abort', () => over(), { once: true });
  if (!stop.aborted) await ended;
  (await modern)?.release();
  // A client that closes the input and then sends a signal is about to kill this process, so the wait ends.
  const hurried = stop.aborted ? () => false : () => stop.aborted;
  await drained(() => (peer.pending.theirs === 0 && channel.queued === 0) || hurried());
  session.close();
  (await modern)?.close();
  await peer.close({ code: RPC_CODES.overloaded, message: 'mcpx is stopping' });
}

/**
 * Waits until `over` returns true, at most `DRAIN` ms. It polls every 5 ms because no event marks the end of the last
 * call.
 */
async function drained(over: () => boolean): Promise<void> {
  const end = Date.now() + DRAIN;
  while (!over() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
}
