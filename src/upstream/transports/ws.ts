/** An upstream over WebSocket: one message per text frame, subprotocol `mcp`, and periodic pings. */
import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { WebSocket } from 'ws';
import { McpxError } from '../../errors.ts';
import { decode, reportInvalid } from '../../wire/framing.ts';
import { checkSize, isRequest, type Message } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { undelivered } from '../../wire/undelivered.ts';
import { isAuthStatus } from '../http/authorization.ts';
import { readText } from '../http/http-client.ts';
import { networkError, refusalError } from '../http/http-errors.ts';
import { routeTo } from '../http/proxy.ts';
import { type FloodGuard, type Pausable, watchFlood } from '../process/flood-guard.ts';
import type { Redactor } from '../secret-redactor.ts';
import { type LaunchOf, MAX_QUEUED, STOP, type Transport, type TransportOptions } from './transport.ts';

/** Milliseconds between pings; a peer that does not answer one until the next is considered lost. */
const PING = 15_000;
const MAX_ERROR_BODY = 64 * 1024;

/** The meaning of close codes: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and codes in common use. */
const CLOSE_CODES: ReadonlyMap<number, string> = new Map([
  [1000, 'closed the connection'],
  [1001, 'is going away'],
  [1002, 'says that the WebSocket protocol was broken'],
  [1003, 'does not accept this kind of data'],
  [1006, 'broke off the connection'],
  [1007, 'says that a message was no text'],
  [1008, 'refuses by its policy'],
  [1009, 'says that a message was too large'],
  [1011, 'failed'],
  [1012, 'is restarting'],
  [1013, 'asks to be tried again later'],
]);
/** Close codes that correspond to HTTP 401 and 403. */
const AUTH_CODES = [3000, 3003, 4001, 4003, 4401, 4403];

export interface WsOptions extends TransportOptions {
  /** Milliseconds between pings. */
  ping?: number;
}

export async function openWs(launch: LaunchOf<'ws'>, options: WsOptions): Promise<Transport> {
  return new WsTransport(launch, options, await options.authorization.headers());
}

class WsTransport implements Transport {
  readonly #options: WsOptions;
  readonly #redactor: Redactor;
  readonly #launch: LaunchOf<'ws'>;
  readonly #address: string;
  /** The agent for a connection through a proxy. */
  readonly #agent: { agent?: Agent };
  #socket: WebSocket;
  /** The headers of the upgrade request. */
  #credentials: OutgoingHttpHeaders;
  /** True after an upgrade was sent again with other credentials. */
  #renewed = false;
  #floodGuard: FloodGuard | undefined;
  #receiver: Receiver | undefined;
  /** Messages that were sent before the connection was open. */
  #early: string[] = [];
  #failure: Error | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #over = false;
  readonly #ended: Promise<void>;
  #resolveEnded: () => void = () => undefined;

