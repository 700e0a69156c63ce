/** Events of a running mcpx, published once to all subscribers that count, record or show them. */

import { LinkedList } from '../slot-map.ts';
import { createBatcher } from './batcher.ts';

export type CallKind = 'tool' | 'prompt' | 'resource' | 'task' | 'extension';

/**
 * How a call ended: success, an error of the tool, a failure of mcpx or the upstream, invalid arguments, no permission,
 * or a target that does not exist.
 */
export type Outcome = 'ok' | 'tool_error' | 'failed' | 'refused' | Unreached;

/** A target that the client may not use, or that does not exist. Only operators can tell one from the other. */
export type Unreached = 'denied' | 'missing';

export function isUnreached(outcome: Outcome): outcome is Unreached {
  return outcome === 'denied' || outcome === 'missing';
}

/** The profile and token that calls are made for. */
export interface Scope {
  profile: string;
  /** The token's name; undefined without a token. */
  principal?: string | undefined;
}

/** One call of a client. */
export interface Call extends Scope {
  /** The id of the call, unique within the process. */
  id: number;
  /** Start of the call, in epoch milliseconds. */
  at: number;
  kind: CallKind;
  server: string;
  /** The name of the tool or prompt on its server, the URI of the resource, or the id of the task. */
  name: string;
  /** The MCP method, such as `tools/call`. */
  method: string;
  /** The id of the HTTP request that carried the call. */
  request?: string | undefined;
}

/** A finished call. */
export interface CallRecord extends Call {
  ms: number;
  outcome: Outcome;
  /** Why the call did not succeed, as a code or a sentence without values. */
  reason?: string | undefined;
  /**
   * Set if the client may not use the target, and its server was not listed when the call began. To the client the
   * call then ends as that of something missing, with the same events and numbers.
   */
  denied?: true | undefined;
  /**
   * Arguments and result, by reference, for subscribers that are configured to keep them; never shown otherwise. Absent
   * without subscribers.
   */
  values?: { arguments?: unknown; result?: unknown } | undefined;
}

export type CallStart = Pick<Call, 'kind' | 'server' | 'name' | 'method' | 'request'> & { arguments?: unknown };
export type CallEnd = Pick<CallRecord, 'reason' | 'denied'> & { result?: unknown };

/** Reports the calls of one scope. */
export interface Calls {
  /** Reports the start of a call; the returned function must be called once, when the call ends. */
  begin(call: CallStart): (outcome: Exclude<Outcome, Unreached>, end?: CallEnd) => void;
  /**
   * Reports a call of a target that the client may not use, or that does not exist. No start event is published: a
   * client that watches its own calls must not learn which of both it is.
   */
  unreached(call: CallStart, outcome: Unreached): void;
}

export type Happening =
  | { type: 'call_began'; call: Call }
  | { type: 'call_ended'; call: CallRecord }
  | { type: 'state'; profile: string; server: string; state: string; reason?: string | undefined }
  | { type: 'lists'; profile: string; server: string; lists: string[] }
  | { type: 'reload'; ok: boolean; message: string }
  /** The configuration was changed through the API. */
  | {
      type: 'admin';
      action: string;
      target?: string | undefined;
      token?: string | undefined;
      ok: boolean;
      request: string;
    }
  | { type: 'exchange'; exchange: HttpExchange };

/** One HTTP request whose response has ended. */
export interface HttpExchange {
  request: string;
  method: string;
  /** The path without its query, which may hold secrets. */
  path: string;
  /** The route of the request, from a fixed set. */
  route: string;
  status: number;
  ms: number;
  principal?: string | undefined;
  /** Set if the response was "not found" for something that exists but is hidden from the client. */
  hidden?: true | undefined;
  /** The address of the client. */
  from: string;
  /** Bytes of the request and of the response, headers included. */
  received: number;
  sent: number;
}

type Hear = (happening: Happening) => void;

export interface Observer {
  emit(happening: Happening): void;
  /** Registers a listener that gets every event at once. Returns a function that removes it. */
  subscribe(hear: Hear): () => void;
  /**
   * Registers a counter that gets every event except call starts, in order and with a short delay; call `settle` before
   * reading its numbers.
   */
  tally(hear: Hear): void;
  /** Delivers delayed events to all counters. */
  settle(): void;
  calls(scope: Scope): Calls;
  /** Returns the calls in progress, oldest first. */
  inFlight(): Call[];
}

export function createObserver(): Observer {
  const listeners = new Set<Hear>();
  const tallies: Hear[] = [];
  const underWay = new LinkedList<Call>();
  let lastCall = 0;
  // Counting events in batches takes a fraction of the time of counting each one between two calls.
  const waiting = createBatcher<Happening>((happenings) => {
    for (const happening of happenings) for (const hear of tallies) hear(happening);
  });
  const tell = (happening: Happening) => {
    for (const hear of listeners) hear(happening);
  };
  const emit: Observer['emit'] = (happening) => {
    tell(happening);
    waiting.add(happening);
    // Events with values are not delayed, because the values may be large.
    if (listeners.size > 0) waiting.flush();
  };
  return {
    emit,
    subscribe(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
    tally: (hear) => void tallies.push(hear),
    settle: waiting.flush,
    inFlight: () => [...underWay],
    calls: ({ profile, principal }) => {
      const callOf = ({ kind, server, name, method, request }: CallStart): Call => {
        lastCall += 1;
        return { id: lastCall, at: Date.now(), profile, principal, kind, server, name, method, request };
      };
      return {
        begin(started) {
          const clock = performance.now();
          const call = callOf(started);
          const place = underWay.add(call);
          // Counters get ended calls only, so a start goes to listeners only.
          if (listeners.size > 0) tell({ type: 'call_began', call });
          return (outcome, { reason, denied, result } = {}) => {
            underWay.remove(place);
            const ms = performance.now() - clock;
            const values = listeners.size > 0 ? { arguments: started.arguments, result } : undefined;
            emit({ type: 'call_ended', call: { ...call, ms, outcome, reason, values, ...(denied && { denied }) } });
          };
        },
        unreached: (started, outcome) => emit({ type: 'call_ended', call: { ...callOf(started), ms: 0, outcome } }),
      };
    },
  };
}
