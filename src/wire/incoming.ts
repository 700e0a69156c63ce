/** One request of the far side while we work on it: its abort signal, made only when asked for, and its progress. */
import { setMaxListeners } from 'node:events';
import { type Id, isId, isRecord, type Message, type Params, type RpcRequest } from './message.ts';
import type { About, Incoming } from './peer.ts';

export class IncomingCall implements Incoming {
  readonly progress?: (params: Params) => void;
  readonly origin?: Id;
  readonly about?: About;
  #controller: AbortController | undefined;
  #aborted: string | undefined;
  #done = false;

  constructor(
    request: RpcRequest,
    send: (message: Message) => void,
    { origin, about }: { origin: Id | undefined; about: About | undefined },
  ) {
    if (origin !== undefined) this.origin = origin;
    if (about !== undefined) this.about = about;
    const token = tokenOf(request.params);
    if (token === undefined) return;
    this.progress = (params) => {
      if (this.#done) return;
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...params, progressToken: token } });
    };
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      // A batch of calls may listen to it, each with its own listener.
      setMaxListeners(0, this.#controller.signal);
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** No progress after the answer. */
  finish(): void {
    this.#done = true;
  }

  abort(reason: string): void {
    this.#done = true;
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }
}

function tokenOf(params: Params | undefined): Id | undefined {
  const meta = params?._meta;
  return isRecord(meta) && isId(meta.progressToken) ? meta.progressToken : undefined;
}