  constructor(launch: LaunchOf<'ws'>, options: WsOptions, credentials: OutgoingHttpHeaders) {
    this.#credentials = credentials;
    this.#options = options;
    this.#redactor = options.redactor;
    this.#launch = launch;
    const url = new URL(launch.url);
    const { proxy, agent } = routeTo(url, options.name);
    this.#agent = proxy === undefined ? {} : { agent: agent() };
    const through = proxy === undefined ? '' : `" through the proxy "${proxy}`;
    this.#address = `${url.protocol}//${url.host}${url.pathname}${through}`;
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#socket = this.#connect('mcp');
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  send(message: Message): void {
    const { name, maxBytes } = this.#options;
    const socket = this.#socket;
    if (this.#over || socket.readyState > WebSocket.OPEN) {
      throw undelivered(`the connection to server "${name}" is closed`);
    }
    if (socket.bufferedAmount >= MAX_QUEUED) {
      throw new McpxError('overloaded', `server "${name}" does not read: ${socket.bufferedAmount} bytes wait already`);
    }
    const text = JSON.stringify(message);
    checkSize(text, maxBytes);
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
    else this.#early.push(text);
    if (isRequest(message)) this.#floodGuard?.asked();
  }

  async close(bounds = STOP): Promise<void> {
    this.#finish();
    // A connection that is not open yet is only cancelled.
    this.#socket.close(1000);
    const timer = setTimeout(() => this.#socket.terminate(), bounds.eof);
    await this.#ended;
    clearTimeout(timer);
  }

  #connect(...protocols: string[]): WebSocket {
    const { url } = this.#launch;
    const { maxBytes, name } = this.#options;
    try {
      const socket = new WebSocket(url, protocols, {
        ...{ headers: this.#credentials as Record<string, string>, maxPayload: maxBytes },
        ...{ perMessageDeflate: false, autoPong: false, ...this.#agent },
      });
      this.#watch(socket);
      return socket;
    } catch (error) {
      throw networkError(name, this.#address, error as Error);
    }
  }

  #watch(socket: WebSocket): void {
    socket.once('open', () => {
      for (const text of this.#early.splice(0)) socket.send(text);
      this.#beat();
    });
    const floodGuard = watchFlood(pausable(socket), NO_SILENCE);
    this.#floodGuard = floodGuard;
    socket.on('message', (data, isBinary) => {
      if (isBinary) {
        floodGuard.noise();
        return this.#receiver?.invalid('a binary frame');
      }
      for (const one of decode(String(data))) {
        if (!one.message) {
          floodGuard.noise();
          reportInvalid(this.#receiver, one.invalid, `server "${this.#options.name}"`);
          continue;
        }
        floodGuard.message(one.message);
        this.#receiver?.message(one.message);
      }
    });
    socket.on('ping', floodGuard.noise);
    answerPings(socket);
    socket.once('unexpected-response', (_request, response: IncomingMessage) => void this.#refused(response));
    socket.on('error', (error) => socket === this.#socket && this.#failed(error));
    socket.once('close', (code, reason) => {
      if (socket !== this.#socket) return;
      this.#finish(this.#failure ?? this.#closing(code, reason.toString('utf8')));
      this.#resolveEnded();
    });
  }

  #failed(error: NodeJS.ErrnoException): void {
    const { maxBytes, name } = this.#options;
    // Some servers do not support subprotocols. A requested one must be confirmed, so the retry requests none.
    if (error.message === 'Server sent no subprotocol' && !this.#over) {
      this.#socket = this.#connect();
      return;
    }
    const tooLarge = error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    this.#failure ??= tooLarge
      ? new McpxError('protocol', `server "${name}" sent a message over the limit of ${maxBytes} bytes`)
      : networkError(name, this.#address, error);
  }

  #beat(): void {
    let answered = true;
    this.#socket.on('pong', () => {
      answered = true;
    });
    this.#heartbeat = setInterval(() => {
      if (!answered) {
        this.#failure ??= new McpxError('unreachable', `server "${this.#options.name}" no longer answers pings`);
        return this.#socket.terminate();
      }
      answered = false;
      return this.#socket.ping();
    }, this.#options.ping ?? PING);
    this.#heartbeat.unref();
  }

  /** Handles an HTTP response to the upgrade request. */
  async #refused(response: IncomingMessage): Promise<void> {
    const { name, authorization } = this.#options;
    const { statusCode: status = 0, headers } = response;
    const body = await readText(response, MAX_ERROR_BODY, name).catch(() => '');
    if (isAuthStatus(status) && (await this.#renews(status, headers['www-authenticate']))) return;
    this.#failure = refusalError({
      name,
      status,
      body,
      retryAfter: headers['retry-after'],
      inSession: false,
      redactor: this.#redactor,
      authorization,
    });
    this.#socket.terminate();
  }

  /** Sends the upgrade once more if other credentials are available. */
  async #renews(status: number, challenge: string | undefined): Promise<boolean> {
    const { authorization } = this.#options;
    const again = await authorization.refused({ status, challenge, sent: this.#credentials });
    if (!again || this.#renewed || this.#over) return false;
    this.#renewed = true;
    this.#credentials = await authorization.headers();
    const refused = this.#socket;
    this.#socket = this.#connect('mcp');
    refused.terminate();
    return true;
  }

  #closing(code: number, reason: string): McpxError {
    const what = CLOSE_CODES.get(code) ?? 'closed the connection';
    const said = reason === '' ? '' : `: ${this.#redactor.text(reason)}`;
    const message = `server "${this.#options.name}" ${what} (WebSocket code ${code})${said}`;
    return new McpxError(AUTH_CODES.includes(code) ? 'auth' : 'unreachable', message);
  }

  #finish(reason?: Error): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#heartbeat);
    this.#receiver?.closed(reason);
  }
}

/** Silence is not limited, because pings detect a lost peer. */
const NO_SILENCE = { maxSilence: Number.POSITIVE_INFINITY, exceeded: () => undefined };

/** Adapts a WebSocket to the flood guard: a pause stops reading from its socket. */
function pausable(socket: WebSocket): Pausable {
  return {
    get destroyed() {
      return socket.readyState === WebSocket.CLOSED;
    },
    isPaused: () => socket.isPaused,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  } as Pausable;
}

/**
 * Sends one pong at a time, for the last ping, so that pongs do not queue for a peer that does not read.
 * https://www.rfc-editor.org/rfc/rfc6455#section-5.5.3
 */
export function answerPings(socket: Pick<WebSocket, 'on' | 'pong' | 'readyState'>): void {
  let last: Buffer | undefined;
  let writing = false;
  const answer = () => {
    writing = false;
    if (last === undefined || socket.readyState !== WebSocket.OPEN) return;
    const data = last;
    last = undefined;
    writing = true;
    socket.pong(data, true, answer);
  };
  socket.on('ping', (data) => {
    last = data;
    if (!writing) answer();
  });
}
