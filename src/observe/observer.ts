/** What happens in a running mcpx, told once to everybody who counts it, keeps it or shows it. */

import { InOrder } from '../in-flight.ts';
import { gather } from './gather.ts';

export type CallKind = 'tool' | 'prompt' | 'resource' | 'task' | 'extension';

/** How a call ended: the tool's own failure, ours or the upstream's, arguments that do not fit, not permitted. */
export type Outcome = 'ok' | 'tool_error' | 'failed' | 'refused' | 'denied';

/** On whose behalf calls are made. */
export interface Scope {
  profile: string;
  /** The name of the token, where there is one. */
  principal?: string | undefined;
}

/** One call of a downstream. */
export interface Call extends Scope {
  /** Unique within the process. */
  id: number;
  /** Epoch ms. */
  at: number;
  kind: CallKind;
  server: string;
  /** A tool's or prompt's own name, a resource's own URI, a task's id. */
  name: string;
  /** Of MCP, such as `tools/call`. */
  method: string;
  /** The id of the HTTP request that brought it. */
  request?: string | undefined;
}

/** A call that is over. */
export interface CallRecord extends Call {
  ms: number;
  outcome: Outcome;
  /** Why it did not succeed, as a code or a sentence without values. */
  reason?: string | undefined;
  /** What went in and out, by reference, for whoever was asked to keep it; never shown otherwise. Absent where nobody listens. */
  values?: { arguments?: unknown; result?: unknown } | undefined;
}

export type CallStart = Pick<Call, 'kind' | 'server' | 'name' | 'method' | 'request'> & { arguments?: unknown };
export type CallEnd = Pick<CallRecord, 'reason'> & { result?: unknown };

/** Where calls of one scope are told. */
export interface Calls {
  /** What it returns is called once, when the call is over. */
  begin(call: CallStart): (outcome: Exclude<Outcome, 'denied'>, end?: CallEnd) => void;
  /** A call of what the caller may not use. It never begins: whoever hears of its own calls must not learn that there is something. */
  deny(call: CallStart): void;
}

export type Happening =
  | { type: 'call_began'; call: Call }
  | { type: 'call_ended'; call: CallRecord }
  | { type: 'state'; profile: string; server: string; state: string; reason?: string | undefined }
  | { type: 'lists'; profile: string; server: string; lists: string[] }
  | { type: 'reload'; ok: boolean; message: string }
  /** Somebody changed the configuration through the API. */
  | {
      type: 'admin';
      action: string;
      target?: string | undefined;
      token?: string | undefined;
      ok: boolean;
      request: string;
    }
  | { type: 'visit'; visit: Visit };

/** One HTTP request, when its answer is over. */
export interface Visit {
  request: string;
  method: string;
  /** Without its query, which may hold anything. */
  path: string;
  /** The route it was for, of a fixed set. */
  route: string;
  status: number;
  ms: number;
  principal?: string | undefined;
  /** It was answered as if something were missing that is there. */
  hidden?: true | undefined;
  /** The address it came from. */
  from: string;
  /** Bytes, headers included. */
  received: number;
  sent: number;
}

type Hear = (happening: Happening) => void;

export interface Observer {
  emit(happening: Happening): void;
  /** Told of everything at once. Returns what ends it. */
  subscribe(hear: Hear): () => void;
  /** Told of everything that is over in its order, a moment later, for whoever only counts; `settle` comes before its numbers are read. */
  tally(hear: Hear): void;
  /** Tells those who count what they have not heard yet. */
  settle(): void;
  calls(scope: Scope): Calls;
  /** The calls under way just now, the oldest first. */
  underWay(): Call[];
}

export function createObserver(): Observer {
  const listeners = new Set<Hear>();
  const tallies: Hear[] = [];
  const underWay = new InOrder<Call>();
  let lastCall = 0;
  // Counting many in a row takes a fraction of the time that counting each between two calls would.
  const waiting = gather<Happening>((happenings) => {
    for (const happening of happenings) for (const hear of tallies) hear(happening);
  });
  const tell = (happening: Happening) => {
    for (const hear of listeners) hear(happening);
  };
  const emit: Observer['emit'] = (happening) => {
    tell(happening);
    waiting.add(happening);
    // What has values must not wait: they may be large.
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
    underWay: () => [...underWay],
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
          // Who counts calls counts those that are over.
          if (listeners.size > 0) tell({ type: 'call_began', call });
          return (outcome, { reason, result } = {}) => {
            underWay.remove(place);
            const ms = performance.now() - clock;
            const values = listeners.size > 0 ? { arguments: started.arguments, result } : undefined;
            emit({ type: 'call_ended', call: { ...call, ms, outcome, reason, values } });
          };
        },
        deny: (started) => emit({ type: 'call_ended', call: { ...callOf(started), ms: 0, outcome: 'denied' } }),
      };
    },
  };
}
