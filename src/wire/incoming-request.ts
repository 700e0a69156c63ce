/** A request of the peer while it is processed: its abort signal and its progress notifications. */
import type { CancelListener, CancelSignal } from '../cancel-signal.ts';
import type { SlotMap } from '../slot-map.ts';
import { type Id, isId, isRecord, type Message, type Params, type RpcRequest } from './message.ts';
import type { Attribution, Incoming } from './peer.ts';

export class IncomingCall implements Incoming {
  readonly progress?: (params: Params) => void;
  readonly origin?: Id;
  readonly attribution?: Attribution;
  readonly #signal = new CallSignal();
  #done = false;

  constructor(
    request: RpcRequest,
    send: (message: Message) => void,
    { origin, attribution }: { origin: Id | undefined; attribution: Attribution | undefined },
  ) {
    if (origin !== undefined) this.origin = origin;
    if (attribution !== undefined) this.attribution = attribution;
    const token = tokenOf(request.params);
    if (token === undefined) return;
    this.progress = (params) => {
      if (this.#done) return;
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...params, progressToken: token } });
    };
  }

  get signal(): CancelSignal {
    return this.#signal;
  }

  /** Stops progress notifications; none may follow the response. */
  finish(): void {
    this.#done = true;
  }

  abort(reason: string): void {
    this.#done = true;
    this.#signal.abort(reason);
  }
}

/** Aborts the request that a cancellation names; an unknown or answered one is ignored. */
export function cancel(calls: SlotMap<IncomingCall>, params: Params): void {
  if (!isId(params.requestId)) return;
  const incoming = calls.get(params.requestId);
  if (!incoming) return;
  calls.delete(params.requestId);
  incoming.abort(typeof params.reason === 'string' ? params.reason : 'cancelled by the requester');
}

/** Every request has one and few are cancelled; a real AbortSignal with a listener took a tenth of the time of a call. */
class CallSignal implements CancelSignal {
  aborted = false;
  reason: unknown;
  /** Usually one listener; each call of a batch adds its own. */
  #listeners: readonly CancelListener[] = NO_LISTENERS;

  addEventListener(_type: 'abort', listener: CancelListener): void {
    if (this.#listeners.length === 0) this.#listeners = [listener];
    else if (!this.#listeners.includes(listener)) this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: 'abort', listener: CancelListener): void {
    const alone = this.#listeners.length === 1 && this.#listeners[0] === listener;
    this.#listeners = alone ? NO_LISTENERS : this.#listeners.filter((one) => one !== listener);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  abort(reason: string): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = NO_LISTENERS;
    for (const listener of listeners) {
      try {
        const event = new Event('abort');
        if (typeof listener === 'function') listener(event);
        else listener.handleEvent(event);
      } catch (error) {
        // A listener that throws must not keep the others from being called, and its error must not be lost.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

const NO_LISTENERS: readonly CancelListener[] = [];

function tokenOf(params: Params | undefined): Id | undefined {
  const meta = params?._meta;
  return isRecord(meta) && isId(meta.progressToken) ? meta.progressToken : undefined;
}
